"""JSON Schema → expression.

Theory. A place in a document is lowered as a conjunction of parts (``conjunction``). Where a keyword offers alternatives, the node is the
choice among its branches, each lowered as a conjunction of its own; where none does, all keywords of all parts are read together, one
function per JSON type (``leaves``, ``arrays``, ``objects``), so siblings of ``$ref``, ``allOf`` and ``anyOf`` beside ``properties`` need
no case of their own. Listed values are judged whole, by ``jsonschema``, against everything that is said beside them. A conjunction that
turns up inside itself becomes a ``Reference``, so recursion costs nothing.

Every assertion keyword that is met ends in the mask, or is noted in ``after``, or raises. What goes to ``after`` is left out of the mask,
which then admits a superset that the finished reply is checked against.

Cost: linear in the schema, one call per place; alternatives in one conjunction multiply (bounded by ``MAX_PLACES`` and ``MAX_PARTS``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.encoder import encode_basestring  # as json.dumps(ensure_ascii=False) writes a string
from typing import Any, Final, Literal, NamedTuple

from ..errors import SchemaError, SchemaLimit, UnsatisfiableRoute
from ..grammar.arrays import Item, array_node
from ..grammar.containers import Reference, Value, resolve
from ..grammar.expr import EMPTY, NEVER, Node, choice, intern, lit, seq, tree
from ..grammar.numbers import integer, number
from ..grammar.objects import Free, Member, object_node
from ..grammar.strings import string
from ..grammar.style import COMPACT, SPACED, Style
from ..route.numbers import canonical
from .arrays import lower_array
from .check import admits, satisfies
from .conjunction import Conjunctions, limit
from .document import DERIVED, Document, Part
from .keywords import SHAPES, TYPES, check_shapes, escape
from .leaves import lower_number, lower_string
from .negate import NOT_ENUM
from .objects import lower_object

MAX_PLACES: Final = 20_000
"""Conjunctions lowered per document (count; some 20 µs and 2 kB each). Products of alternatives reach it, honest schemas do not."""

MAX_NESTING: Final = 90
"""Schemas nested in schemas (count), by keyword or by reference; a reply nests no deeper than 100 anyway."""

StyleName = Literal["spaced", "compact"]
Additional = Literal["closed", "schema"]
Order = Literal["declared", "any"]
STYLES: Final[dict[str, Style]] = {"spaced": SPACED, "compact": COMPACT}


class Options(NamedTuple):
    """How documents are lowered. ``style``: the text form; ``additional``: what an object with declared members and without
    ``additionalProperties`` means; ``order``: of members; ``formats``: whether ``format`` asserts something."""

    style: StyleName = "spaced"
    additional: Additional = "closed"
    order: Order = "declared"
    formats: bool = False


_Key = tuple[tuple[str, frozenset[str], frozenset[str]], ...]
_BOTH: Final = frozenset(("integer", "number"))
_PLAIN: Final[dict[str, Node]] = {
    "null": lit(b"null"),
    "boolean": tree(((b"true", EMPTY), (b"false", EMPTY))),
    "integer": integer(),
    "number": number(),
    "string": string(),
}
_OWN: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(_PLAIN, frozenset()),
    "string": frozenset(("type", "minLength", "maxLength", "enum")),
    "array": frozenset(("type", "items", "minItems", "maxItems")),
    "object": frozenset(("type", "properties", "required", "additionalProperties")),
}
_ASSERTIONS: Final = frozenset(SHAPES)


class Lowered(NamedTuple):
    """A document's expression, the places that were read, what is left for after, and whether ``format`` asserts something."""

    node: Node
    places: dict[str, dict[str, Any]]
    after: dict[tuple[str, str], str]
    formats: bool


def lower(schema: Any, options: Options) -> Lowered:
    """Lower a whole document.

    Raises ``SchemaError`` (also ``UnsupportedSchema``, ``SchemaLimit``) or ``UnsatisfiableRoute``, each with the JSON Pointer.
    """
    if not isinstance(schema, dict | bool):
        raise SchemaError(f"a schema is an object or a boolean, not {type(schema).__name__}")
    lowering = Lowering(Document(schema), options)
    try:
        node = lowering.run()
    except SchemaLimit as error:
        if error.limit not in ("MAX_PARTS", "MAX_PLACES") or not lowering.conjunctions.split_by & {"oneOf", "if"}:
            raise
        # Branches that exclude one another multiply. Without that, ``oneOf`` and ``if`` are checked after, and say so.
        lowering = Lowering(Document(schema), options, exclude=False)
        node = lowering.run()
    if node.best is None:
        never = lowering.conjunctions.never
        pointer, reason = never[-1] if never else ("", "every text would have to contain itself, so none is finite")
        raise UnsatisfiableRoute(reason, pointer=pointer)
    return Lowered(node, lowering.conjunctions.places, lowering.after, options.formats)


class Lowering:
    """One run over one document."""

    def __init__(self, document: Document, options: Options, exclude: bool = True) -> None:
        self.document, self.options, self.draft = document, options, document.draft
        self.marks = STYLES[options.style]
        self.additional, self.ordered = options.additional, options.order == "declared"
        self.after: dict[tuple[str, str], str] = {}
        self.conjunctions = Conjunctions(document, self.later, options.formats, exclude)
        self.places = self.conjunctions.places
        # ``format`` asserts something where it is asked to; then a string that has one is no longer plain.
        self.asserting = _ASSERTIONS | {"format"} if options.formats else _ASSERTIONS
        self.references: dict[_Key, Reference] = {}
        self._memo: dict[_Key, Node] = {}
        self._open: dict[_Key, int] = {}
        self._level = 0

    def run(self) -> Node:
        """The node of the whole document."""
        try:
            node = self.lower((Part("", self.document.root),))
            if self.references:
                resolve(node)
        except RecursionError:
            raise limit("MAX_NESTING", MAX_NESTING, "schemas nested in schemas", "") from None
        return node

    def later(self, place: str, keyword: str, why: str) -> None:
        """Leave a keyword to the check of the finished reply."""
        self.after.setdefault((place, keyword), why)

    def none(self, pointer: str, reason: str) -> Node:
        """The node without any text, with the reason for whoever needs one."""
        self.conjunctions.never.append((pointer, reason))
        return NEVER

    # -- conjunctions ----------------------------------------------------------------------------------------------------------

    def lower(self, parts: Sequence[Part]) -> Node:
        """The node of the values that satisfy every part."""
        if len(parts) == 1 and (alone := self._alone(parts[0])) is not None:
            return alone
        key = tuple([(part.pointer, part.skip, part.under) for part in parts])
        node = self._memo.get(key)
        if node is not None:
            return node
        if key in self._open:
            if self._open[key] == self._level:
                raise SchemaError("refers to itself without a value in between", pointer=parts[0].place, keyword="$ref")
            if key not in self.references:
                # Named by content, so that compiling the same document again meets the same states.
                self.references[key] = intern(Reference, (self.document.digest, self.options, key))
            return self.references[key]
        if len(self._memo) >= MAX_PLACES:
            raise limit("MAX_PLACES", MAX_PLACES, "combinations of subschemas", parts[0].place)
        if len(self._open) >= MAX_NESTING:
            raise limit("MAX_NESTING", MAX_NESTING, "schemas nested in schemas", parts[0].place)
        self._open[key] = self._level
        try:
            flat = self.conjunctions.flatten(parts)
            node = NEVER if flat is None else self._values(flat)
        finally:
            del self._open[key]
        self._memo[key] = node
        if key in self.references:
            self.references[key].target = node
        return node

    def below(self, parts: Sequence[Part]) -> Node:
        """``lower`` for the values inside an array or object."""
        if self._level >= MAX_NESTING:
            raise limit("MAX_NESTING", MAX_NESTING, "schemas nested in schemas", parts[0].place if parts else "")
        self._level += 1
        node = self.lower(parts)
        self._level -= 1
        return node

    def _values(self, flat: list[Part]) -> Node:
        finite = [part for part in flat if "enum" in part.schema or "const" in part.schema]
        if finite:
            pointer = finite[0].place
            values = self.values(flat, finite)
            if not values:
                return self.none(pointer, "the other keywords admit none of its listed values")
            if self.ordered or not any(isinstance(value, dict | list) for value in values):
                return tree((self.text(value, pointer), EMPTY) for value in values)
            return choice([self._literal(value, pointer) for value in values])
        branches = self.conjunctions.split(flat)
        if branches is not None:
            return choice([self.lower(branch) for branch in branches])
        pointer = flat[0].place if flat else ""
        types = set(TYPES)
        for part in flat:
            named = part.schema.get("type")
            if named is not None:
                allowed = {named} if isinstance(named, str) else set(named)
                allowed |= {"integer"} if "number" in allowed else set()
                types &= allowed
        if not types:
            return self.none(pointer, "its types exclude one another")
        said = {keyword for part in flat for keyword in part.schema if keyword not in part.skip}
        if len(types) == len(TYPES) and not any(k in self.asserting or not isinstance(k, str) for k in said):
            return intern(Value, self.marks)  # type: ignore[no-any-return]
        holes = [value for part in flat for value in part.schema.get(NOT_ENUM, ())]
        return choice([node for node in self._by_type(flat, types, holes) if node.best is not None])

    def _by_type(self, flat: list[Part], types: set[str], holes: list[Any]) -> list[Node]:
        nodes = []
        if "null" in types and None not in holes:
            nodes.append(_PLAIN["null"])
        if "boolean" in types:
            nodes.append(tree((text, EMPTY) for text, value in ((b"true", True), (b"false", False)) if not any(v is value for v in holes)))
        if types & _BOTH:
            node = lower_number(self.conjunctions, flat, "number" not in types)
            nodes.append(node if node.best is not None else self.none(flat[0].place, "no number lies within its bounds"))
        if "string" in types:
            nodes.append(lower_string(self.conjunctions, flat))
        for kind, name, lowered in ((list, "array", lower_array), (dict, "object", lower_object)):
            if name in types:
                if any(isinstance(value, kind) for value in holes):
                    part = next(part for part in flat if NOT_ENUM in part.schema)
                    self.later(*self.conjunctions.attributed(part, "enum"), f"an {name} is excluded")
                nodes.append(lowered(self, flat))
        return nodes

    # -- places that need nothing of this --------------------------------------------------------------------------------------

    def _alone(self, part: Part) -> Node | None:
        """The node of a place that names one type and uses that type's own keywords only; None for any other place.

        Most places are such, catalogues have thousands of them, and they need none of the machinery for conjunctions.
        """
        pointer, schema, skip, _ = part
        if skip or schema.__class__ is not dict:
            return None
        name = schema.get("type")
        if name.__class__ is not str or name not in _OWN:
            return None
        more = self.asserting.intersection(schema)
        if len(more) == 1 and name in _PLAIN:
            self.places[pointer] = schema
            return _PLAIN[name]
        if not more <= _OWN[name] or DERIVED in pointer or schema.get("items").__class__ is list:
            return None
        if pointer not in self.places:  # of what is checked there, only shapes can be at fault here
            self.places[pointer] = schema
            check_shapes(schema, pointer)
        if "enum" in more:
            return self._values([part])
        if name == "array":
            return lower_array(self, [part])
        return self._plain_object(part) if name == "object" else lower_string(self.conjunctions, [part])

    def _plain(self, schema: Any, prefix: str, name: str) -> Node | None:
        """The node of a place that names one scalar type and asserts nothing else; None for any other place. Half of all are."""
        if schema.__class__ is not dict or (kind := schema.get("type")).__class__ is not str:
            return None
        node = _PLAIN.get(kind)
        if node is None or len(self.asserting.intersection(schema)) != 1:
            return None
        self.places[prefix + escape(name)] = schema
        return node

    def _plain_object(self, part: Part) -> Node:
        """An object that says nothing but its members, which of them are required, and what others are like."""
        pointer, schema = part.pointer, part.schema
        properties, required = schema.get("properties", {}), set(schema.get("required", ()))
        extra = part.at("additionalProperties") if "additionalProperties" in schema else None
        prefix = f"{pointer}/properties/"
        members: list[Member] = []
        taken: list[bytes] = []
        plain = self._level < MAX_NESTING
        for name, below in properties.items():
            key = self.text(name, pointer)
            node = self._plain(below, prefix, name) if plain else None
            if node is None:
                node = self.below((Part(prefix + escape(name), below),))
            if node.best is not None:
                members.append(Member(key, node, name in required))
            elif name in required:
                return self._missing(pointer, name)
            else:
                taken.append(key[1:-1])
        for name in schema.get("required", ()):
            if name not in properties and required:
                node = self.below(() if extra is None else (extra,))
                if node.best is None:
                    return self._missing(pointer, name)
                if not any(member.key == self.text(name, pointer) for member in members):
                    members.append(Member(self.text(name, pointer), node, True))
        free: tuple[Free, ...] = ()
        if extra is not None or not properties or self.additional == "schema":
            node = self.below(() if extra is None else (extra,))
            if node.best is not None:
                free = (Free(None, node),)
        return object_node(tuple(members), free, self.marks, taken=frozenset(taken), ordered=self.ordered)

    def _missing(self, pointer: str, name: str) -> Node:
        where, why = self.conjunctions.never[-1] if self.conjunctions.never else (pointer, "no value is possible")
        return self.none(where, f"required member {name!r}: {why}")

    # -- listed values ---------------------------------------------------------------------------------------------------------

    def values(self, flat: list[Part], finite: list[Part]) -> list[Any]:
        """``enum`` and ``const``: the values themselves, as far as everything else admits them."""
        values: list[Any] | None = None
        for part in finite:
            for keyword, listed in (("enum", part.schema.get("enum")), ("const", [part.schema.get("const")])):
                if keyword in part.schema:
                    if not listed:
                        raise UnsatisfiableRoute("enum lists no value", pointer=f"{part.place}/enum")
                    if values is None:
                        values = listed
                    else:
                        known = {canonical(value) for value in listed}
                        values = [v for v in values if canonical(v) in known]
        assert values is not None
        for part in flat:
            source = self.conjunctions.sources.get(part.pointer)
            if source is not None:
                refused = source.schema
                values = [v for v in values if not satisfies(refused, v, self.document, self.options.formats, part.place)]
            elif part.schema.get("type") == "string" and len(self.asserting.intersection(part.schema)) == 2 and "enum" in part.schema:
                values = [value for value in values if value.__class__ is str]  # as ``admits`` says, at once
            else:
                values = [value for value in values if admits(part, value, self.document, self.options.formats)]
        return values

    def _literal(self, value: Any, pointer: str) -> Node:
        """The node of one value, its members in any order."""
        if isinstance(value, dict):
            members = tuple(Member(self.text(name, pointer), self._literal(item, pointer), True) for name, item in value.items())
            return object_node(members, (), self.marks, ordered=False)
        if isinstance(value, list):
            prefix = tuple((Item(self._literal(item, pointer)),) for item in value)
            return array_node(prefix, (), self.marks, low=len(value), high=len(value))
        return seq(lit(self.text(value, pointer)))

    def text(self, value: Any, pointer: str) -> bytes:
        """``value`` as JSON text in the style of the route."""
        try:
            if value.__class__ is str:
                return encode_basestring(value).encode()
            marks = (self.marks.comma.decode(), self.marks.colon.decode())
            return json.dumps(value, ensure_ascii=False, separators=marks, allow_nan=False).encode()
        except (ValueError, TypeError) as error:
            raise SchemaError(f"a listed value cannot be written as JSON: {error}", pointer=pointer) from None
