"""The route schema: one closed alternative per tool, terminals last.

Theory. A reply is one of a closed set of actions, so the schema is an ``anyOf`` of closed objects that differ in the constant ``tool``.
``anyOf``, never ``oneOf``: the constants already exclude each other, and ``anyOf`` is what every structured-output implementation takes.
``tool`` comes first in ``properties`` and in ``required``, because implementations write members in one order or the other, and the
action must be named before its first argument. Alternatives are in catalogue order, so equal catalogues give equal schemas and equal
prompts.

Parameters are detached copies whose references are re-rooted (see ``reroot``). Cost: linear in the size of the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..catalogue import Catalogue
from ..errors import CatalogueError
from .reroot import rerooted
from .terminal import Terminal, Terminals, to_terminals


def offered(tools: Iterable[object], terminals: Terminals = ("none",)) -> tuple[Catalogue, tuple[Terminal, ...]]:
    """The catalogue and the terminals of a route.

    Raises ``CatalogueError`` for a bad tool, for a tool with a terminal's name (it would be indistinguishable from the hand-off; with
    ``on_error="drop"`` that tool is left out and reported), and where there is nothing at all to choose.
    """
    catalogue, ends = Catalogue.from_tools(tools, getattr(tools, "on_error", "raise")), to_terminals(terminals)
    reserved = {end.name for end in ends}
    faults = [
        CatalogueError("the name is reserved for a terminal", index=index, tool=tool.name)
        for index, tool in enumerate(catalogue)
        if tool.name in reserved
    ]
    if faults:
        if catalogue.on_error != "drop":
            raise faults[0]
        kept = tuple(tool for tool in catalogue if tool.name not in reserved)
        catalogue = Catalogue(kept, catalogue.on_error, (*catalogue.dropped, *faults))
    if not len(catalogue) and not ends:
        raise CatalogueError("there is no tool and no terminal to choose from")
    return catalogue, ends


def route_schema(tools: Iterable[object], terminals: Terminals = ("none",)) -> dict[str, Any]:
    """One JSON schema for the next action: a catalogue (or any tool declarations) and terminals to a fresh dict.

    Raises ``CatalogueError`` with index, name and reason, as ``offered`` does.
    """
    catalogue, ends = offered(tools, terminals)
    alternatives = [_alternative(index, tool.name, tool.description, tool.parameters) for index, tool in enumerate(catalogue)]
    for index, end in enumerate(ends, len(alternatives)):
        alternatives.append(_alternative(index, end.name, end.description, end.parameters))
    return {"type": "object", "anyOf": alternatives}


def _alternative(index: int, name: str, description: str, parameters: dict[str, Any] | None) -> dict[str, Any]:
    properties: dict[str, Any] = {"tool": {"const": name}}
    if parameters is not None:
        properties["arguments"] = rerooted(parameters, ("anyOf", str(index), "properties", "arguments"))
    alternative: dict[str, Any] = {"type": "object"}
    if description:
        alternative["description"] = description
    return {**alternative, "properties": properties, "required": list(properties), "additionalProperties": False}


def route_choices(tools: Iterable[object], terminals: Terminals = ("none",)) -> tuple[str, ...]:
    """Every name a reply may carry: the tools in order, then the terminals. Raises as ``offered`` does."""
    catalogue, ends = offered(tools, terminals)
    return (*catalogue.names, *(end.name for end in ends))


def route_tool_names(tools: Iterable[object], terminals: Terminals = ("none",)) -> tuple[str, ...]:
    """The names of the tools in order, without terminals; what ``parse_route`` is given. Raises as ``offered`` does."""
    return offered(tools, terminals)[0].names
