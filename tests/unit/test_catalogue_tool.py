"""A tool: names, parameters, identity."""

from __future__ import annotations

from typing import Any

import pytest

from toolroute.catalogue import Tool
from toolroute.catalogue.tool import MAX_NAME, MAX_NESTING
from toolroute.errors import CatalogueError

CLOSED = {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize("parameters", [None, {}])
def test_no_parameters_are_the_closed_empty_object(parameters: Any) -> None:
    assert Tool("t", "", parameters).parameters == CLOSED
    assert Tool("t").parameters == CLOSED


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"type": "object"}, {"type": "object"}),
        ({"type": "object", "properties": {}}, {"type": "object", "properties": {}}),
        ({"type": ["object"]}, {"type": ["object"]}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"anyOf": [{"required": ["a"]}]}, {"type": "object", "anyOf": [{"required": ["a"]}]}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {}}}, {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {}}}),
        ({"type": "object", "required": ("a",)}, {"type": "object", "required": ["a"]}),
    ],
)
def test_parameters_are_an_object_schema(given: dict[str, Any], kept: dict[str, Any]) -> None:
    parameters = Tool("t", "", given).parameters
    assert parameters == kept
    assert next(iter(parameters)) == "type"


@pytest.mark.parametrize("given", [{"type": "array"}, {"type": ["object", "null"]}, {"type": None}, [], "object", True])
def test_other_parameters_are_refused(given: Any) -> None:
    with pytest.raises(CatalogueError, match="parameters are not an object schema") as caught:
        Tool("t", "", given)
    assert caught.value.tool == "t"


def test_parameters_are_detached() -> None:
    given: dict[str, Any] = {"type": "object", "properties": {"a": {"enum": [1]}}}
    tool = Tool("t", "", given)
    given["properties"]["a"]["enum"].append(2)
    assert tool.parameters["properties"]["a"]["enum"] == [1]
    tool.to_openai()["function"]["parameters"]["properties"]["a"]["enum"].append(3)
    assert tool.parameters["properties"]["a"]["enum"] == [1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "not finite"),
        (float("inf"), "not finite"),
        ("\ud800", "lone surrogate"),
        ({1: 2}, "member name is not a string"),
        ({"\udfff": 2}, "lone surrogate"),
        (object(), "not a JSON type"),
        pytest.param(10**4400, "more than", id="long integer"),
    ],
)
def test_parameters_are_json(value: Any, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason) as caught:
        Tool("t", "", {"type": "object", "properties": {"a": {"default": [value]}}})
    assert caught.value.pointer == "/properties/a/default/0"


def test_a_cycle_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["not"] = loop
    with pytest.raises(CatalogueError, match=f"deeper than {MAX_NESTING}"):
        Tool("t", "", loop)


@pytest.mark.parametrize(
    "name", ["get_weather", "a.b-c", "server__tool", "a b", "wetter_für_köln", "天気", "x" * MAX_NAME, "a)b(", "ns:tool"]
)
def test_names_that_are_accepted(name: str) -> None:
    assert Tool(name).name == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (None, "no name"),
        (3, "not a string but int"),
        ("", "blank"),
        (" \t", "blank"),
        (" a", "white space"),
        ("a\u00a0", "white space"),
        ("a\nb", "control"),
        ("a\x00b", "control"),
        ("a\u2028b", "control"),
        ("a\x85b", "control"),
        ("x" * (MAX_NAME + 1), "128"),
        ("a\ud83c", "surrogate"),
    ],
)
def test_names_that_are_refused(name: Any, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        Tool(name)


@pytest.mark.parametrize(("text", "reason"), [(3, "not a string but int"), ("\udc00", "surrogate")])
def test_descriptions_that_are_refused(text: Any, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason) as caught:
        Tool("t", text)
    assert caught.value.tool == "t"


def test_a_missing_description_is_empty() -> None:
    none: Any = None
    assert Tool("t", none).description == ""
    assert Tool("t").to_openai() == {"type": "function", "function": {"name": "t", "parameters": CLOSED}}


def test_a_function_must_be_callable() -> None:
    wrong: Any = 3
    with pytest.raises(CatalogueError, match="not callable"):
        Tool("t", function=wrong)


def test_identity_is_content_and_its_order() -> None:
    first = Tool("t", "d", {"properties": {"a": {}, "b": {}}})
    assert first == Tool("t", "d", {"properties": {"a": {}, "b": {}}}, print)
    assert hash(first) == hash(Tool("t", "d", {"properties": {"a": {}, "b": {}}}))
    assert first != Tool("t", "d", {"properties": {"b": {}, "a": {}}}), "the order of members is the order of writing"
    assert first != Tool("t", "e", {"properties": {"a": {}, "b": {}}})
    assert first != "t"
    assert first.digest is first.digest
    assert len(first.digest) == 64


def test_a_boolean_is_not_a_number() -> None:
    assert Tool("t", "", {"properties": {"a": {"const": 1}}}) != Tool("t", "", {"properties": {"a": {"const": True}}})
