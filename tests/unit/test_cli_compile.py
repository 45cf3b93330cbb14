"""``toolroute compile``: the report a user reads, and what is wrong with one reply."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from toolroute.cli import compile as compiling
from toolroute.cli.check import Refusal, characters, check, describe
from toolroute.cli.main import app
from toolroute.errors import CapTooSmall
from toolroute.grammar.automaton import advance
from toolroute.mask import Matcher
from toolroute.schema import Route, compile_route, compile_schema
from toolroute.vocab import Vocabulary

NOT_ACCEPTED = 5
WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "title": "Weather",
        "properties": {
            "city": {"type": "string", "uniqueItems": True, "maxlength": 3, "description": "Where"},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
        },
        "required": ["city"],
    },
}
TIME = {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"]}}
NOT_EXACT = {"type": "array", "items": {"type": "integer"}, "contains": {"type": "integer", "multipleOf": 7}, "minContains": 2}
"""Whatever the mask learns to do, an exact count of multiples in an open array is left for after as long as ``exact`` says so."""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([WEATHER, TIME]))
    return path


@pytest.fixture
def route() -> Route:
    return compile_route([WEATHER, TIME])


def invoke(*arguments: str, text: str = "", code: int = 0) -> str:
    done = CliRunner().invoke(app, ["compile", *arguments], input=text, env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == code, done.output
    return done.output


def pieces(*words: bytes) -> Vocabulary:
    return Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), *words, b"<end>"], eog=[256 + len(words)])


# -- the report ----------------------------------------------------------------------------------------------------------------------


def test_the_report_names_every_keyword_once_with_where_it_is_enforced(tools: Path) -> None:
    report = json.loads(invoke("--tools", str(tools), "--json"))
    found = {(entry["tool"], entry["pointer"]): entry["status"] for entry in report["assertions"] + report["annotations"]}
    assert len(found) == len(report["assertions"]) + len(report["annotations"])
    assert found["get_weather", "/properties/days/maximum"] == "mask"
    assert found["get_weather", "/properties/city/maxlength"] == "annotation"
    assert found["get_weather", "/title"] == "annotation"
    assert found["get_time", "/properties/zone/enum"] == "mask"


def test_a_misspelt_keyword_is_said_to_assert_nothing(tools: Path) -> None:
    report = json.loads(invoke("--tools", str(tools), "--json"))
    (why,) = [entry["why"] for entry in report["annotations"] if entry["keyword"] == "maxlength"]
    assert why == "not a keyword of JSON Schema (maxLength is)"


def test_the_table_leaves_out_what_only_describes(tools: Path) -> None:
    text = invoke("--tools", str(tools))
    assert re.search(r"get_weather\W+/type\W+type\W+mask", text)
    assert re.search(r"/properties/city/maxlength\W+maxlength\W+annotation", text)
    assert "/title" not in text
    assert "2 keywords only describe" in text


def test_shortest_replies_are_accepted_and_counted_in_each_vocabulary(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"bytes": pieces(), "words": pieces(b'{"tool": "', b"none", b'", "arguments": ')}
    monkeypatch.setattr(compiling, "load_vocabulary", known.__getitem__)
    report = json.loads(invoke("--tools", str(tools), "--json", "--model", "bytes", "--model", "words"))
    route = compile_route([WEATHER, TIME])
    assert [one["choice"] for one in report["shortest"]] == ["get_weather", "get_time", "none"]
    for one in report["shortest"]:
        assert route.accepts(one["text"])
        assert one["tokens"]["bytes"] == len(one["text"])
        assert one["tokens"]["words"] == len(known["words"].spell(one["text"].encode()))
        assert 1 < one["states"] <= len(one["text"]) + 1
    assert report["caps"]["bytes"] == {"any": len('{"tool": "none"}'), "every": max(len(one["text"]) for one in report["shortest"])}
    text = invoke("--tools", str(tools), "--model", "words")
    assert f"words: the smallest workable cap is {report['caps']['words']['any']}; every choice fits from" in text


def test_the_smallest_workable_cap_is_the_one_that_a_matcher_takes(route: Route) -> None:
    # The reply with the fewest bytes is not the one with the fewest tokens here.
    vocabulary = pieces(b'{"tool": "get_time", "arguments": {"zone": "CET"}}')
    shortest = list(compiling.shortest_replies(route, {"v": vocabulary}))
    cap = compiling.caps(route, shortest, {"v": vocabulary})["v"]["any"]
    assert cap is not None
    Matcher(route, vocabulary, cap)
    with pytest.raises(CapTooSmall):
        Matcher(route, vocabulary, cap - 1)


def test_a_reply_that_a_vocabulary_cannot_spell_is_said_so(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = Vocabulary.from_tokens([bytes([byte]) for byte in range(256) if byte != ord("w")] + [b"<end>"], eog=[255])
    monkeypatch.setattr(compiling, "load_vocabulary", {"v": letters}.__getitem__)
    report = json.loads(invoke("--tools", str(tools), "--json", "--model", "v"))
    assert [one["tokens"]["v"] is None for one in report["shortest"]] == [True, False, False]
    assert report["caps"]["v"]["every"] is None
    assert "some choice cannot be spelled" in invoke("--tools", str(tools), "--model", "v")


def test_a_schema_has_one_shortest_text_and_no_tools(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "integer", "minimum": 3}')
    report = json.loads(invoke("--schema", str(path), "--json"))
    assert [(one["choice"], one["text"]) for one in report["shortest"]] == [(None, "3")]
    text = invoke("--schema", str(path))
    assert "tool" not in text
    assert "exact: the mask enforces all of it" in text


# -- one reply -----------------------------------------------------------------------------------------------------------------------


def test_an_accepted_reply_is_exit_code_0(tools: Path) -> None:
    reply = '{"tool": "get_time", "arguments": {"zone": "UTC"}}'
    assert invoke("--tools", str(tools), "--check", reply) == "accepted\n"
    assert invoke("--tools", str(tools), "--check", "-", text=f" {reply}\r\n") == "accepted\n"
    assert json.loads(invoke("--tools", str(tools), "--check", reply, "--json")) == {"accepted": True}


def test_a_refused_reply_is_exit_code_5_with_byte_and_what_was_allowed(tools: Path) -> None:
    reply = '{"tool": "get_time", "arguments": {"zone": "UTX"}}'
    found = json.loads(invoke("--tools", str(tools), "--check", reply, "--json", code=NOT_ACCEPTED))
    assert (found["accepted"], found["byte"], found["found"]) == (False, reply.index("X"), "X")
    assert found["before"] == reply[: reply.index("X")]
    assert found["allowed"] == ['the text `C"}}`']
    text = invoke("--tools", str(tools), "--check", reply, code=NOT_ACCEPTED)
    assert f"at byte:  {reply.index('X')}\n" in text
    assert 'allowed:  the text `C"}}`\n' in text


def refused(route: Route, reply: str) -> Refusal:
    refusal = check(route, reply)
    assert refusal is not None
    return refusal


@pytest.mark.parametrize(
    ("reply", "byte", "allowed"),
    [
        ('{"tool": "get_wether"}', 16, ('the text `ather", "arguments": {"city": "`',)),
        ('{"tool": "nine"}', 11, ('the text `one"}`',)),
        ('{"tool": "get_weather", "arguments": {"city": "Oslo", "days": 9}}', 62, ("one of 1 to 7, then `}}`",)),
        ('{"tool": "x"}', 10, ("the text `get_`", 'the text `none"}`')),
        ("no", 0, ('the text `{"tool": "`',)),
    ],
)
def test_the_byte_is_the_first_that_no_accepted_reply_has_there(route: Route, reply: str, byte: int, allowed: tuple[str, ...]) -> None:
    refusal = refused(route, reply)
    assert (refusal.byte, refusal.found, refusal.allowed) == (byte, reply[byte], allowed)
    assert advance(route.start, reply[:byte].encode()) is not None
    assert advance(route.start, reply[: byte + 1].encode()) is None


def test_a_reply_that_ends_too_early_is_told_how_to_end(route: Route) -> None:
    reply = '{"tool": "get_time", "arguments": {"zone": "UT'
    refusal = refused(route, reply)
    assert (refusal.reason, refusal.byte, refusal.found) == ("it ends too early", len(reply), "")
    assert refusal.hint == 'shortest way to end it: `C"}}`'


def test_text_after_a_complete_reply(route: Route) -> None:
    refusal = refused(route, '{"tool": "none"} and more')
    assert (refusal.reason, refusal.byte) == ("the reply was complete before it", 16)
    assert refusal.allowed == ("the end of the reply",)


def test_a_reply_in_another_text_form_gets_the_accepted_one_as_a_hint(route: Route) -> None:
    assert refused(route, '{"tool":"none"}').hint == 'the same value is accepted as `{"tool": "none"}`'
    compact = compile_route([TIME], style="compact")
    assert refused(compact, '{"tool": "none"}').hint == 'the same value is accepted as `{"tool":"none"}`'
    assert "not JSON" in refused(route, "{'tool': 'none'}").hint


def test_offsets_are_bytes_and_characters_stay_whole() -> None:
    route = compile_schema({"enum": ["é1", "è2"]})
    refusal = refused(route, '"ê1"')
    assert (refusal.byte, refusal.before, refusal.found) == (2, '"', "ê")
    assert refused(route, '"é2"').byte == len('"é'.encode())
    assert refused(route, '"\ud800"').byte == 1


def test_what_is_left_for_after_is_checked_too() -> None:
    route = compile_schema(NOT_EXACT)
    assert check(route, "[7, 14]") is None
    assert check(route, "[7, 1]") is not None
    many: dict[str, Any] = {"name": "put", "parameters": {"type": "object", "properties": {"list": NOT_EXACT}, "required": ["list"]}}
    tools = compile_route([many])
    assert check(tools, '{"tool": "put", "arguments": {"list": [7, 14]}}') is None
    refusal = refused(tools, '{"tool": "put", "arguments": {"list": [7, 1]}}')
    if refusal.byte is None:
        assert "the check on the finished reply does not" in refusal.reason
        assert "put" in refusal.reason


def test_bytes_are_told_as_characters_and_ranges() -> None:
    assert characters(list(b"0123456789")) == "one of 0 to 9"
    assert characters([0x20]) == "blank"
    assert characters(list(b'",]')) == 'one of ", comma, ]'
    assert characters([9, *range(0xC2, 0xF5)]) == "one of byte 09, characters outside ASCII"
    assert characters([0x80, 0x81]) == "a further byte of this character, 80 to 81"


def test_the_end_is_among_what_is_allowed_where_the_text_may_end() -> None:
    state = advance(compile_schema({"type": "integer", "minimum": 0, "maximum": 19}).start, b"1")
    assert state is not None
    assert describe(state) == ("one of 0 to 9", "the end of the reply")
