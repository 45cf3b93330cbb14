"""The cases of ``cases.jsonl``: faults seen in public tool-calling and constrained-decoding systems, each as a small input.

Tested here are the kinds that concern catalogues, schemas, replies, tokenizers and decoding.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_cases import STYLES

from toolroute.catalogue import Catalogue
from toolroute.engine import ScriptedEngine
from toolroute.engine.decode import Decoder
from toolroute.engine.sampler import Sampler
from toolroute.errors import CapTooSmall, CatalogueError, ContextOverflow, DeadEnd, EngineError, RouteError, SchemaError, UnsatisfiableRoute
from toolroute.mask import Matcher
from toolroute.route import parse_route, validate_arguments
from toolroute.route.jsontext import load
from toolroute.router import Router
from toolroute.schema import Route, compile_route
from toolroute.vocab import Vocabulary

LINES = (Path(__file__).parent / "cases.jsonl").read_text("utf-8").rstrip("\n").split("\n")
CASES: dict[str, Any] = {case["id"]: case for case in map(json.loads, LINES)}
CONTRACT = ("catalogue", "schema", "reply", "tokenizer", "decode")


def of_kind(*kinds: str) -> list[Any]:
    return [pytest.param(case, id=f"{case['id']} {case['title'][:50]}") for case in CASES.values() if case["kind"] in kinds]


def compiled(case: dict[str, Any], style: str = "spaced") -> Route | None:
    """The route of a case; None where refusing it is right, with an error that names tool, place and keyword."""
    try:
        return compile_route(case["tools"], style=style)  # type: ignore[arg-type]
    except (CatalogueError, SchemaError, UnsatisfiableRoute) as error:
        assert case["compile_refusal_ok"], error
        assert error.tool is not None and error.tool in str(error)
        if isinstance(error, SchemaError | UnsatisfiableRoute):
            assert getattr(error, "keyword", None) or isinstance(error, UnsatisfiableRoute)
            assert f"at {error.pointer or '/'}" in str(error)
        return None


def fault(route: Route, reply: str) -> str | None:
    """Why the strict reader and the validator together refuse ``reply``; None where they accept it."""
    parsed = parse_route(reply, route.names, route.terminals)
    if not parsed.ok:
        return parsed.error
    tool = next((tool for tool in route.tools if tool.name == parsed.tool), None)
    return None if tool is None else validate_arguments(tool, parsed.arguments)


def canonical(reply: str, style: str) -> str | None:
    """``reply`` in the text form of a style; None where it is no JSON."""
    try:
        return json.dumps(load(reply.strip()), ensure_ascii=False, separators=STYLES[style], allow_nan=False)
    except (ValueError, TypeError):
        return None


def ordered(value: Any, schema: Any) -> Any:
    """``value`` with its members in the order in which the schema declares them."""
    if isinstance(value, list):
        items = schema.get("items", {}) if isinstance(schema, dict) else {}
        return [ordered(item, items) for item in value]
    if not isinstance(value, dict) or not isinstance(schema, dict):
        return value
    declared = schema.get("properties", {})
    names = [*(n for n in declared if n in value), *(n for n in schema.get("required", ()) if n in value and n not in declared)]
    names += [name for name in value if name not in names]
    return {name: ordered(value[name], declared.get(name, {})) for name in names}


def reachable(case: dict[str, Any], reply: str) -> bool:
    """Whether the value of ``reply`` can be written in at least one spelling."""
    for style in STYLES:
        route = compiled(case, style)
        assert route is not None
        value = load(reply.strip())
        tool = next((tool for tool in route.tools if tool.name == value["tool"]), None)
        if tool is not None:
            value = {"tool": value["tool"], "arguments": ordered(value["arguments"], tool.parameters)}
        text = json.dumps(value, ensure_ascii=False, separators=STYLES[style])
        if not route.accepts(text):
            return False
    return True


@pytest.mark.parametrize("case", of_kind(*CONTRACT))
def test_replies(case: dict[str, Any]) -> None:
    route = compiled(case)
    if route is None:
        return
    for reply in case["valid"]:
        assert fault(route, reply) is None, reply
        if case["valid_mask"] == "must":
            assert reachable(case, reply), reply
    after = {entry.tool for entry in route.report.after}
    for reply in case["invalid"]:
        assert fault(route, reply) is not None, reply
        try:
            named = load(reply.strip())["tool"]
        except (ValueError, TypeError, KeyError):
            named = None
        for style in STYLES:
            made = compiled(case, style)
            assert made is not None
            assert not made.accepts(reply) or named in after, reply
            text = canonical(reply, style)
            # A value that the reader refuses for its spelling alone may well have another, good one.
            if text is not None and fault(route, text) is not None:
                assert not made.accepts(text) or named in after, text


@pytest.mark.parametrize("case", of_kind("schema"))
def test_no_assertion_is_dropped(case: dict[str, Any]) -> None:
    """Each keyword of each schema is in the report, or the tool is refused (see ``test_replies``)."""
    route = compiled(case)
    if route is None:
        return
    assert {entry.status for entry in route.report.assertions} <= {"mask", "after"}
    for entry in route.report.after:
        assert entry.tool in route.names and entry.pointer.startswith("/") and entry.keyword in entry.pointer and entry.why


def test_a_duplicate_name_is_named() -> None:
    with pytest.raises(CatalogueError, match="execute_sql") as caught:
        compile_route(CASES["c093"]["tools"])
    assert caught.value.index == 1


def test_one_bad_tool_does_not_take_the_others_down() -> None:
    tools = CASES["c102"]["tools"]
    with pytest.raises(SchemaError) as caught:
        compile_route(tools)
    assert caught.value.tool == "bad_one" and caught.value.pointer == "/properties/x/$ref" and caught.value.keyword == "$ref"
    for route in (compile_route(tools, on_error="drop"), compile_route(Catalogue.from_tools(tools, on_error="drop"))):
        assert route.names == ("good_one", "good_two") and route.accepts('{"tool": "good_two", "arguments": {}}')
        assert ["bad_one" in str(error) for error in route.report.dropped] == [True]


def test_a_hundred_tools_compile_within_budget() -> None:
    began = time.process_time()
    route = compile_route(CASES["c103"]["tools"])
    assert len(route.names) == 100 and time.process_time() - began < 2


# -- tokenizers ----------------------------------------------------------------------------------------------------------------


def vocabulary(case: dict[str, Any], extra: Sequence[bytes] = ()) -> tuple[Vocabulary, int]:
    """The vocabulary of a case, with single bytes and ``extra`` at its end; and the id of the first token that was added."""
    tokens = case["setup"]["vocab"]
    assert [token["id"] for token in tokens] == list(range(len(tokens)))
    pieces: list[bytes | None] = [bytes.fromhex(token["hex"]) if "hex" in token else token["text"].encode() for token in tokens]
    hidden = [token["id"] for token in tokens if token["type"] in ("control", "unused", "unknown")]
    eog = [token["id"] for token in tokens if token["type"] == "eog"]
    return Vocabulary.from_tokens([*pieces, *extra], eog=eog, control=hidden), len(tokens)


def check(matcher: Matcher, step: dict[str, Any], own: int) -> None:
    ids = set(matcher.mask().ids().tolist())
    for token in step.get("allow", ()):
        assert token in ids and matcher.allows(token), token
    for token in step.get("forbid", ()):
        assert token not in ids and not matcher.allows(token), token
    for token in range(own):
        assert matcher.allows(token) is (token in ids)


WITH_VOCABULARY = [case for case in of_kind("tokenizer", "decode") if "vocab" in case.values[0].get("setup", {})]


@pytest.mark.parametrize("case", WITH_VOCABULARY)
@pytest.mark.parametrize("cap", [None, 200])
def test_tokens_by_hand(case: dict[str, Any], cap: int | None) -> None:
    setup = case["setup"]
    spaced = [setup["after"].encode()]
    rest = [bytes((byte,)) for byte in range(256)]
    if case["id"] == "c141":
        return  # its vocabulary must stay as it is: see test_dead_end
    made, own = vocabulary(case, [*([text] if (text := spaced[0]) else []), *rest])
    matcher = Matcher(compile_route(case["tools"], style="compact"), made, cap)
    if setup["after"]:
        matcher.accept(own)
    check(matcher, setup, own)
    for step in setup.get("then", ()):
        branch = matcher.copy()
        branch.accept(step.get("take", step.get("take_instead")))
        check(branch, step, own)
        if "abc" in case["setup"]["vocab"][2].get("text", ""):  # complete: nothing but the end tokens is left
            assert branch.is_complete and branch.mask().ids().tolist() == step["allow"]


def test_markers_are_text_inside_strings_only() -> None:
    case = CASES["c170"]
    made, _ = vocabulary(case, [bytes((byte,)) for byte in range(256)])
    matcher = Matcher(compile_route(case["tools"]), made)
    for token in made.spell(b'{"tool": "say", "arguments": {"t": "a '):
        matcher.accept(token)
    matcher.accept(0)
    assert matcher.text.endswith(b"a <tool_call>") and matcher.allows(2 + ord('"'))


def test_reserved_tokens_are_their_text() -> None:
    made, _ = vocabulary(CASES["c128"], [bytes((byte,)) for byte in range(256)])
    matcher = Matcher(compile_route(CASES["c128"]["tools"]), made)
    for token in made.spell(b'{"tool": "say", "arguments": {"t": "'):
        assert not matcher.allows(0)
        matcher.accept(token)
    matcher.accept(0)
    assert matcher.text.endswith(b'"<unused32>')


# -- decoding ------------------------------------------------------------------------------------------------------------------

BYTES = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), b'"}}', b'", "', b"\n\n", b"  ", None, None], eog={260, 261})
Row = Callable[[Sequence[int]], np.ndarray]


def prefers(*pieces: bytes) -> Row:
    """A model that wants ``pieces`` in this order of preference, whatever was said."""

    def row(tokens: Sequence[int]) -> np.ndarray:
        values = np.zeros(BYTES.size, np.float32)
        for rank, piece in enumerate(pieces):
            values[BYTES.pieces.index(piece)] = 50 - rank
        return values

    return row


def reply(case: dict[str, Any], row: Row, cap: int | None, sampler: Sampler | None = None, route: Route | None = None) -> Matcher:
    """One reply of a scripted model, after a prompt of one token."""
    matcher = Matcher(route or compile_route(case["tools"]), BYTES, cap)
    decoder = Decoder(ScriptedEngine(BYTES, row), matcher, sampler or Sampler())
    decoder.pending = [0]
    decoder.run()
    return matcher


def finished(case: dict[str, Any], matcher: Matcher, cap: int) -> str:
    text = matcher.text.decode()
    route = compile_route(case["tools"])
    assert (matcher.is_complete or matcher.is_terminated) and len(matcher.tokens) <= cap
    assert fault(route, text) is None and route.accepts(text)
    return text


def test_a_model_that_loves_blanks() -> None:
    case = CASES["c138"]
    for row in (prefers(b"\n\n", b"\n", b"  ", b" "), prefers(b" ", b"  "), prefers(b"\n", b"g"), prefers(b" ", b"g")):
        text = finished(case, reply(case, row, 64), 64)
        plain = json.loads(text)
        # Blanks stand only where the spaced form has them; what is inside the string is the model's own affair, as far as the cap lets it.
        assert json.dumps(plain) == text and "\n" not in text


def test_a_model_that_never_stops_an_array() -> None:
    case = CASES["c145"]
    for row in (prefers(b",", b"c", b"t"), prefers(b",", b"c", b"s")):
        matcher = reply(case, row, 40 + 50)
        finished(case, matcher, 90)
        assert matcher.capped and matcher.stop_reason == "cap"
        assert json.loads(matcher.text)["arguments"]["topics"][:2] in (["tech", "tech"], ["sports", "sports"])


def test_repetition() -> None:
    case = CASES["c144"]

    def row(tokens: Sequence[int]) -> np.ndarray:
        """A strong penalty on whatever was said, structure included."""
        values = np.zeros(BYTES.size, np.float32)
        for token in range(BYTES.size):
            values[token] = -tokens.count(token) * 100.0 + (token % 7)
        return values

    for sampler in (Sampler(), Sampler(0.8, seed=1), Sampler(1.5, top_k=3, seed=2)):
        finished(case, reply(case, row, 200, sampler), 200)


def test_nothing_follows_a_complete_reply_and_nothing_ends_one_early() -> None:
    route = compile_route(CASES["c140"]["tools"])
    matcher = Matcher(route, BYTES)
    for token in b'{"tool": "get_weather", "arguments": {"city": "Oslo"}}':
        assert not matcher.allows(260) and not matcher.allows(261) and not matcher.is_accepting
        matcher.accept(token)
    assert matcher.mask().ids().tolist() == [260, 261]
    text = finished(CASES["c140"], reply(CASES["c140"], prefers(b"}", b'"', b"g"), 80), 80)
    assert text.endswith("}")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_dead_end(temperature: float) -> None:
    case = CASES["c141"]
    made, _ = vocabulary(case)
    matcher = Matcher(compile_route(case["tools"]), made)
    check(matcher, case["setup"], 2)
    engine = ScriptedEngine(made, lambda tokens: np.array([2, 1], np.float32))
    decoder = Decoder(engine, matcher, Sampler(temperature))
    decoder.pending = [0]
    with pytest.raises(RouteError) as caught:
        decoder.run()
    assert (
        isinstance(caught.value, DeadEnd) and caught.value.prefix == b"" and ord("{") in caught.value.missing_bytes and not matcher.tokens
    )


def test_the_mask_comes_before_top_k() -> None:
    matcher = Matcher(compile_route(CASES["c143"]["tools"]), BYTES)
    for seed in range(10):
        assert Sampler(1.0, top_k=1, seed=seed).choose(matcher, prefers(b"@", b"{")(())).token == ord("{")
    assert Sampler().choose(matcher, prefers(b"@", b"{")(())).token == ord("{")


def test_three_runs_with_an_aborted_one() -> None:
    case = CASES["c148"]
    route = compile_route(case["tools"])
    row = prefers(b"g", b"O", b'"')

    def run() -> str:
        return finished(case, reply(case, row, 80, route=route), 80)

    first = run()
    with pytest.raises(CapTooSmall):
        Matcher(route, BYTES, cap=3)
    cut = Decoder(ScriptedEngine(BYTES, row), Matcher(route, BYTES), Sampler(), limit=3)
    cut.pending = [0]
    cut.run()
    assert cut.matcher.text == b'{"t' and cut.stopped and cut.matcher.stop_reason is None
    assert run() == first

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(run())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [first] * 4


def test_a_pattern_that_cannot_be_kept_fails_closed() -> None:
    """Refused at compile time, or reported and checked: never dropped."""
    case = CASES["c150"]
    route = compiled(case)
    if route is not None:
        assert [(e.tool, e.pointer) for e in route.report.after] == [("weird", "/properties/x/pattern")]
        assert fault(route, '{"tool": "weird", "arguments": {"x": "b"}}') is not None


def test_numbers_that_are_none() -> None:
    matcher = Matcher(compile_route(CASES["c153"]["tools"]), BYTES)
    for bad in (np.nan, np.inf):
        for at in (7, 3, ord("{"), 259):
            row = prefers(b"{")(())
            row[at] = bad
            for sampler in (Sampler(), Sampler(1.0, seed=0)):
                with pytest.raises(EngineError, match="not finite"):
                    sampler.choose(matcher, row.copy())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_longer_than_the_vocabulary(temperature: float) -> None:
    setup = CASES["c132"]["setup"]
    made = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), *[None] * (setup["n_vocab_tokenizer"] - 256)])
    matcher = Matcher(compile_route(CASES["c132"]["tools"]), made)
    row = np.full(setup["n_logits"], 5, np.float32)
    row[setup["forbid_range"][0] :] = 99
    for prefix in (b"", b'{"tool": "get_weather", "arguments": {"city": "'):
        for token in prefix[len(matcher.text) :]:
            matcher.accept(token)
        assert not any(matcher.allows(token) for token in range(setup["n_vocab_tokenizer"], setup["n_logits"]))
        assert Sampler(temperature, seed=3).choose(matcher, row.copy()).token < 256
    with pytest.raises(EngineError, match="shape"):
        ScriptedEngine(made, lambda tokens: row).evaluate([0])


def test_the_first_byte_is_a_brace() -> None:
    for style in STYLES:
        matcher = Matcher(compile_route(CASES["c155"]["tools"], style=style), BYTES)  # type: ignore[arg-type]
        assert matcher.mask().ids().tolist() == [ord("{")]


def test_a_string_mask_on_a_large_vocabulary() -> None:
    size = CASES["c156"]["setup"]["n_vocab"]
    random = np.random.default_rng(0)
    letters = np.frombuffer(b'abcdefghijklmnopqrstuvwxyz ",:', np.uint8)
    texts = letters[random.integers(0, len(letters), (size - 256, 6))]
    pieces = [bytes(row[:length]) for row, length in zip(texts, random.integers(2, 7, len(texts)), strict=True)]
    made = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), *pieces])
    matcher = Matcher(compile_route(CASES["c156"]["tools"]), made)
    for token in b'{"tool": "w", "arguments": {"content": "':
        matcher.accept(token)
    matcher.mask()  # reads the vocabulary once
    began = time.process_time()
    for token in b"hello, a string of some length":
        matcher.mask()
        matcher.accept(token)
    assert time.process_time() - began < 0.2
    assert len(matcher.mask()) > 100_000


def test_a_catalogue_larger_than_the_context() -> None:
    case = CASES["c169"]
    words = " ".join(["word"] * (case["setup"]["catalogue_tokens"] // 4))
    tools = [
        *case["tools"],
        {"name": "wordy", "description": words, "parameters": {"type": "object", "properties": {"x": {"description": words}}}},
    ]
    row = prefers(b"g")
    router = Router(ScriptedEngine(BYTES, row, n_ctx=case["setup"]["n_ctx"]), tools, 64, gate=None)
    with pytest.raises(ContextOverflow) as caught:
        router.route("hi")
    error = caught.value
    assert error.given == 512 and error.cap == 64 and error.needed == error.prompt_tokens + 64 > 2000 and error.largest[0][0] == "wordy"
    assert "wordy" in str(error) and "512" in str(error) and router.engine.steps == 0
