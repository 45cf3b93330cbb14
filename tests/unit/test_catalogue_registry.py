"""The registry."""

from __future__ import annotations

import pytest

from toolroute.catalogue import Tool, ToolRegistry, normalize_tool_name
from toolroute.errors import CatalogueError

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}}


def ping(count: int = 1) -> int:
    """Ping."""
    return count


def pong() -> None:
    """Pong."""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a", "a"),
        (" a ", "a"),
        ("functions.a", "a"),
        (" functions.a\n", "a"),
        ("functions.functions.a", "functions.a"),
        ("a.functions.b", "a.functions.b"),
    ],
)
def test_names_are_normalised(name: str, wanted: str) -> None:
    assert normalize_tool_name(name) == wanted


def test_direct_and_decorated_registration() -> None:
    registry = ToolRegistry()
    assert registry.register(ping) is ping
    assert registry.register("explicit", ping, SCHEMA, description="Given.") is ping

    @registry.register
    def bare(x: str) -> None:
        """Bare."""

    @registry.register("named", parameters=SCHEMA)
    def other(count: int) -> None: ...

    @registry.register(description="Only a text.")
    def third() -> None: ...

    registry.register(Tool("ready", "R.", SCHEMA), pong)
    assert registry.names() == ("ping", "explicit", "bare", "named", "third", "ready")
    assert registry.get("explicit") == Tool("explicit", "Given.", SCHEMA)
    assert registry.get("explicit").function is ping
    assert registry.get("named").function is other
    assert registry.get("bare").parameters["required"] == ["x"]
    assert registry.get("third").description == "Only a text."
    assert registry.get("ready").function is pong and registry.get("ready").description == "R."
    assert registry.catalogue().names == registry.names()
    assert [spec["function"]["name"] for spec in registry.specs()] == list(registry.names())
    assert len(registry) == 6


def test_a_name_is_used_once_unless_replaced() -> None:
    registry = ToolRegistry()
    registry.register("a", ping)
    registry.register("b", pong)
    with pytest.raises(CatalogueError, match="'a': the name is already registered"):
        registry.register("functions.a", pong)
    registry.register("a", pong, replace=True)
    assert registry.get("a").function is pong
    assert registry.names() == ("a", "b"), "a replaced tool keeps its place"


def test_lookup() -> None:
    registry = ToolRegistry()
    registry.register(ping)
    assert registry.has("functions.ping") and " ping " in registry and 3 not in registry
    assert not registry.has("Ping")
    with pytest.raises(CatalogueError, match="unknown tool 'nope'; known: ping"):
        registry.get("nope")
    with pytest.raises(CatalogueError, match="known: none at all"):
        ToolRegistry().get("nope")


def test_two_schemas_are_refused() -> None:
    with pytest.raises(CatalogueError, match="both 'schema' and 'parameters'"):
        ToolRegistry().register("a", ping, SCHEMA, parameters=SCHEMA)
