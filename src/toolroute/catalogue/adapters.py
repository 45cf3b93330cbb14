"""Any declaration of a tool that is in use, read as a ``Tool``.

Theory. The forms in use differ in two places only: where the name is, and what the schema's member is called.

    {"type": "function", "function": {"name", "description"?, "parameters"?}}     OpenAI chat, Ollama, LangChain, LlamaIndex
    {"type": "function", "name", "description"?, "parameters"?}                   OpenAI Responses
    {"name", "description"?, "parameters"?}                                       bare (BFCL and others)
    {"name", "description"?, "inputSchema"}                                       MCP, as JSON
    {"name", "description"?, "input_schema", "type": "custom"?}                   Anthropic
    an object with .name and .input_schema or .inputSchema                        MCP, as the SDK's objects
    a Python callable                                                             see ``callables``
    a Tool                                                                        itself

A declaration that fits none of them, or fits two, is refused with the reason: guessing would offer the model something nobody wrote.
Members that say nothing about what may be called (``strict``, ``annotations``, ``outputSchema``, ``title``) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..errors import CatalogueError
from .callables import function_tool
from .tool import Tool

_SCHEMA_MEMBERS = ("parameters", "inputSchema", "input_schema")


def to_tool(item: object, index: int | None = None) -> Tool:
    """``item`` as a ``Tool``.

    Raises ``CatalogueError`` with ``index`` (as given), ``tool`` (the name, where there is a usable one), ``pointer`` (inside the
    parameters, where that is where the fault is) and ``reason``.
    """
    try:
        return _read(item)
    except CatalogueError as error:
        raise CatalogueError(error.reason, index=index, tool=error.tool, pointer=error.pointer) from error.__cause__


def _read(item: object) -> Tool:
    if isinstance(item, Tool):
        return item
    if isinstance(item, Mapping):
        return _from_mapping(item)
    name = None if isinstance(item, type) else getattr(item, "name", None)
    if isinstance(name, str):
        for member in ("input_schema", "inputSchema"):
            schema = getattr(item, member, None)
            if isinstance(schema, Mapping):
                return Tool(name, getattr(item, "description", None) or "", cast("dict[str, Any]", schema))
    if callable(item):
        return function_tool(item)
    raise CatalogueError(f"a {type(item).__name__} is not a tool declaration")


def _from_mapping(item: Mapping[str, Any]) -> Tool:
    kind, name = item.get("type"), item.get("name")
    usable = name if isinstance(name, str) and name.strip() and len(name) <= 128 else None
    if "function" in item:
        return _from_wrapper(item, usable)
    if "type" in item and kind != "function" and not (kind == "custom" and "input_schema" in item):
        raise CatalogueError(f"the declaration is not of type 'function' but {_short(kind)}", tool=usable)
    return _from_members(item, usable)


def _from_wrapper(item: Mapping[str, Any], usable: str | None) -> Tool:
    inner = item["function"]
    if item.get("type") != "function":
        said = f"but {_short(item['type'])}" if "type" in item else "(it has no type)"
        raise CatalogueError(f"the declaration is not of type 'function' {said}", tool=usable)
    if not isinstance(inner, Mapping):
        raise CatalogueError(f"the member 'function' is not an object but {type(inner).__name__}", tool=usable)
    doubled = [key for key in ("name", "description", *_SCHEMA_MEMBERS) if key in item]
    if doubled:
        raise CatalogueError(f"ambiguous: {doubled[0]!r} stands beside 'function'", tool=usable)
    name = inner.get("name")
    return _from_members(inner, name if isinstance(name, str) and name.strip() else None)


def _from_members(item: Mapping[str, Any], usable: str | None) -> Tool:
    schemas = [key for key in _SCHEMA_MEMBERS if key in item]
    if len(schemas) > 1:
        raise CatalogueError(f"ambiguous: both {schemas[0]!r} and {schemas[1]!r} are given", tool=usable)
    description, parameters = item.get("description"), item[schemas[0]] if schemas else None
    try:
        return Tool(cast(str, item.get("name")), cast(str, description), cast("dict[str, Any]", parameters))  # checked by Tool
    except CatalogueError as error:
        raise CatalogueError(error.reason, tool=error.tool or usable, pointer=error.pointer) from None


def _short(value: object) -> str:
    """``repr`` cut to 64 characters."""
    text = repr(value)
    return text if len(text) <= 64 else text[:63] + "…"
