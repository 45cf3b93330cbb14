"""One JSON Schema document: where a local reference points.

References are resolved at compile time and never leave the document: there is no network, and a dangling reference is an error of the
schema, not of the first reply that happens to use it. A subschema with an identifier of its own opens a resource, and what stands inside it
is relative to that (``catalogue.positions``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from ..catalogue.positions import Pointer, Position, anchors, id_keyword, pointer_text, positions
from ..errors import SchemaError, UnsupportedSchema
from ..route.dialects import DEFAULT_DIALECT, dialect_name
from .keywords import escape, unescape

_DEFAULT = dialect_name(DEFAULT_DIALECT)
_DRAFTS = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
}
DERIVED = "\0"
"""Ends the part of a pointer that is in the document; what follows tells how a schema was derived from the one there."""


class Part(NamedTuple):
    """A schema at its place. ``skip``: keywords that have been dealt with already; ``under``: the places with an ``unevaluated…`` keyword
    that this part is applied in place for."""

    pointer: str
    schema: Any
    skip: frozenset[str] = frozenset()
    under: frozenset[str] = frozenset()

    def at(self, *tokens: str | int) -> Part:
        """The part below, by member names and array indexes."""
        pointer, schema = self.pointer, self.schema
        for token in tokens:
            schema = schema[token]
            pointer = f"{pointer}/{escape(token) if token.__class__ is str else token}"
        return Part(pointer, schema)

    @property
    def place(self) -> str:
        """The pointer into the document."""
        return self.pointer.partition(DERIVED)[0]


class Document:
    """The root schema and what its references mean. ``dialect``: as ``route.dialects`` names it; ``draft``: 4, 6, 7, 2019 or 2020."""

    def __init__(self, root: Any) -> None:
        self.root = root
        named = isinstance(root, dict) and "$schema" in root
        self.dialect = dialect_name(root["$schema"]) if named else _DEFAULT
        self.draft = _DRAFTS[self.dialect]

    @cached_property
    def digest(self) -> str:
        """A hash of the document's content, member order included (it is the order of generation)."""
        return hashlib.sha256(json.dumps(self.root).encode()).hexdigest()

    @cached_property
    def positions(self) -> dict[Pointer, Position]:
        """Every subschema that is an object."""
        return positions(self.root) if isinstance(self.root, dict) else {}

    @cached_property
    def _resources(self) -> dict[str, Pointer]:
        """The resources by their absolute identifiers; the root is also ``""``."""
        keyword = id_keyword(self.root)
        found: dict[str, Pointer] = {}
        uris: dict[Pointer, str] = {}
        for pointer, position in self.positions.items():
            if position.resource == pointer:
                own = position.schema.get(keyword)
                parent = next((uris[pointer[:n]] for n in range(len(pointer) - 1, -1, -1) if pointer[:n] in uris), "")
                uris[pointer] = urljoin(parent, own if isinstance(own, str) else "").partition("#")[0]
                found.setdefault(uris[pointer], pointer)
        self._uris = uris
        return found

    @cached_property
    def _anchors(self) -> dict[tuple[Pointer, str], Pointer]:
        return anchors(self.positions)

    @cached_property
    def _by_text(self) -> dict[str, Position]:
        return {pointer_text(pointer): position for pointer, position in self.positions.items()}

    def below(self, pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The subschemas (objects) at and below a place."""
        for where, position in self._by_text.items():
            if where == pointer or where.startswith(pointer + "/"):
                yield where, position.schema

    def _resource(self, pointer: str) -> Pointer:
        """The resource that a place belongs to."""
        while pointer and pointer not in self._by_text:
            pointer = pointer.rpartition("/")[0]
        return self._by_text[pointer].resource if pointer in self._by_text else ()

    def resolve(self, reference: str, place: str, keyword: str = "$ref") -> Part:
        """The part that ``reference``, found at ``place``, names.

        Raises ``SchemaError`` where there is none and ``UnsupportedSchema`` for one that leaves the document.
        """
        where = f"{place}/{keyword}"
        resources = self._resources
        here = self._resource(place)
        uri, _, fragment = urljoin(self._uris.get(here, ""), reference).partition("#")
        if reference.startswith("#"):
            resource, fragment = here, reference[1:]
        elif uri in resources:
            resource = resources[uri]
        else:
            raise UnsupportedSchema(f"{keyword} {reference!r} leaves the schema's own document", pointer=where, keyword=keyword)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            if (resource, fragment) not in self._anchors:
                raise SchemaError(f"{keyword} {reference!r} names no $anchor", pointer=where, keyword=keyword)
            return self._follow(pointer_text(self._anchors[resource, fragment]), reference, where, keyword)
        return self._follow(pointer_text(resource) + fragment, reference, where, keyword)

    def _follow(self, pointer: str, reference: str, where: str, keyword: str) -> Part:
        target: Any = self.root
        canonical = ""
        for token in pointer.split("/")[1:]:
            name = unescape(token)
            if isinstance(target, dict) and name in target:
                target, canonical = target[name], f"{canonical}/{escape(name)}"
            elif isinstance(target, list) and re.fullmatch(r"0|[1-9][0-9]*", name) and int(name) < len(target):
                target, canonical = target[int(name)], f"{canonical}/{name}"
            else:
                raise SchemaError(f"{keyword} {reference!r} points at nothing", pointer=where, keyword=keyword)
        if not isinstance(target, dict | bool):
            raise SchemaError(f"{keyword} {reference!r} does not point at a schema", pointer=where, keyword=keyword)
        return Part(canonical, target)

    def resolve_dynamic(self, part: Part, keyword: str) -> Part | None:
        """The target of ``$dynamicRef`` or ``$recursiveRef``; None where it depends on how the place was reached."""
        reference = part.schema[keyword]
        target = self.resolve(reference, part.place, keyword)
        if keyword == "$recursiveRef":
            outer = [p for p in self.positions.values() if p.schema.get("$recursiveAnchor") is True]
            static = not (isinstance(target.schema, dict) and target.schema.get("$recursiveAnchor") is True) or len(outer) == 1
            return target if static else None
        name = reference.partition("#")[2]
        dynamic = isinstance(target.schema, dict) and target.schema.get("$dynamicAnchor") == name and not name.startswith("/")
        same = [p for p in self.positions.values() if p.schema.get("$dynamicAnchor") == name]
        return target if not dynamic or len(same) == 1 else None
