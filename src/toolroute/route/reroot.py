"""A tool's parameters, moved to another place of a bigger document, with references that still resolve.

Theory. ``{"$ref": "#/$defs/When"}`` is an address from the root of its document. Copied verbatim under ``arguments`` it points at
nothing, or worse, at another tool's definition. So every reference that is relative to the parameters' own root gets the new place as a
prefix. Nothing is inlined or hoisted: each tool keeps its own ``$defs``, so equal names never meet.

A reference to an anchor (``#name``) becomes the pointer of the subschema that carries it, and the anchors themselves are left out of the
copy: two tools may use one name. A subschema with an ``$id`` is an address space of its own and is copied as it is. The parameters' own
root ``$id`` is left out, and references through it are treated as local ones, unless subschemas have ``$id`` too (their addresses may
depend on it). ``$schema`` is left out where it names the default dialect.
"""

from __future__ import annotations

from typing import Any

from ..catalogue.positions import (
    REFERENCES,
    Pointer,
    Position,
    anchors,
    id_keyword,
    opens_resource,
    parse_fragment,
    pointer_fragment,
    positions,
)

_ANCHORS = ("$anchor", "$dynamicAnchor", "$recursiveAnchor")
_DEFAULT_DIALECT = "json-schema.org/draft/2020-12/schema"


def rerooted(parameters: dict[str, Any], place: Pointer) -> dict[str, Any]:
    """A deep copy of ``parameters`` for the position ``place`` of another document. Never fails: a dangling reference stays one."""
    return _Move(parameters, place).copy(parameters, ())  # type: ignore[no-any-return]


class _Move:
    def __init__(self, root: dict[str, Any], place: Pointer) -> None:
        self.prefix = pointer_fragment(place)
        self.found = positions(root)
        self.anchors = anchors(self.found)
        self.keyword = id_keyword(root)
        nested = any(position.resource for position in self.found.values())
        own = opens_resource(root, self.keyword)
        self.verbatim = own and nested
        self.base = root[self.keyword].rstrip("#") if own else None

    def copy(self, value: Any, pointer: Pointer) -> Any:
        if isinstance(value, list):
            return [self.copy(item, (*pointer, str(index))) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        position = self.found.get(pointer)
        if position is not None and position.resource == () and not self.verbatim:
            return self._schema(position)
        return {key: self.copy(item, (*pointer, key)) for key, item in value.items()}

    def _schema(self, position: Position) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in position.schema.items():
            if self._left_out(key, item, position.pointer):
                continue
            if key in REFERENCES and isinstance(item, str):
                moved = self._reference(item)
                out["$ref" if moved != item and "$ref" not in position.schema else key] = moved
            else:
                out[key] = self.copy(item, (*position.pointer, key))
        return out

    def _left_out(self, key: str, item: Any, pointer: Pointer) -> bool:
        if key in _ANCHORS:
            return True
        if key == self.keyword and isinstance(item, str):
            return pointer == () or item.startswith("#")
        return key == "$schema" and pointer == () and _DEFAULT_DIALECT in str(item)

    def _reference(self, reference: str) -> str:
        local = reference
        if self.base is not None and (reference == self.base or reference.startswith(self.base + "#")):
            local = "#" + reference[len(self.base) + 1 :]
        if parse_fragment(local) is not None:
            return self.prefix + local[1:]
        target = self.anchors.get(((), local[1:])) if local.startswith("#") else None
        return reference if target is None else self.prefix + pointer_fragment(target)[1:]
