"""A reply, parsed strictly and leniently."""

from __future__ import annotations

import copy
import math
import pickle
import time
from decimal import Decimal
from typing import Any

import pytest

from toolroute.catalogue import Catalogue
from toolroute.route import MAX_DEPTH, MAX_DIGITS, ParsedRoute, dump_json, parse_route, parse_route_lenient

NAMES = ("get_weather", "memory_search")
GOOD = '{"tool":"get_weather","arguments":{"city":"Oslo"}}'


def value_of(literal: str) -> Any:
    parsed = parse_route(f'{{"tool":"get_weather","arguments":{{"v":{literal}}}}}', NAMES)
    assert parsed.arguments is not None, parsed.error
    return parsed.arguments["v"]


def error_of(text: Any, **options: Any) -> str:
    parsed = parse_route(text, NAMES, **options)
    assert not parsed.ok and parsed.error is not None, text
    assert parsed == {"ok": False, "error": parsed.error}
    return parsed.error


def test_the_synopsis_of_the_seed() -> None:
    text = '{"tool":"memory_search","arguments":{"query":"latch"}}'
    assert parse_route(text, NAMES) == {"ok": True, "tool": "memory_search", "arguments": {"query": "latch"}, "text": text}
    assert parse_route('{"tool":"none"}', NAMES) == {"ok": True, "tool": "none", "text": '{"tool":"none"}'}
    assert parse_route("Sure! Let me search.", NAMES) == {"ok": False, "error": "the reply is not a JSON object"}


def test_attributes() -> None:
    parsed = parse_route(f" {GOOD}\r\n\t", NAMES)
    assert parsed.ok and parsed.tool == "get_weather" and parsed.arguments == {"city": "Oslo"}
    assert (parsed.text, parsed.error, parsed.repairs) == (GOOD, None, ())
    none = parse_route('{"tool":"none"}', NAMES)
    assert none.arguments is None and "arguments" not in none
    failed = parse_route("", NAMES)
    assert (failed.ok, failed.tool, failed.arguments, failed.text) == (False, None, None, None)
    with pytest.raises(AttributeError):
        parsed.tool = "other"  # type: ignore[misc]
    for twin in (pickle.loads(pickle.dumps(parsed)), copy.deepcopy(parsed)):
        assert twin == parsed and isinstance(twin, ParsedRoute) and twin.repairs == ()


def test_names_may_be_tools_or_a_catalogue() -> None:
    catalogue = Catalogue.from_tools([{"name": "a"}])
    assert parse_route('{"tool":"a","arguments":{}}', catalogue).ok
    assert parse_route('{"tool":"a","arguments":{}}', "a").ok
    assert parse_route('{"tool":"none"}', []).ok


def test_members_in_any_order_and_spelling() -> None:
    assert parse_route('{"arguments":{},"tool":"get_weather"}', NAMES).ok
    assert parse_route('{"t\\u006fol":"none"}', NAMES).ok


@pytest.mark.parametrize(
    "text", ["", " ", "null", "3", '"none"', '["none"]', "[]", "Sure! " + GOOD, f"```json\n{GOOD}\n```", "<think>x</think>" + GOOD]
)
def test_what_is_not_an_object(text: str) -> None:
    assert error_of(text) == "the reply is not a JSON object"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{}", "the reply has no member 'tool'"),
        ('{"name":"get_weather","arguments":{}}', "the reply has no member 'tool' (it has 'name')"),
        ('{"tool":null}', "the member 'tool' is not a string"),
        ('{"tool":["none"]}', "the member 'tool' is not a string"),
        ('{"tool":""}', "the member 'tool' is blank"),
        ('{"tool":" \\u00a0"}', "the member 'tool' is blank"),
        ('{"tool":"None"}', "unknown tool 'None'; offered: get_weather, memory_search, none"),
        ('{"tool":"get_weather ","arguments":{}}', "unknown tool 'get_weather '; offered: get_weather, memory_search, none"),
        (
            '{"tool":"functions.get_weather","arguments":{}}',
            "unknown tool 'functions.get_weather'; offered: get_weather, memory_search, none",
        ),
        ('{"tool":"none","arguments":{}}', "the reply has the unexpected member 'arguments', and this action carries only 'tool'"),
        ('{"tool":"none","why":1}', "the reply has the unexpected member 'why', and this action carries only 'tool'"),
        ('{"tool":"get_weather"}', "the reply has no member 'arguments'"),
        ('{"tool":"get_weather","args":{}}', "the reply has the unexpected member 'args'"),
        ('{"tool":"get_weather","arguments":{},"id":"1"}', "the reply has the unexpected member 'id'"),
        ('{"tool":"get_weather","arguments":null}', "the member 'arguments' is not an object"),
        ('{"tool":"get_weather","arguments":[]}', "the member 'arguments' is not an object"),
        ('{"tool":"get_weather","arguments":"{}"}', "the member 'arguments' is not an object"),
        ('{"tool":"none","tool":"none"}', "the reply is refused: the member 'tool' occurs twice"),
        ('{"tool":"get_weather","arguments":{"a":[{"b":1,"b":1}]}}', "the reply is refused: the member 'b' occurs twice"),
        ('{"tool":"none",}', "the reply is not a JSON object: Expecting property name enclosed in double quotes at character 15"),
        ('{"tool":"none"} done', "the reply is not a JSON object: Extra data at character 16"),
        ('{"tool":"none"}{"tool":"none"}', "the reply is not a JSON object: Extra data at character 15"),
        ("\ufeff" + GOOD, "the reply is not a JSON object: it begins with a byte-order mark"),
    ],
)
def test_refusals_name_the_fault(text: str, error: str) -> None:
    assert error_of(text) == error


@pytest.mark.parametrize("blank", ["\u00a0", "\u2028", "\x0b", "\x0c", "\x85", "\ufeff", "\x00"])
def test_only_the_white_space_of_json_is_trimmed(blank: str) -> None:
    assert not parse_route(GOOD + blank, NAMES).ok
    assert not parse_route(blank + GOOD, NAMES).ok


@pytest.mark.parametrize("escape", ["\\'", "\\x41", "\\u41", "\\U0041", "\\u00g1", "\n", "\x1f"])
def test_illegal_strings(escape: str) -> None:
    assert not parse_route(f'{{"tool":"get_weather","arguments":{{"c":"{escape}"}}}}', NAMES).ok


def test_unicode() -> None:
    assert value_of('"\\ud83c\\udf89\\/\\b\\u0041"') == "🎉/\bA"
    for text in ('"\\ud83c"', '"\\udf89\\ud83c"', '{"\\udc00":1}', '["\ud83c"]', '"\\\\\\ud800"'):
        assert "lone surrogate" in error_of(f'{{"tool":"get_weather","arguments":{{"v":{text}}}}}')
    assert value_of('"\\\\ud800"') == "\\ud800"


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e309", "01", "+1", ".5", "0.", "1e", "0x1", "٣", "undefined", "None"]
)
def test_numbers_that_are_refused(literal: str) -> None:
    error_of(f'{{"tool":"get_weather","arguments":{{"v":{literal}}}}}')


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("-0", 0), ("1e300", 1e300), ("2.0", 2.0), ("0.1", 0.1), ("1E2", 100.0), ("-0.0", -0.0), ("5e-324", 5e-324),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("9007199254740993", 9007199254740993),
        ("1497549923779084388.5", Decimal("1497549923779084388.5")),
        ("3.14159265358979323846", Decimal("3.14159265358979323846")),
        ("1e-400", Decimal("1e-400")),
    ],
)  # fmt: skip
def test_numbers_keep_their_exact_value(literal: str, value: Any) -> None:
    found = value_of(literal)
    assert found == value and type(found) is type(value)
    assert value_of(dump_json(found)) == value


def test_an_exponent_past_all_bounds_is_zero() -> None:
    assert value_of("1e-99999999999999999999") == 0
    assert math.copysign(1, value_of("-0e99999999999999999999")) == -1


def test_long_numbers() -> None:
    assert value_of("-" + "9" * MAX_DIGITS) == -(10**MAX_DIGITS - 1)
    for literal in ("9" * (MAX_DIGITS + 1), "0." + "9" * MAX_DIGITS, "9" * 1_000_000):
        assert "more than 4300" in error_of(f'{{"tool":"get_weather","arguments":{{"v":{literal}}}}}')


def test_nesting() -> None:
    deepest = MAX_DEPTH - 2
    assert value_of("[" * deepest + "]" * deepest)
    over = "[" * (deepest + 1) + "]" * (deepest + 1)
    assert (
        error_of(f'{{"tool":"get_weather","arguments":{{"v":{over}}}}}') == f"the reply is refused: it nests deeper than {MAX_DEPTH} levels"
    )
    for text in ("[" * 1_000_000, '{"a":' * 100_000, '{"tool":"none","x":' + "[" * 100_000):
        error_of(text)
    assert value_of('"' + "[{" * 1000 + '\\"[["') == "[{" * 1000 + '"[['
    assert len(value_of("[" + "[]," * 500 + "[]]")) == 501, "wide is not deep"


@pytest.mark.parametrize("text", [None, 3, b"{}", ["none"], {"tool": "none"}])
def test_what_is_not_text(text: Any) -> None:
    assert error_of(text) == f"the reply is not text but {type(text).__name__}"
    assert not parse_route_lenient(text, NAMES).ok


def test_errors_quote_at_most_64_characters() -> None:
    for char in ("x", "\n", "'", "\u2028", "🎉"):
        long = dump_json(char * 5000)
        for text in (f'{{"tool":{long}}}', f"{{{long}:1}}", f'{{"tool":"none",{long}:1}}', f'{{"tool":"none","a":{{{long}:1,{long}:2}}}}'):
            error = error_of(text)
            assert len(error) < 64 + 90
            assert "\n" not in error and "\u2028" not in error


def test_errors_list_at_most_twenty_names() -> None:
    many = [f"tool_{number}" for number in range(100)]
    error = parse_route('{"tool":"x"}', many).error
    assert error is not None
    assert error.endswith("tool_18, none and 81 more")


def test_terminals_with_arguments() -> None:
    ends = ["none", ("finish", {"properties": {"summary": {"type": "string"}}})]
    finish = parse_route('{"tool":"finish","arguments":{"summary":"done"}}', NAMES, ends)
    assert finish.ok and finish.arguments == {"summary": "done"}
    assert not parse_route('{"tool":"finish"}', NAMES, ends).ok
    assert parse_route('{"tool":"finish"}', NAMES, ["finish"]).ok
    assert not parse_route('{"tool":"none"}', NAMES, ()).ok


@pytest.mark.parametrize("parse", [parse_route, parse_route_lenient])
@pytest.mark.parametrize(
    "text",
    [
        '{"a":"' + "\\" * 400_001,
        "{" * 300_000,
        '{"' * 200_000,
        '"' * 400_001,
        "[{}," * 200_000,
        '{"a":1}' * 60_000,
        GOOD + " " * 500_000 + "x",
    ],
)
def test_time_is_linear(parse: Any, text: str) -> None:
    start = time.perf_counter()
    parse(text, NAMES)
    assert time.perf_counter() - start < 5


def lenient(text: str, **options: Any) -> ParsedRoute:
    parsed = parse_route_lenient(text, NAMES, **options)
    if parsed.ok:
        assert parsed.text is not None
        again = parse_route(parsed.text, NAMES, **options)
        assert again == parsed, "what a lenient parse returns, a strict one accepts"
    return parsed


CALL = {"ok": True, "tool": "get_weather", "arguments": {"city": "Oslo"}}


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (GOOD, ()),
        (f"```json\n{GOOD}\n```", ("code fence removed",)),
        (f"```\n{GOOD}\n``` done", ("code fence removed", "text after the object removed")),
        (f"Sure! {GOOD}", ("text before the object removed",)),
        (f"{GOOD}\nLet me know.", ("text after the object removed",)),
        (f"{GOOD}\n{GOOD}", ("further objects ignored",)),
        (f"<think>use {{x}} or {{\"a\":1}}</think>{GOOD}", ("text before the object removed",)),
        (f"The form is {{\"tool\": ...}}. {GOOD}", ("text before the object removed",)),
        (f"[{GOOD}]", ("text before the object removed", "text after the object removed")),
        ('{"name":"get_weather","arguments":{"city":"Oslo"}}', ("member 'name' read as 'tool'",)),
        ('{"tool":"get_weather","parameters":{"city":"Oslo"}}', ("member 'parameters' read as 'arguments'",)),
        ('{"tool":"get_weather","args":{"city":"Oslo"}}', ("member 'args' read as 'arguments'",)),
        ('{"tool":"get_weather","arguments":"{\\"city\\":\\"Oslo\\"}"}', ("arguments read from a string",)),
        ('{"tool":" functions.get_weather","arguments":{"city":"Oslo"}}', ("tool name ' functions.get_weather' normalised",)),
        ('{"type":"function","name":"get_weather","parameters":{"city":"Oslo"}}',
         ("member 'name' read as 'tool'", "member 'parameters' read as 'arguments'", "member 'type' removed")),
        ('{"id":"1","type":"function","function":{"name":"get_weather","arguments":"{\\"city\\":\\"Oslo\\"}"}}',
         ("action taken out of the member 'function'", "member 'name' read as 'tool'", "arguments read from a string")),
        ('{"function":"get_weather","arguments":{"city":"Oslo"}}', ("member 'function' read as 'tool'",)),
    ],
)  # fmt: skip
def test_repairs_are_listed(text: str, repairs: tuple[str, ...]) -> None:
    parsed = lenient(text)
    assert {key: item for key, item in parsed.items() if key != "text"} == CALL, parsed.error
    assert parsed.repairs == repairs


@pytest.mark.parametrize(
    ("text", "arguments", "repairs"),
    [
        ('{"tool":"get_weather"}', {}, ("missing arguments read as {}",)),
        ('{"tool":"get_weather","arguments":null}', {}, ("null arguments read as {}",)),
        ('{"tool":"none","arguments":{}}', None, ("empty arguments removed",)),
        ('{"tool":"none","parameters":null}', None, ("member 'parameters' read as 'arguments'", "empty arguments removed")),
        ('{"tool":"get_weather","arguments":"{\\"big\\":1497549923779084388.5}"}',
         {"big": Decimal("1497549923779084388.5")}, ("arguments read from a string",)),
    ],
)  # fmt: skip
def test_arguments_are_repaired(text: str, arguments: Any, repairs: tuple[str, ...]) -> None:
    parsed = lenient(text)
    assert parsed.ok and parsed.arguments == arguments and parsed.repairs == repairs


@pytest.mark.parametrize(
    "text",
    [
        "no object at all",
        '{"tool":"get_weather","arguments":{"tool":"none"}',  # cut off: what is inside is not a reply
        'Sure: {"tool":"get_weather","arguments":{"city":"Os',
        '{"tool":"get_weather","arguments":{"city":"Oslo",}}',
        "{'tool':'get_weather'}",
        '{"tool":"get_weather","arguments":{"a":1,"a":2}}',
        '{"tool":"get_weather","arguments":{"a":1e999}}',
        '{"tool":"get_forecast","arguments":{}}',
        '{"tool":"Get_Weather","arguments":{}}',
        '{"tool":"get_weather","arguments":"city"}',
        '{"tool":"get_weather","arguments":[1]}',
        '{"tool":"get_weather","args":{},"parameters":{}}',
        '{"tool":"get_weather","arguments":{},"city":"Oslo"}',
        '{"tool":"none","arguments":{"x":1}}',
        '{"function":{"name":"get_weather"},"arguments":{"city":"Oslo"}}',
        '{"example":{"tool":"none"}}',
        '"{\\"tool\\":\\"none\\"}"',
        "{}",
    ],
)
def test_what_no_repair_reads(text: str) -> None:
    parsed = lenient(text)
    assert not parsed.ok and parsed.error


def test_the_first_object_that_names_a_tool_decides() -> None:
    assert "unknown tool 'rm'" in str(lenient('{"tool":"rm","arguments":{}} {"tool":"none"}').error)
    assert lenient('{"x":1} then {"tool":"none"}').tool == "none"


def test_a_brace_in_a_string_is_not_a_brace() -> None:
    parsed = lenient('Here: {"tool":"get_weather","arguments":{"city":"}{\\"}"}} ok')
    assert parsed.arguments == {"city": '}{"}'}
