"""Properties of parsing and of result messages."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolroute.route import (
    dump_json,
    parse_route,
    parse_route_lenient,
    routed_result_header,
    routed_result_text,
    split_routed_result,
)

NAMES = ["get_weather", "a b", "天気"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PIECES = (
    *('{"tool": ', '"get_weather"', '"none"', ',"arguments":', '"name":', "{", "}", "[", "]", '"', "\\", ":", ",", " "),
    *("\\ud83c", "\\udf89", "\ufeff", "\ud800", "1e999", "NaN", "-0", "9" * 30, "0.1", "1497549923779084388.5"),
    *('"a"', "```json\n", "```", "null", "true", "<think>"),
)
FRAGMENTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(FRAGMENTS | st.text(st.characters()))
@settings(max_examples=400)
def test_parsing_never_raises_and_agrees_with_json(text: str) -> None:
    strict, loose = parse_route(text, NAMES), parse_route_lenient(text, NAMES)
    for parsed in (strict, loose):
        assert set(parsed) in ({"ok", "error"}, {"ok", "tool", "text"}, {"ok", "tool", "arguments", "text"})
        if parsed.ok:
            assert parsed.text is not None and parse_route(parsed.text, NAMES) == parsed
    if strict.ok:
        assert loose == strict and loose.repairs == ()
        assert json.loads(text, parse_float=Decimal)["tool"] == strict.tool


@given(st.sampled_from(NAMES), st.dictionaries(TEXT, VALUES, max_size=4), st.booleans())
@settings(max_examples=200)
def test_what_json_writes_is_read_unchanged(tool: str, arguments: dict[str, Any], ascii_only: bool) -> None:
    text = json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=ascii_only)
    parsed = parse_route(text, NAMES)
    assert parsed.ok, parsed.error
    assert parsed.arguments == json.loads(text)["arguments"]
    assert parse_route_lenient(f"Sure:\n```json\n{text}\n```", NAMES).arguments == parsed.arguments
    assert parse_route(dump_json({"tool": tool, "arguments": parsed.arguments}), NAMES).arguments == parsed.arguments


@given(st.from_regex(r"-?(?:0|[1-9][0-9]{0,40})\.[0-9]{1,40}(?:[eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_decimals_keep_their_value(literal: str) -> None:
    parsed = parse_route(f'{{"tool":"get_weather","arguments":{{"v":{literal}}}}}', NAMES)
    assert parsed.arguments is not None
    value = parsed.arguments["v"]
    assert Decimal(repr(value) if isinstance(value, float) else value) == Decimal(literal)
    assert isinstance(value, float) == (Decimal(repr(float(literal))) == Decimal(literal))


@given(st.sampled_from(["a", "a (call b):", "x y", "天気"]), st.text(st.characters()), st.booleans())
def test_splitting_a_result_is_the_inverse_of_writing_it(tool: str, content: str, is_error: bool) -> None:
    text = routed_result_text(tool, "route-1", content, is_error)
    assert split_routed_result(text) == (routed_result_header(tool, "route-1", is_error), content)
