"""A schema prepared for ``jsonschema``: patterns in Python's syntax, one dialect, references checked.

Theory. ``jsonschema`` hands every pattern to ``re.search``, in three keywords and in the bookkeeping of a fourth. Rather than replace
those, the patterns are translated once, in a private copy of the schema; property patterns that become equal are kept apart, and
references that lead through a translated property pattern are moved along. The copy carries no ``$schema``: the dialect is chosen, and
``jsonschema`` would switch classes at every ``$schema`` it meets.

Everything that could fail later fails here, with the pointer: a dangling or remote reference (nothing is ever fetched), a pattern that
is not ECMA-262, a part in another dialect.
"""

from __future__ import annotations

from typing import Any

from ..catalogue.positions import (
    REFERENCES,
    Pointer,
    Position,
    parse_fragment,
    pointer_fragment,
    pointer_text,
)
from ..errors import SchemaError, UnsupportedSchema
from .dialects import Dialect, known_dialect, registry
from .ecma import translate

Positions = dict[Pointer, Position]


def check_references(root: dict[str, Any], found: Positions, dialect: Dialect) -> None:
    """Resolve every reference of every subschema within the document and the metaschemas.

    Raises ``SchemaError`` with pointer and keyword for the first that does not resolve; ``UnsupportedSchema`` for a part that declares
    another dialect.
    """
    import referencing.exceptions

    create = dialect.specification.create_resource
    resolvers: dict[Pointer, Any] = {(): registry().resolver_with_root(create(root))}
    for pointer, position in found.items():
        here = pointer_text(pointer)
        if pointer and "$schema" in position.schema and known_dialect(position.schema["$schema"]) != dialect.name:
            raise UnsupportedSchema("a part in another dialect", pointer=f"{here}/$schema", keyword="$schema")
        if position.resource not in resolvers:
            enclosing = next(pointer[:length] for length in range(len(pointer) - 1, -1, -1) if pointer[:length] in resolvers)
            resolvers[position.resource] = resolvers[enclosing].in_subresource(create(position.schema))
        for keyword in REFERENCES:
            if keyword not in position.schema:
                continue
            reference = position.schema[keyword]
            try:
                if not isinstance(reference, str):
                    raise SchemaError("the reference is not a string", pointer=f"{here}/{keyword}", keyword=keyword)
                resolvers[position.resource].lookup(reference)
            except (referencing.exceptions.Unresolvable, ValueError) as error:
                known = reference.startswith("#")
                why = "does not resolve" if known else "does not resolve here, and nothing is fetched"
                reason = f"the reference {reference!r:.128} {why}"
                raise SchemaError(reason, pointer=f"{here}/{keyword}", keyword=keyword) from error


class PythonPatterns:
    """A copy of a schema with Python patterns: ``schema``, and ``originals`` from the translated text back to the author's.

    Raises ``SchemaError`` or ``UnsupportedSchema`` with pointer and keyword for the first pattern that does not translate.
    """

    def __init__(self, root: dict[str, Any], found: Positions) -> None:
        self.found = found
        self.originals: dict[str, str] = {}
        self.renamed: dict[Pointer, str] = {}  # the pointer of a property pattern to its translation
        for pointer, position in found.items():
            self._property_patterns(pointer, position.schema)
        self.schema: dict[str, Any] = self._copy(root, ())

    def _translate(self, pattern: str, pointer: Pointer, keyword: str) -> str:
        try:
            text = translate(pattern)
        except SchemaError as error:
            raise type(error)(error.reason, pointer=pointer_text(pointer), keyword=keyword) from error
        self.originals.setdefault(text, pattern)
        return text

    def _property_patterns(self, pointer: Pointer, schema: dict[str, Any]) -> None:
        patterns = schema.get("patternProperties")
        taken: set[str] = set()
        for pattern in patterns if isinstance(patterns, dict) else ():
            place = (*pointer, "patternProperties", pattern)
            text = self._translate(pattern, place, "patternProperties")
            while text in taken:
                text += "(?:)"
            taken.add(text)
            self.renamed[place] = text

    def _copy(self, value: Any, pointer: Pointer) -> Any:
        if isinstance(value, list):
            return [self._copy(item, (*pointer, str(index))) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        position = self.found.get(pointer)
        copy: dict[str, Any] = {}
        for key, item in value.items():
            name: str = key
            copy[self.renamed.get((*pointer, name), name)] = self._copy(item, (*pointer, key))
        if position is not None:
            self._finish(copy, position)
        return copy

    def _finish(self, copy: dict[str, Any], position: Position) -> None:
        copy.pop("$schema", None)
        if isinstance(copy.get("pattern"), str):
            copy["pattern"] = self._translate(copy["pattern"], (*position.pointer, "pattern"), "pattern")
        for keyword in REFERENCES:
            tokens = parse_fragment(copy[keyword]) if isinstance(copy.get(keyword), str) else None
            if tokens is not None:
                base = position.resource
                moved = tuple(self.renamed.get((*base, *tokens[: at + 1]), token) for at, token in enumerate(tokens))
                copy[keyword] = copy[keyword] if moved == tokens else pointer_fragment(moved)
