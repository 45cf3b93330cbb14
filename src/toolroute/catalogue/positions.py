"""Where the subschemas of a JSON Schema are.

Theory. A keyword has a meaning only where a schema is expected: ``$ref`` below ``properties`` is a member's name, below ``enum`` it is
data. So a schema is never searched for keywords as plain text; it is walked along the keywords that hold schemas (one, a list, or a map
of them), over all dialects at once. Containers that no dialect knows (``components``, say) are entered only where a local reference
points into them: what is referred to is a schema, the rest of such a container is data.

A subschema with an ``$id`` opens a *resource*: references inside it are relative to that resource, so each position says which one it
belongs to. The walk is iterative and visits every position once; cost is linear in the schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

Pointer = tuple[str, ...]
"""A JSON Pointer as its decoded tokens; ``()`` is the root."""

_ONE = frozenset(
    [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_LIST = frozenset(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
_MAP = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"])
_INDEX = re.compile("0|[1-9][0-9]{0,8}")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class Position:
    """One subschema: its pointer, the schema itself, and the pointer of the resource (nearest ``$id``, or the root) it belongs to."""

    pointer: Pointer
    schema: dict[str, Any]
    resource: Pointer


def pointer_text(pointer: Pointer) -> str:
    """The pointer as RFC 6901 writes it; ``""`` for the root."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in pointer)


def pointer_fragment(pointer: Pointer) -> str:
    """The pointer as a URI fragment, with its ``#``."""
    return "#" + quote(pointer_text(pointer), safe="/~!$&'()*+,;=:@-._")


def parse_fragment(reference: str) -> Pointer | None:
    """The tokens of ``#`` or ``#/a/b``; None for any other reference (an anchor, another document)."""
    if reference == "#":
        return ()
    if not reference.startswith("#/"):
        return None
    tokens = unquote(reference[2:]).split("/")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)


def follow(root: Any, pointer: Pointer) -> Any:
    """The value at ``pointer``; None where there is nothing."""
    value = root
    for token in pointer:
        if isinstance(value, dict):
            value = value.get(token)
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def id_keyword(root: dict[str, Any]) -> str:
    """``id`` in draft-04, ``$id`` in every later dialect."""
    return "id" if "draft-04" in str(root.get("$schema", "")) else "$id"


def opens_resource(schema: dict[str, Any], keyword: str) -> bool:
    """Whether the schema carries an identifier of its own (a plain ``#name`` is an anchor of the older drafts, not an identifier)."""
    value = schema.get(keyword)
    return isinstance(value, str) and not value.startswith("#")


def _children(schema: dict[str, Any]) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """The direct subschemas that are objects, with their pointers relative to ``schema``."""
    for keyword, value in schema.items():
        if keyword in _ONE and isinstance(value, dict):
            yield (keyword,), value
        elif keyword in _LIST and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    yield (keyword, str(index)), item
        elif keyword in _MAP and isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, dict):
                    yield (keyword, name), item


def positions(root: dict[str, Any]) -> dict[Pointer, Position]:
    """Every subschema of ``root`` by pointer, a parent before its children, the root (always its own resource) first."""
    keyword = id_keyword(root)
    alone = any(draft in str(root.get("$schema", "")) for draft in ("draft-04", "draft-06", "draft-07"))  # there, $ref stands alone
    found: dict[Pointer, Position] = {}
    queue: list[tuple[Pointer, dict[str, Any], Pointer]] = [((), root, ())]
    for pointer, schema, enclosing in queue:  # the queue grows while it is read
        if pointer in found:
            continue
        own = bool(pointer) and opens_resource(schema, keyword) and not (alone and "$ref" in schema)
        resource = pointer if own else enclosing
        found[pointer] = Position(pointer, schema, resource)
        queue.extend((pointer + step, child, resource) for step, child in _children(schema))
        for name in REFERENCES:
            tokens = parse_fragment(schema[name]) if isinstance(schema.get(name), str) else None
            if tokens is not None:
                target = follow(root, resource + tokens)
                if isinstance(target, dict):
                    queue.append((resource + tokens, target, resource))
    return found


def anchors(found: dict[Pointer, Position]) -> dict[tuple[Pointer, str], Pointer]:
    """(resource, anchor name) to the pointer that carries it: ``$anchor``, ``$dynamicAnchor`` and the ``#name`` ids of old drafts."""
    table: dict[tuple[Pointer, str], Pointer] = {}
    for pointer, position in found.items():
        for keyword in ("$anchor", "$dynamicAnchor", "$id", "id"):
            value = position.schema.get(keyword)
            if not isinstance(value, str) or (keyword in ("$id", "id") and not value.startswith("#")):
                continue
            table.setdefault((position.resource, value.lstrip("#")), pointer)
    return table
