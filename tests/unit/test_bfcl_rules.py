"""The leaderboard's rules, on rows made by hand (nothing is downloaded)."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.bfcl import Row, gold_reply, loose, matches, normalised, same

PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"type": "string", "enum": ["c", "f"]},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}, "note": {"type": "string"}}},
    },
    "required": ["city"],
}


def row(answer: dict[str, Any] | None, category: str = "simple_python") -> Row:
    tools = [{"name": "weather", "description": "", "parameters": PARAMETERS}]
    return Row("x", category, "?", [{"role": "user", "content": "?"}], tools, None if answer is None else [{"weather": answer}])


OSLO = row({"unit": ["", "c"], "days": [3, 4], "city": ["Oslo", "Oslo, Norway"]})
NONE = row(None, "irrelevance")


def test_types_are_renamed_at_every_level() -> None:
    given = {
        "type": "dict",
        "properties": {
            "type": {"type": "any", "description": "a member named type"},
            "list": {"type": "tuple", "items": {"type": "dict", "properties": {"x": {"type": "float", "default": {"type": "dict"}}}}},
            "either": {"anyOf": [{"type": "float"}, {"type": "any"}]},
        },
    }
    assert normalised(given) == {
        "type": "object",
        "properties": {
            "type": {"description": "a member named type"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number", "default": {"type": "dict"}}}}},
            "either": {"anyOf": [{"type": "number"}, {}]},
        },
    }


def test_gold_takes_first_values_in_declared_order_without_optional_ones() -> None:
    assert gold_reply(OSLO, "spaced") == '{"tool": "weather", "arguments": {"city": "Oslo", "days": 3}}'
    assert gold_reply(OSLO, "compact") == '{"tool":"weather","arguments":{"city":"Oslo","days":3}}'


def test_gold_of_an_object_argument() -> None:
    nested = row({"city": ["Oslo"], "where": [{"lon": [10.5], "lat": [60], "note": ["", "x"]}, ""], "days": [""]})
    assert gold_reply(nested) == '{"tool": "weather", "arguments": {"city": "Oslo"}}'
    nested = row({"city": ["Oslo"], "where": [{"lon": [10.5], "lat": [60], "note": ["", "x"]}], "days": [2.0]})
    assert gold_reply(nested) == '{"tool": "weather", "arguments": {"city": "Oslo", "days": 2, "where": {"lat": 60, "lon": 10.5}}}'


@pytest.mark.parametrize("answer", [{"city": ["Oslo"], "unit": ["kelvin"]}, {"days": [3]}, {"city": [3]}, {"city": []}])
def test_gold_that_does_not_validate_is_none(answer: dict[str, Any]) -> None:
    assert gold_reply(row(answer)) is None


def test_irrelevance() -> None:
    assert gold_reply(NONE) == '{"tool": "none"}'
    assert matches(NONE, None, None)
    assert matches(NONE, "none", None)
    assert not matches(NONE, "weather", {"city": "Oslo"})
    assert not matches(OSLO, "none", None)


@pytest.mark.parametrize(
    ("arguments", "right", "strictly"),
    [
        ({"city": "Oslo", "days": 3}, True, True),
        ({"city": "oslo norway", "days": 4.0}, True, False),
        ({"city": "Oslo", "days": 3, "unit": "c"}, True, True),
        ({"city": "Oslo", "days": 3, "unit": "f"}, False, False),
        ({"city": "Oslo"}, False, False),
        ({"days": 3}, False, False),
        ({"city": "Oslo", "days": 3, "extra": 1}, False, False),
        ({"city": "Oslo", "days": True}, False, False),
        ({"city": "Oslo", "days": "3"}, False, False),
        ({}, False, False),
    ],
)
def test_matches(arguments: dict[str, Any], right: bool, strictly: bool) -> None:
    assert matches(OSLO, "weather", arguments) is right
    assert matches(OSLO, "weather", arguments, strict=True) is strictly
    assert not matches(OSLO, "other", arguments)


def test_matches_objects_and_lists_of_objects() -> None:
    one = row({"city": ["Oslo"], "where": [{"lat": [60, 60.5], "note": ["", "x"]}]})
    assert matches(one, "weather", {"city": "Oslo", "where": {"lat": 60.5}})
    assert matches(one, "weather", {"city": "Oslo", "where": {"note": "X", "lat": 60}})
    assert not matches(one, "weather", {"city": "Oslo", "where": {"lat": 61}})
    assert not matches(one, "weather", {"city": "Oslo", "where": {}})
    many = row({"city": ["Oslo"], "where": [[{"lat": [60]}, {"lat": [61]}]]})
    assert matches(many, "weather", {"city": "Oslo", "where": [{"lat": 60}, {"lat": 61.0}]})
    assert not matches(many, "weather", {"city": "Oslo", "where": [{"lat": 61}, {"lat": 60}]})
    assert not matches(many, "weather", {"city": "Oslo", "where": [{"lat": 60}]})


def test_objects_two_levels_down_are_literal() -> None:
    deep = row({"city": ["Oslo"], "where": [{"lat": [{"deg": 60, "min": 5}, 60]}]})
    assert matches(deep, "weather", {"city": "Oslo", "where": {"lat": {"min": 5.0, "deg": 60}}})
    assert not matches(deep, "weather", {"city": "Oslo", "where": {"lat": {"deg": 60}}})


def test_same() -> None:
    assert loose("It's 3.5-inch,  A_b/C*^") == 'it"s35inchabc'
    assert same(["New York", 1], ["new-york", 1.0]) and not same(["New York", 1], ["new-york", 1.0], strict=True)
    assert same({"a": 1, "b": None}, {"b": None, "a": 1})
    assert not same(True, 1) and not same("1", 1) and not same([1, 2], [2, 1]) and not same(None, "")
