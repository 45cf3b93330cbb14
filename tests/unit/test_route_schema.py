"""The route schema: shape, re-rooted references, terminals, refusals."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest

from toolroute.catalogue import Catalogue, Tool
from toolroute.errors import CatalogueError
from toolroute.route import Terminal, route_choices, route_schema, route_tool_names, to_terminals

SEARCH = {
    "type": "function",
    "function": {
        "name": "memory_search",
        "description": "Search memories.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
    },
}


def accepts(schema: dict[str, Any], reply: object) -> bool:
    validator: Any = jsonschema.Draft202012Validator(schema)
    return bool(validator.is_valid(reply))


def arguments_of(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters as they stand in the combined document, behind another tool."""
    schema = route_schema([Tool("first"), Tool("second", "", parameters)])
    moved: dict[str, Any] = schema["anyOf"][1]["properties"]["arguments"]
    return moved


PREFIX = "#/anyOf/1/properties/arguments"


def test_the_shape_of_the_seed() -> None:
    schema = route_schema([SEARCH])
    assert schema == {
        "type": "object",
        "anyOf": [
            {
                "type": "object",
                "description": "Search memories.",
                "properties": {
                    "tool": {"const": "memory_search"},
                    "arguments": {"type": "object", "properties": {"query": {"type": "string"}}},
                },
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            },
            {"type": "object", "properties": {"tool": {"const": "none"}}, "required": ["tool"], "additionalProperties": False},
        ],
    }
    for alternative in schema["anyOf"]:
        assert next(iter(alternative["properties"])) == "tool"


def test_choices_and_names() -> None:
    tools = [SEARCH, {"name": "read"}]
    assert route_choices(tools) == ("memory_search", "read", "none")
    assert route_tool_names(tools) == ("memory_search", "read")
    assert route_choices(Catalogue.from_tools(tools), ()) == ("memory_search", "read")


def test_it_is_detached() -> None:
    tool = Tool("a", "", {"properties": {"x": {"enum": [1]}}})
    route_schema([tool])["anyOf"][0]["properties"]["arguments"]["properties"]["x"]["enum"].append(2)
    assert tool.parameters["properties"]["x"]["enum"] == [1]
    assert route_schema([tool]) == route_schema([tool])


def test_an_empty_description_is_left_out() -> None:
    assert "description" not in route_schema([{"name": "a", "description": ""}])["anyOf"][0]


def test_an_empty_catalogue_offers_the_terminal() -> None:
    assert [one["properties"]["tool"]["const"] for one in route_schema([])["anyOf"]] == ["none"]
    with pytest.raises(CatalogueError, match="no tool and no terminal"):
        route_schema([], ())


def test_terminals_with_arguments() -> None:
    schema = route_schema(
        [{"name": "a"}], ["none", ("finish", {"properties": {"summary": {"$ref": "#/$defs/S"}}, "$defs": {"S": {"type": "string"}}})]
    )
    assert accepts(schema, {"tool": "finish", "arguments": {"summary": "done"}})
    assert not accepts(schema, {"tool": "finish", "arguments": {"summary": 1}})
    assert not accepts(schema, {"tool": "finish"})
    assert not accepts(schema, {"tool": "none", "arguments": {}})
    assert accepts(schema, {"tool": "none"})


def test_a_tool_with_a_terminals_name() -> None:
    with pytest.raises(CatalogueError, match="tool 1 'none': the name is reserved for a terminal") as caught:
        route_schema([{"name": "a"}, {"name": "none"}])
    assert (caught.value.index, caught.value.tool) == (1, "none")
    assert route_choices([{"name": "none"}], ["finish"]) == ("none", "finish")
    dropping = Catalogue.from_tools([{"name": "a"}, {"name": "none"}], on_error="drop")
    assert route_choices(dropping) == ("a", "none")


def test_terminals_are_normalised() -> None:
    assert to_terminals("none") == (Terminal("none"),)
    assert to_terminals(Terminal("stop")) == (Terminal("stop"),)
    assert to_terminals(("finish", {"type": "object"})) == (Terminal("finish", {"type": "object"}),)
    assert [end.bare for end in to_terminals(["none", ("finish", {})])] == [True, False]
    assert to_terminals([("finish", None)])[0].bare
    assert Terminal("finish", {}).parameters == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("terminals", "reason"),
    [
        (["none", "none"], "given twice"),
        ([" "], "blank"),
        ([3], "a int is not a terminal"),
        ([("finish", {"type": "array"})], "terminal 'finish': parameters are not an object schema"),
    ],
)
def test_terminals_that_are_refused(terminals: Any, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        to_terminals(terminals)


def test_two_tools_may_use_one_definition_name() -> None:
    def timed(name: str, when: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": name,
            "parameters": {"properties": {"when": {"$ref": "#/$defs/When"}}, "required": ["when"], "$defs": {"When": when}},
        }

    schema = route_schema([timed("cal", {"type": "string"}), timed("timer", {"type": "integer"})])
    assert accepts(schema, {"tool": "cal", "arguments": {"when": "noon"}})
    assert accepts(schema, {"tool": "timer", "arguments": {"when": 30}})
    assert not accepts(schema, {"tool": "cal", "arguments": {"when": 30}})
    assert not accepts(schema, {"tool": "timer", "arguments": {"when": "noon"}})


def test_recursive_and_escaped_references() -> None:
    moved = arguments_of(
        {
            "properties": {"kids": {"items": {"$ref": "#"}}, "odd": {"$ref": "#/$defs/a%20b~1c"}},
            "$defs": {"a b/c": {"type": "string"}},
        }
    )
    assert moved["properties"]["kids"]["items"]["$ref"] == PREFIX
    assert moved["properties"]["odd"]["$ref"] == PREFIX + "/$defs/a%20b~1c"
    schema = route_schema(
        [Tool("t", "", {"properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": False})]
    )
    assert accepts(schema, {"tool": "t", "arguments": {"kids": [{"kids": []}]}})
    assert not accepts(schema, {"tool": "t", "arguments": {"kids": [{"kid": []}]}})


def test_only_references_are_rewritten() -> None:
    parameters = {
        "properties": {"$ref": {"type": "string"}, "data": {"const": {"$ref": "#/x"}, "enum": [{"$ref": "#/x"}], "default": {"$ref": "#"}}},
        "required": ["$ref"],
        "examples": [{"$ref": "#/y"}],
        "x-extension": {"$ref": "#/z"},
        "dependentSchemas": {"$ref": {"$ref": "#/$defs/D"}},
        "$defs": {"D": {}},
    }
    moved = arguments_of(parameters)
    wanted: dict[str, Any] = {"type": "object", **copy.deepcopy(parameters)}
    wanted["dependentSchemas"]["$ref"]["$ref"] = PREFIX + "/$defs/D"
    assert moved == wanted


def test_a_container_no_dialect_knows_is_followed_where_it_is_referred_to() -> None:
    moved = arguments_of(
        {
            "properties": {"a": {"$ref": "#/components/schemas/A"}},
            "components": {"schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {}, "data": {"$ref": "#/q"}}},
        }
    )
    assert moved["components"]["schemas"]["A"]["$ref"] == PREFIX + "/components/schemas/B"
    assert moved["components"]["schemas"]["data"] == {"$ref": "#/q"}


def test_anchors_become_pointers() -> None:
    parameters = {
        "properties": {"a": {"$ref": "#node"}, "b": {"$dynamicRef": "#twig"}, "c": {"$ref": "#absent"}, "d": {"$dynamicRef": "#/$defs/N"}},
        "$defs": {"N": {"$anchor": "node", "type": "string"}, "a b": {"$dynamicAnchor": "twig", "type": "integer"}},
    }
    moved = arguments_of(parameters)
    assert moved["properties"] == {
        "a": {"$ref": PREFIX + "/$defs/N"},
        "b": {"$ref": PREFIX + "/$defs/a%20b"},
        "c": {"$ref": "#absent"},
        "d": {"$ref": PREFIX + "/$defs/N"},
    }
    assert moved["$defs"] == {"N": {"type": "string"}, "a b": {"type": "integer"}}, "anchors of two tools must not meet"
    schema = route_schema(
        [
            {"name": "x", "parameters": {"properties": {"a": {"$ref": "#node"}}, "$defs": {"N": {"$anchor": "node", "type": kind}}}}
            for kind in ("string",)
        ]
    )
    assert not accepts(schema, {"tool": "x", "arguments": {"a": 1}})


def test_draft_07_anchor_and_2019_recursion() -> None:
    moved = arguments_of(
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#n"}}, "definitions": {"N": {"$id": "#n"}}}
    )
    assert moved["properties"]["a"]["$ref"] == PREFIX + "/definitions/N"
    assert moved["$schema"] == "http://json-schema.org/draft-07/schema#", "another dialect stays visible"
    assert arguments_of({"properties": {"a": {"$recursiveRef": "#"}}})["properties"]["a"] == {"$ref": PREFIX}


def test_schema_and_root_id_are_left_out() -> None:
    moved = arguments_of(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/t",
            "properties": {
                "a": {"$ref": "#/$defs/A"},
                "b": {"$ref": "https://example.com/t#/$defs/A"},
                "c": {"$ref": "https://example.com/t"},
            },
            "$defs": {"A": {}},
        }
    )
    assert "$schema" not in moved and "$id" not in moved
    assert [moved["properties"][key]["$ref"] for key in "abc"] == [PREFIX + "/$defs/A", PREFIX + "/$defs/A", PREFIX]


def test_a_part_with_its_own_id_is_left_alone() -> None:
    inner = {"$id": "https://example.com/inner", "properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": "integer"}}}
    parameters = {"properties": {"a": inner, "b": {"$ref": "#/$defs/B"}}, "$defs": {"B": {"type": "string"}}}
    moved = arguments_of(parameters)
    assert moved["properties"]["a"] == inner
    assert moved["properties"]["b"]["$ref"] == PREFIX + "/$defs/B"
    schema = route_schema([Tool("t", "", parameters)])
    assert accepts(schema, {"tool": "t", "arguments": {"a": {"x": 1}, "b": "s"}})
    assert not accepts(schema, {"tool": "t", "arguments": {"a": {"x": "1"}}})
    whole = {"$id": "https://example.com/root", **parameters}
    assert arguments_of(whole) == {"type": "object", **whole}, "addresses inside may depend on the root's"


def test_a_property_named_id_is_a_property() -> None:
    moved = arguments_of({"properties": {"$id": {"type": "string"}, "id": {"$ref": "#/$defs/I"}}, "$defs": {"I": {}}})
    assert moved["properties"]["id"]["$ref"] == PREFIX + "/$defs/I"
