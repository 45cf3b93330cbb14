"""Catalogue text: JSON as people store it, to a list of declarations.

Theory. A catalogue file is written by hand or by another program, so the reader is generous about what carries no meaning (a byte-order
mark, line ends, the wrapper around the list) and strict about what would change it unseen: a repeated member (Python keeps the last one)
and NaN or Infinity (which no JSON reader of a model server accepts) are refused. An error says where: file, line and column for text
that is not JSON, the members found for a top level that holds no tools.
"""

from __future__ import annotations

import json
from typing import Any

from ..errors import CatalogueError

_DECLARATION = ("function", "name", "type")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise CatalogueError(f"the member {name[:64]!r} occurs twice in one object")
            seen.add(name)
    return members


def _refuse_constant(literal: str) -> Any:
    raise CatalogueError(f"{literal} is not JSON")


def read_tools(text: str, source: str = "<text>") -> list[Any]:
    """The declarations in ``text``, unread. Raises ``CatalogueError`` beginning with ``source``."""
    try:
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise CatalogueError(f"{source}: line {error.lineno} column {error.colno}: {error.msg}") from error
    except CatalogueError as error:
        raise CatalogueError(f"{source}: {error.reason}") from None
    except RecursionError as error:
        raise CatalogueError(f"{source}: nested too deeply") from error
    except ValueError as error:  # an integer past Python's digit limit
        raise CatalogueError(f"{source}: {error}") from error
    return _tools(value, source)


def _tools(value: Any, source: str) -> list[Any]:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise CatalogueError(f"{source}: the top level is {_kind(value)}, not a list of tools")
    if isinstance(value.get("tools"), list):
        return list(value["tools"])
    result = value.get("result")
    if isinstance(result, dict) and isinstance(result.get("tools"), list):
        return list(result["tools"])
    if "tools" not in value and "result" not in value and any(key in value for key in _DECLARATION):
        return [value]
    members = ", ".join(repr(key[:64]) for key in list(value)[:8]) or "no members"
    raise CatalogueError(f"{source}: the top level is an object with {members}, and neither 'tools' nor 'result' holds a list")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {str: "a string", bool: "a boolean"}.get(type(value), "a number")
