"""The tools as text: what a model reads before it chooses, and before it fills in.

Theory. A grammar is not shown to the model, so the prompt must say what may be called. Choosing needs little: a name, the shape of the
arguments and one sentence, a line per tool (``docs="signatures"``). Filling in needs the parameters' own descriptions, formats and bounds
(``docs="full"``, or ``tool_parameters_doc`` for the chosen tool only). ``docs="schemas"`` gives the JSON itself, as most templates do.

The text is a pure function of the catalogue, in catalogue order, so equal catalogues give equal bytes and a growing one keeps its
prefix. Descriptions are data: their white space is collapsed, so that none can begin a line of its own, and nothing in them is
interpreted (a caller that tokenises the text must not parse special tokens in it). Cost: linear in the catalogue, but for a definition
used many times, which is written out wherever it is used, at most ``MAX_DEPTH`` deep and never inside itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from ..catalogue import Tool
from ..errors import CatalogueError
from .schema import offered
from .terminal import Terminal, Terminals
from .typetext import as_list, constraints, members, one_line, required, resolved, type_text, word

Docs = Literal["signatures", "full", "schemas"]

MAX_DEPTH = 4
"""How many levels of members are documented."""
NO_TOOL = "no tool fits the request"
"""What ``none`` means, where the terminal does not say."""


def tool_signature(tool: Tool) -> str:
    """``- name(arg: type, optional?: type): description`` on one line, arguments as declared."""
    return _signature(tool.name, tool.parameters, tool.description)


def _signature(name: str, parameters: dict[str, Any] | None, description: str) -> str:
    inside = ""
    if parameters is not None:
        needed = required(parameters, parameters)
        declared = members(parameters, parameters).items()
        parts = [f"{word(key)}{'' if key in needed else '?'}: {type_text(schema, parameters)}" for key, schema in declared]
        inside = f"({', '.join(parts)})"
    said = one_line(description)
    return f"- {name}{inside}" + (f": {said}" if said else "")


def tool_parameters_doc(tool: Tool) -> str:
    """A line per parameter, ``- name (type, required, …): description``, members of objects indented below it."""
    lines = _member_lines(tool.parameters, tool.parameters, 0, ())
    if lines:
        return "\n".join(lines)
    closed = "properties" in tool.parameters or tool.parameters.get("additionalProperties") is False
    return "Takes no arguments." if closed else "Takes any arguments."


def tools_section(tools: Iterable[object], docs: Docs = "signatures", terminals: Terminals = ("none",)) -> str:
    """Everything a reply may choose, a line or more each: tools in order, terminals last, no trailing newline.

    Raises ``CatalogueError`` as ``route_schema`` does, and for a ``docs`` that is none of the three.
    """
    if docs not in ("signatures", "full", "schemas"):
        raise CatalogueError(f"docs is 'signatures', 'full' or 'schemas', not {docs!r}")
    catalogue, ends = offered(tools, terminals)
    lines: list[str] = []
    for tool in catalogue:
        if docs == "schemas":
            lines.append(json.dumps(tool.to_openai()["function"], ensure_ascii=False))
            continue
        lines.append(tool_signature(tool))
        if docs == "full":
            lines.extend("  " + line for line in _member_lines(tool.parameters, tool.parameters, 0, ()))
    lines.extend(_terminal_line(end) for end in ends)
    return "\n".join(lines)


def _terminal_line(end: Terminal) -> str:
    return _signature(end.name, end.parameters, end.description or (NO_TOOL if end.name == "none" else ""))


def _member_lines(schema: Any, root: dict[str, Any], depth: int, open_references: tuple[str, ...]) -> list[str]:
    """The lines of an object's members, ``depth`` levels in; ``open_references``: the definitions being written out."""
    lines: list[str] = []
    needed = required(schema, root)
    for key, member in members(schema, root).items():
        facts = [type_text(member, root), "required" if key in needed else "optional", *constraints(member, root)]
        said = _description(member, root)
        lines.append("  " * depth + f"- {word(key)} ({', '.join(facts)})" + (f": {said}" if said else ""))
        if depth + 1 < MAX_DEPTH:
            lines.extend(_inner_lines(member, root, depth + 1, open_references))
    return lines


def _inner_lines(schema: Any, root: dict[str, Any], depth: int, open_references: tuple[str, ...]) -> list[str]:
    """The members of the objects inside a member: its own, its items', its alternatives'."""
    if not isinstance(schema, dict):
        return []
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference in open_references:
            return []
        open_references = (*open_references, reference)
    if members(schema, root):
        return _member_lines(schema, root, depth, open_references)
    whole = resolved(schema, root)
    inner = [whole.get("items"), *as_list(whole.get("anyOf")), *as_list(whole.get("oneOf"))]
    return [line for part in inner for line in _inner_lines(part, root, depth, open_references)]


def _description(schema: Any, root: dict[str, Any]) -> str:
    """The description of a member, and of its items where they have one."""
    whole = resolved(schema, root)
    texts = [(whole, "{}"), (resolved(whole.get("items") or {}, root), "each: {}")]
    said = [form.format(one_line(part["description"])) for part, form in texts if isinstance(part.get("description"), str)]
    return "; ".join(text for text in said if text)
