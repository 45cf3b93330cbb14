"""One JSON Schema document: where a local reference points.

References are resolved at compile time and never leave the document: there is no network, and a dangling reference is an error of the
schema, not of the first reply that happens to use it.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NamedTuple
from urllib.parse import unquote

from ..errors import SchemaError, UnsupportedSchema
from ..route.dialects import DEFAULT_DIALECT, dialect_name
from .keywords import escape, unescape

_NOT_SCHEMAS = ("enum", "const", "default", "examples")


_DEFAULT = dialect_name(DEFAULT_DIALECT)
_DRAFTS = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
}


class Part(NamedTuple):
    """A schema at its place. ``skip``: keywords that have been dealt with already."""

    pointer: str
    schema: Any
    skip: frozenset[str] = frozenset()

    def at(self, *tokens: str | int) -> Part:
        """The part below, by member names and array indexes."""
        pointer, schema = self.pointer, self.schema
        for token in tokens:
            schema = schema[token]
            pointer = f"{pointer}/{escape(token) if token.__class__ is str else token}"
        return Part(pointer, schema)


class Document:
    """The root schema and what its references mean. ``dialect``: as ``route.dialects`` names it; ``draft``: 4, 6, 7, 2019 or 2020."""

    def __init__(self, root: Any) -> None:
        self.root = root
        named = isinstance(root, dict) and "$schema" in root
        self.dialect = dialect_name(root["$schema"]) if named else _DEFAULT
        self.draft = _DRAFTS[self.dialect]
        self._scanned: tuple[dict[str, str], str | None] | None = None
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        """A hash of the document's content, member order included (it is the order of generation)."""
        if self._digest is None:
            self._digest = hashlib.sha256(json.dumps(self.root).encode()).hexdigest()
        return self._digest

    def resolve(self, reference: str, pointer: str) -> Part:
        """The part that ``reference``, found at ``pointer``, names.

        Raises ``SchemaError`` where there is none and ``UnsupportedSchema`` for one that leaves the document.
        """
        where = f"{pointer}/$ref"
        if not reference.startswith("#"):
            base = self.root.get("$id", self.root.get("id")) if isinstance(self.root, dict) else None
            if not isinstance(base, str) or reference.split("#")[0] != base.split("#")[0]:
                raise UnsupportedSchema(f"$ref {reference!r} leaves the schema's own document", pointer=where, keyword="$ref")
            reference = "#" + reference.partition("#")[2]
        anchors, nested = self._scan()
        if nested is not None:
            raise UnsupportedSchema(f"$ref beside a $id below the root ({nested})", pointer=where, keyword="$ref")
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            if fragment not in anchors:
                raise SchemaError(f"$ref {reference!r} names no $anchor", pointer=where, keyword="$ref")
            fragment = anchors[fragment]
        target: Any = self.root
        canonical = ""
        for token in fragment.split("/")[1:]:
            name = unescape(token)
            if isinstance(target, dict) and name in target:
                target, canonical = target[name], f"{canonical}/{escape(name)}"
            elif isinstance(target, list) and re.fullmatch(r"0|[1-9][0-9]*", name) and int(name) < len(target):
                target, canonical = target[int(name)], f"{canonical}/{name}"
            else:
                raise SchemaError(f"$ref {reference!r} points at nothing", pointer=where, keyword="$ref")
        if not isinstance(target, dict | bool):
            raise SchemaError(f"$ref {reference!r} does not point at a schema", pointer=where, keyword="$ref")
        return Part(canonical, target)

    def _scan(self) -> tuple[dict[str, str], str | None]:
        """The document's anchors by name, and the place of a ``$id`` below the root (None: there is none)."""
        if self._scanned is None:
            anchors: dict[str, str] = {}
            nested: str | None = None
            stack: list[tuple[str, Any, bool]] = [("", self.root, False)]
            while stack:
                pointer, here, is_map = stack.pop()
                if isinstance(here, list):
                    stack.extend((f"{pointer}/{i}", item, False) for i, item in enumerate(here))
                elif isinstance(here, dict):
                    if not is_map:
                        for keyword in ("$anchor", "$dynamicAnchor"):
                            if isinstance(name := here.get(keyword), str):
                                anchors[name] = pointer
                        identity = here.get("id" if self.draft == 4 else "$id")
                        if isinstance(identity, str) and identity.startswith("#"):
                            anchors[identity[1:]] = pointer
                        elif isinstance(identity, str) and pointer:
                            nested = pointer
                    for name, item in here.items():
                        if is_map or name not in _NOT_SCHEMAS:
                            maps = not is_map and name in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
                            stack.append((f"{pointer}/{escape(name)}", item, maps))
            self._scanned = (anchors, nested)
        return self._scanned
