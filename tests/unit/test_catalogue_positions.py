"""Where subschemas are."""

from __future__ import annotations

from typing import Any

import pytest

from toolroute.catalogue.positions import Pointer, anchors, follow, parse_fragment, pointer_fragment, pointer_text, positions

SCHEMA: dict[str, Any] = {
    "properties": {"$ref": {"enum": [{"$ref": "#/enum"}]}, "a/b": {"items": [{"type": "string"}, {"not": {}}]}, "on": True},
    "dependencies": {"x": ["y"], "z": {"$ref": "#/extra/here"}},
    "extra": {"here": {"properties": {"deep": {}}}, "there": {"properties": {"data": {}}}},
    "$defs": {"R": {"$id": "r", "anyOf": [{"$ref": "#/$defs/Q"}], "$defs": {"Q": {"$anchor": "q"}}}},
}


def test_every_subschema_and_nothing_else() -> None:
    assert {pointer_text(pointer) for pointer in positions(SCHEMA)} == {
        "",
        "/properties/$ref",
        "/properties/a~1b",
        "/properties/a~1b/items/0",
        "/properties/a~1b/items/1",
        "/properties/a~1b/items/1/not",
        "/dependencies/z",
        "/extra/here",
        "/extra/here/properties/deep",
        "/$defs/R",
        "/$defs/R/anyOf/0",
        "/$defs/R/$defs/Q",
    }


def test_resources_and_anchors() -> None:
    found = positions(SCHEMA)
    inner: Pointer = ("$defs", "R")
    assert {pointer for pointer, position in found.items() if position.resource == inner} == {
        inner,
        (*inner, "anyOf", "0"),
        (*inner, "$defs", "Q"),
    }
    assert anchors(found) == {(inner, "q"): (*inner, "$defs", "Q")}
    assert next(iter(found)) == ()


def test_pointers_there_and_back() -> None:
    pointer = ("a/b", "c~d", "e f", "é", "")
    assert pointer_text(pointer) == "/a~1b/c~0d/e f/é/"
    assert parse_fragment(pointer_fragment(pointer)) == pointer
    assert parse_fragment("#") == ()
    assert parse_fragment("#name") is None and parse_fragment("x#/a") is None


@pytest.mark.parametrize(
    ("pointer", "value"),
    [((), [{"a": 1}]), (("0", "a"), 1), (("1",), None), (("00",), None), (("-",), None), (("0", "a", "b"), None), (("9" * 5000,), None)],
)
def test_following(pointer: Pointer, value: Any) -> None:
    assert follow([{"a": 1}], pointer) == value
