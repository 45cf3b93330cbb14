"""A registry: tools with the functions that run them.

Theory. A catalogue is a value for one route; a registry is the place where a program collects what it can do, under names it looks up
later. It keeps registration order, which becomes catalogue order. Registering a name twice is a mistake unless ``replace=True`` says it
is not; a replaced tool keeps its place, so the order of a prompt does not change with it. Names are normalised only here, where people
and models write them: blanks around a name and a ``functions.`` prefix are removed. The parser never does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from ..errors import CatalogueError
from .callables import function_tool
from .catalogue import Catalogue, unknown_name
from .tool import Tool

Handler = Callable[..., Any]
F = TypeVar("F", bound=Handler)

_PREFIX = "functions."


def normalize_tool_name(name: str) -> str:
    """``name`` without blanks around it and without one ``functions.`` prefix."""
    return name.strip().removeprefix(_PREFIX).strip()


class ToolRegistry:
    """Tools by name, in the order they were registered."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    @overload
    def register(self, name: F, /) -> F: ...
    @overload
    def register(
        self, name: str | Tool, handler: F, schema: Mapping[str, Any] | None = None, *, description: str = "",
        parameters: Mapping[str, Any] | None = None, replace: bool = False,
    ) -> F: ...  # fmt: skip
    @overload
    def register(
        self, name: str | Tool | None = None, handler: None = None, schema: Mapping[str, Any] | None = None, *, description: str = "",
        parameters: Mapping[str, Any] | None = None, replace: bool = False,
    ) -> Callable[[F], F]: ...  # fmt: skip
    def register(
        self,
        name: Any = None,
        handler: Any = None,
        schema: Mapping[str, Any] | None = None,
        *,
        description: str = "",
        parameters: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Any:
        """Register a function, and return it: directly, or as a decorator with or without arguments.

            registry.register("ping", ping, {"type": "object", "properties": {}})
            registry.register(ping)                      # name, description and parameters from the function itself
            @registry.register("ping", description="…")  # what is not given comes from the function

        ``schema`` and ``parameters`` are the same thing (the object schema of the arguments); give one. Without either, it is read from
        the function. A ``Tool`` as ``name`` brings its own schema. Raises ``CatalogueError`` for a bad tool or a name in use.
        """
        if schema is not None and parameters is not None:
            raise CatalogueError("both 'schema' and 'parameters' are given", tool=name if isinstance(name, str) else None)
        given = schema if schema is not None else parameters
        if callable(name) and not isinstance(name, Tool):
            name, handler = None, name
        if handler is None:
            return lambda function: self._add(name, function, given, description, replace)
        return self._add(name, handler, given, description, replace)

    def _add(self, name: Any, handler: F, given: Mapping[str, Any] | None, description: str, replace: bool) -> F:
        if isinstance(name, Tool):
            tool = Tool(name.name, description or name.description, dict(given) if given is not None else name.parameters, handler)
        elif given is not None:
            own = getattr(handler, "__name__", None) if name is None else name
            tool = Tool(normalize_tool_name(own) if isinstance(own, str) else own, description, dict(given), handler)  # type: ignore[arg-type]
        else:
            tool = function_tool(handler, name=normalize_tool_name(name) if name is not None else None, description=description or None)
        if tool.name in self._tools and not replace:
            raise CatalogueError("the name is already registered; replace=True replaces it", tool=tool.name)
        self._tools[tool.name] = tool
        return handler

    def has(self, name: str) -> bool:
        """Whether a tool of that (normalised) name is registered."""
        return normalize_tool_name(name) in self._tools

    def get(self, name: str) -> Tool:
        """The tool of that (normalised) name. Raises ``CatalogueError`` naming at most 20 known names."""
        tool = self._tools.get(normalize_tool_name(name))
        if tool is None:
            raise CatalogueError(unknown_name(name, self._tools))
        return tool

    def names(self) -> tuple[str, ...]:
        """The names, in registration order."""
        return tuple(self._tools)

    def specs(self) -> list[dict[str, Any]]:
        """The tools in the chat-completions form, in registration order."""
        return [tool.to_openai() for tool in self._tools.values()]

    def catalogue(self) -> Catalogue:
        """What is registered now, as a catalogue."""
        return Catalogue.from_tools(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.has(name)

    def __len__(self) -> int:
        return len(self._tools)
