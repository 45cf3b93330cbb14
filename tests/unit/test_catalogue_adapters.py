"""Every form a declaration arrives in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from toolroute.catalogue import Tool, to_tool
from toolroute.errors import CatalogueError

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
WANTED = Tool("find", "Find it.", SCHEMA)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function", "function": {"name": "find", "description": "Find it.", "parameters": SCHEMA}},
        {"type": "function", "function": {"name": "find", "description": "Find it.", "parameters": SCHEMA, "strict": True}},
        {"type": "function", "name": "find", "description": "Find it.", "parameters": SCHEMA, "strict": True},
        {"name": "find", "description": "Find it.", "parameters": SCHEMA},
        {"name": "find", "description": "Find it.", "inputSchema": SCHEMA, "outputSchema": {}, "annotations": {}, "title": "Find"},
        {"name": "find", "description": "Find it.", "input_schema": SCHEMA},
        {"type": "custom", "name": "find", "description": "Find it.", "input_schema": SCHEMA},
        SimpleNamespace(name="find", description="Find it.", inputSchema=SCHEMA),
        SimpleNamespace(name="find", description="Find it.", input_schema=SCHEMA),
        WANTED,
    ],
)
def test_every_form_is_the_same_tool(item: object) -> None:
    assert to_tool(item) == WANTED


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function", "function": {"name": "ping"}},
        {"type": "function", "function": {"name": "ping", "description": None, "parameters": None}},
        {"name": "ping"},
        SimpleNamespace(name="ping", description=None, input_schema={}),
    ],
)
def test_description_and_parameters_are_optional(item: object) -> None:
    assert to_tool(item) == Tool("ping")


def test_a_function_is_read() -> None:
    def ping(count: int) -> None:
        """Ping."""

    tool = to_tool(ping)
    assert (tool.name, tool.description, tool.function) == ("ping", "Ping.", ping)


@pytest.mark.parametrize(
    ("item", "tool", "reason"),
    [
        ({"type": "function"}, None, "it has no name"),
        ({"type": "function", "function": {}}, None, "it has no name"),
        ({"type": "function", "function": {"name": " "}}, None, "the name is blank"),
        ({"type": "function", "function": {"name": 3}}, None, "not a string but int"),
        ({"type": "function", "function": "find"}, None, "not an object but str"),
        ({"function": {"name": "a"}}, None, "not of type 'function' .it has no type."),
        ({"type": "tool", "function": {"name": "a"}}, None, "not of type 'function' but 'tool'"),
        ({"type": "object", "properties": {}}, None, "not of type 'function' but 'object'"),
        ({"type": "web_search_20250305", "name": "web_search"}, "web_search", "not of type 'function' but 'web_search"),
        ({"type": "custom", "name": "grammar"}, "grammar", "not of type 'function' but 'custom'"),
        ({"type": "function", "name": "a", "function": {"name": "b"}}, "a", "ambiguous"),
        ({"name": "a", "parameters": {}, "input_schema": {}}, "a", "ambiguous: both 'parameters' and 'input_schema'"),
        ({"name": "a", "parameters": []}, "a", "parameters are not an object schema"),
        ({"name": "a", "parameters": {"type": "string"}}, "a", 'type is "string"'),
        ({"name": "a", "description": 5}, "a", "the description is not a string"),
        ("find", None, "a str is not a tool declaration"),
        (None, None, "a NoneType is not a tool declaration"),
        ([], None, "a list is not a tool declaration"),
    ],
)
def test_what_is_refused_says_where_and_why(item: object, tool: str | None, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason) as caught:
        to_tool(item, 7)
    assert (caught.value.index, caught.value.tool) == (7, tool)
    assert str(caught.value).startswith("tool 7")


def test_the_pointer_of_a_bad_value_is_kept() -> None:
    item: dict[str, Any] = {"name": "a", "parameters": {"properties": {"x": {"minimum": float("inf")}}}}
    with pytest.raises(CatalogueError) as caught:
        to_tool(item, 0)
    assert caught.value.pointer == "/properties/x/minimum"
