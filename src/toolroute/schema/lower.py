"""JSON Schema → expression.

Theory. A place in a document is lowered as a *conjunction of parts*: the schema that stands there, what its ``$ref`` and ``allOf``
bring in, and what the members of an outer conjunction say about the same value. All keywords of all parts are read together, one
function per JSON type, so siblings of ``$ref``, ``allOf`` and ``anyOf`` beside ``properties`` need no case of their own.
Alternatives (``anyOf``, ``oneOf``) are distributed over the rest of the conjunction. A conjunction that turns up inside itself
becomes a ``Reference``, so recursion costs nothing.

Every assertion keyword that is met ends in the mask, or is noted in ``after``, or raises. What goes to ``after`` is left out of the
mask, which then admits a superset that the finished reply is checked against.

Cost: linear in the schema, one call per place; alternatives in one conjunction multiply (bounded by ``MAX_PLACES`` and ``MAX_PARTS``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from json.encoder import encode_basestring  # as json.dumps(ensure_ascii=False) writes a string
from typing import Any, Final, Literal, NamedTuple

from ..errors import SchemaError, SchemaLimit, UnsatisfiableRoute
from ..grammar.containers import COMPACT, SPACED, Array, Member, Object, Reference, Style, Value, resolve
from ..grammar.expr import EMPTY, NEVER, Node, choice, intern, lit, tree
from ..grammar.numbers import integer, number
from ..grammar.strings import string
from ..route.ecma import translate
from ..route.numbers import canonical
from .check import admits
from .disjoint import disjoint
from .document import Document, Part
from .keywords import CHECKED, ENFORCED, SHAPES, TYPES, check_shapes, escape

MAX_PLACES: Final = 20_000
"""Conjunctions lowered per document (count; some 20 µs and 2 kB each). Products of alternatives reach it, honest schemas do not."""

MAX_PARTS: Final = 40_000
"""Members of conjunctions read per document (count; some 15 µs each). It ends products of alternatives whose conjunctions grow."""

MAX_NESTING: Final = 90
"""Schemas nested in schemas (count), by keyword or by reference; a reply nests no deeper than 100 anyway."""

MAX_SHORTEST: Final = 100_000
"""Bytes of the shortest text of one string, array or object, and items it must have (count). Near a cap closing sequences are spelled in
tokens, some 4 µs a byte; no reply comes near."""

StyleName = Literal["spaced", "compact"]
Additional = Literal["closed", "schema"]
STYLES: Final[dict[str, Style]] = {"spaced": SPACED, "compact": COMPACT}

_Key = tuple[tuple[str, frozenset[str]], ...]
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
_SPECIAL: Final = frozenset((*CHECKED, "exclusiveMinimum", "exclusiveMaximum"))  # keywords that ``_read`` has more to say about


class Lowered(NamedTuple):
    """A document's expression, the places that were read, and what is left for after."""

    node: Node
    places: dict[str, dict[str, Any]]
    after: dict[tuple[str, str], str]


def lower(schema: Any, style: StyleName, additional: Additional) -> Lowered:
    """Lower a whole document.

    Raises ``SchemaError`` (also ``UnsupportedSchema``, ``SchemaLimit``) or ``UnsatisfiableRoute``, each with the JSON Pointer.
    """
    if not isinstance(schema, dict | bool):
        raise SchemaError(f"a schema is an object or a boolean, not {type(schema).__name__}")
    lowering = Lowering(Document(schema), style, additional)
    try:
        node = lowering.lower((Part("", schema),))
    except RecursionError:
        raise _limit("MAX_NESTING", MAX_NESTING, "schemas nested in schemas", "") from None
    if lowering.references:
        resolve(node)
    if node.best is None:
        pointer, reason = lowering.never[-1] if lowering.never else ("", "every text would have to contain itself, so none is finite")
        raise UnsatisfiableRoute(reason, pointer=pointer)
    return Lowered(node, lowering.places, lowering.after)


class Lowering:
    """One run over one document."""

    def __init__(self, document: Document, style: StyleName, additional: Additional) -> None:
        self.document, self.style, self.additional = document, style, additional
        self.marks = STYLES[style]
        self.places: dict[str, dict[str, Any]] = {}
        self.after: dict[tuple[str, str], str] = {}
        self.never: list[tuple[str, str]] = []
        self.references: dict[_Key, Reference] = {}
        self._memo: dict[_Key, Node] = {}
        self._open: dict[_Key, int] = {}
        self._level = 0
        self._parts = 0

    # -- conjunctions ----------------------------------------------------------------------------------------------------------

    def lower(self, parts: Sequence[Part]) -> Node:
        """The node of the values that satisfy every part."""
        if len(parts) == 1 and (alone := self._alone(parts[0])) is not None:
            return alone
        key = tuple([(part.pointer, part.skip) for part in parts])
        node = self._memo.get(key)
        if node is not None:
            return node
        if key in self._open:
            if self._open[key] == self._level:
                raise SchemaError("refers to itself without a value in between", pointer=parts[0].pointer, keyword="$ref")
            if key not in self.references:
                # Named by content, so that compiling the same document again meets the same states.
                self.references[key] = intern(Reference, (self.document.digest, self.style, self.additional, key))
            return self.references[key]
        if len(self._memo) >= MAX_PLACES:
            raise _limit("MAX_PLACES", MAX_PLACES, "combinations of subschemas", parts[0].pointer)
        if len(self._open) >= MAX_NESTING:
            raise _limit("MAX_NESTING", MAX_NESTING, "schemas nested in schemas", parts[0].pointer)
        self._open[key] = self._level
        try:
            flat = self.flatten(parts)
            node = NEVER if flat is None else self._alternatives(flat)
        finally:
            del self._open[key]
        self._memo[key] = node
        if key in self.references:
            self.references[key].target = node
        return node

    def below(self, parts: Sequence[Part]) -> Node:
        """``lower`` for the values inside an array or object."""
        if self._level >= MAX_NESTING:
            raise _limit("MAX_NESTING", MAX_NESTING, "schemas nested in schemas", parts[0].pointer if parts else "")
        self._level += 1
        node = self.lower(parts)
        self._level -= 1
        return node

    def _alone(self, part: Part) -> Node | None:
        """The node of a place that names one type and uses that type's own keywords only; None for any other place.

        Most places are such, catalogues have thousands of them, and they need none of the machinery for conjunctions.
        """
        pointer, schema, skip = part
        if skip or schema.__class__ is not dict:
            return None
        name = schema.get("type")
        if name.__class__ is not str or name not in _OWN:
            return None
        more = _ASSERTIONS.intersection(schema)
        if len(more) == 1 and name in _PLAIN:
            self.places[pointer] = schema
            return _PLAIN[name]
        if not more <= _OWN[name]:
            return None
        if pointer not in self.places:
            if name == "array":
                self._read(part)
            else:  # of what is checked there, only shapes can be at fault here
                self.places[pointer] = schema
                check_shapes(schema, pointer)
        flat = [part]
        if "enum" in more:
            return self._finite(flat, flat)
        if name == "object":
            return self._object(flat)
        return self._array(flat) if name == "array" else self._string(flat, pointer)

    def _plain(self, schema: Any, prefix: str, name: str) -> Node | None:
        """The node of a place that names one scalar type and asserts nothing else; None for any other place. Half of all are."""
        if schema.__class__ is not dict or (kind := schema.get("type")).__class__ is not str:
            return None
        node = _PLAIN.get(kind)
        if node is None or len(_ASSERTIONS.intersection(schema)) != 1:
            return None
        self.places[prefix + escape(name)] = schema
        return node

    def flatten(self, parts: Iterable[Part]) -> list[Part] | None:
        """The parts, with those that ``$ref`` and ``allOf`` bring in; None where one of them is ``false``."""
        flat: dict[tuple[str, frozenset[str]], Part] = {}
        chain: list[str] = []

        def visit(part: Part) -> bool:
            schema = part.schema
            if schema is True:
                return True
            if schema is False:
                self.never.append((part.pointer, "the schema is false"))
                return False
            key = (part.pointer, part.skip)
            if part.pointer in chain and not part.skip:
                raise SchemaError("refers to itself without a value in between", pointer=part.pointer, keyword="$ref")
            if key in flat:
                return True
            if part.pointer not in self.places:
                self._read(part)
            flat[key] = part
            if "$ref" not in schema and "allOf" not in schema:
                return True
            chain.append(part.pointer)
            more = []
            if "$ref" in schema and "$ref" not in part.skip:
                more.append(self.document.resolve(schema["$ref"], part.pointer))
                if self.document.draft <= 7:
                    del flat[key]
            if "allOf" in schema and "allOf" not in part.skip and key in flat:
                more += [part.at("allOf", i) for i in range(len(schema["allOf"]))]
            alive = all([visit(p) for p in more])
            chain.pop()
            return alive

        alive = all([visit(part) for part in parts])
        self._parts += len(flat)
        if self._parts > MAX_PARTS:
            raise _limit("MAX_PARTS", MAX_PARTS, "members of conjunctions", next(iter(flat.values())).pointer)
        return list(flat.values()) if alive else None

    def _read(self, part: Part) -> None:
        """Check the keywords of a place that is met for the first time."""
        schema, pointer, draft = part.schema, part.pointer, self.document.draft
        if draft <= 7 and "$ref" in schema:
            schema = {"$ref": schema["$ref"]}  # before 2019-09, $ref stood alone
        self.places[pointer] = schema
        check_shapes(schema, pointer)
        if _SPECIAL.isdisjoint(schema) and not isinstance(schema.get("items"), list):
            return
        for keyword in schema:
            if keyword in CHECKED:
                self._later(pointer, keyword, "the mask does not know this keyword")
        if "pattern" in schema:
            translate_at(schema["pattern"], f"{pointer}/pattern", "pattern")
        for pattern in schema.get("patternProperties", ()):
            translate_at(pattern, f"{pointer}/patternProperties/{escape(pattern)}", "patternProperties")
        for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            if isinstance(schema.get(keyword), bool) is not (draft == 4) and keyword in schema:
                form = "a number" if draft != 4 else "a boolean"
                hint = "; the boolean form is draft-04's and needs its $schema" if draft != 4 else ""
                raise SchemaError(f"{keyword} must be {form}{hint}", pointer=f"{pointer}/{keyword}", keyword=keyword)
        if isinstance(schema.get("items"), list) and draft == 2020:
            hint = "an array of item schemas is the old tuple form; write prefixItems, or declare its $schema"
            raise SchemaError(hint, pointer=f"{pointer}/items", keyword="items")
        if "patternProperties" in schema and "additionalProperties" in schema:
            self._later(pointer, "additionalProperties", "patternProperties stands beside it")

    def _later(self, pointer: str, keyword: str, why: str) -> None:
        self.after[pointer, keyword] = why

    def _alternatives(self, flat: list[Part]) -> Node:
        """Distribute one ``anyOf`` or ``oneOf`` over the conjunction, or lower a conjunction without any."""
        for i, part in enumerate(flat):
            for keyword in ("anyOf", "oneOf"):
                if keyword in part.schema and keyword not in part.skip:
                    rest = [*flat[:i], *flat[i + 1 :]]
                    here = Part(part.pointer, part.schema, part.skip | {keyword, "$ref", "allOf"})
                    base = [*(Part(p.pointer, p.schema, p.skip | {"$ref", "allOf"}) for p in rest), here]
                    branches = [[*base, part.at(keyword, n)] for n in range(len(part.schema[keyword]))]
                    if keyword == "oneOf" and not disjoint(branches, self.flatten):
                        self._later(part.pointer, "oneOf", "its branches are not provably disjoint")
                    return choice([self.lower(branch) for branch in branches])
        return self._values(flat)

    def _values(self, flat: list[Part]) -> Node:
        pointer = flat[0].pointer if flat else ""
        types = set(TYPES)
        for part in flat:
            named = part.schema.get("type")
            if named is not None:
                allowed = {named} if isinstance(named, str) else set(named)
                allowed |= {"integer"} if "number" in allowed else set()
                types &= allowed
        finite = [part for part in flat if "enum" in part.schema or "const" in part.schema]
        if finite:
            return self._finite(flat, finite)
        if not types:
            return self._none(pointer, "its types exclude one another")
        if len(types) == len(TYPES) and not any(k in ENFORCED for p in flat for k in p.schema if k not in p.skip and k != "$ref"):
            return intern(Value, self.marks)  # type: ignore[no-any-return]
        nodes = [_PLAIN[name] for name in ("null", "boolean") if name in types]
        if types & _BOTH:
            nodes.append(self._number(flat, pointer, "number" not in types))
        if "string" in types:
            nodes.append(self._string(flat, pointer))
        if "array" in types:
            nodes.append(self._array(flat))
        if "object" in types:
            nodes.append(self._object(flat))
        return choice(nodes)

    def _none(self, pointer: str, reason: str) -> Node:
        self.never.append((pointer, reason))
        return NEVER

    # -- one function per kind of value ----------------------------------------------------------------------------------------

    def _finite(self, flat: list[Part], finite: list[Part]) -> Node:
        """``enum`` and ``const``: the values themselves, as far as the other parts admit them."""
        values: list[Any] | None = None
        for part in finite:
            for keyword, listed in (("enum", part.schema.get("enum")), ("const", [part.schema.get("const")])):
                if keyword in part.schema:
                    if not listed:
                        raise UnsatisfiableRoute("enum lists no value", pointer=f"{part.pointer}/enum")
                    if values is None:
                        values = listed
                    else:
                        known = {canonical(value) for value in listed}
                        values = [v for v in values if canonical(v) in known]
        assert values is not None
        for part in flat:
            if part.schema.get("type") == "string" and len(_ASSERTIONS.intersection(part.schema)) == 2 and "enum" in part.schema:
                values = [value for value in values if value.__class__ is str]  # as ``admits`` says, at once
            else:
                values = [value for value in values if admits(part, value, self.document)]
        if not values:
            return self._none(finite[0].pointer, "the other keywords admit none of its listed values")
        return tree((self.text(value, finite[0].pointer), EMPTY) for value in values)

    def text(self, value: Any, pointer: str) -> bytes:
        """``value`` as JSON text in the style of the route."""
        try:
            if value.__class__ is str:
                return encode_basestring(value).encode()
            marks = (self.marks.comma.decode(), self.marks.colon.decode())
            return json.dumps(value, ensure_ascii=False, separators=marks, allow_nan=False).encode()
        except (ValueError, TypeError) as error:
            raise SchemaError(f"a listed value cannot be written as JSON: {error}", pointer=pointer) from None

    def _number(self, flat: list[Part], pointer: str, whole: bool) -> Node:
        low: Fraction | None = None
        high: Fraction | None = None
        low_open = high_open = False
        for _, schema, _ in flat:
            for keyword, is_open in (("minimum", schema.get("exclusiveMinimum") is True), ("exclusiveMinimum", True)):
                bound = schema.get(keyword)
                if bound is not None and not isinstance(bound, bool):
                    value = Fraction(str(bound))
                    if low is None or (value, is_open) > (low, low_open):
                        low, low_open = value, is_open
            for keyword, is_open in (("maximum", schema.get("exclusiveMaximum") is True), ("exclusiveMaximum", True)):
                bound = schema.get(keyword)
                if bound is not None and not isinstance(bound, bool):
                    value = Fraction(str(bound))
                    if high is None or (value, not is_open) < (high, not high_open):
                        high, high_open = value, is_open
        if whole:
            first = None if low is None else -(-low.numerator // low.denominator) + (low_open and low.denominator == 1)
            last = None if high is None else high.numerator // high.denominator - (high_open and high.denominator == 1)
            node = integer(first, last)
        else:
            node = number(low, low_open, high, high_open)
        return node if node.best is not None else self._none(pointer, "no number lies within its bounds")

    def _string(self, flat: list[Part], pointer: str) -> Node:
        low = max((int(s["minLength"]) for _, s, _ in flat if "minLength" in s), default=0)
        high = min((int(s["maxLength"]) for _, s, _ in flat if "maxLength" in s), default=None)
        node = string(low, high)
        self._size(node, low, pointer, "minLength")
        return node if node.best is not None else self._none(pointer, f"minLength {low} is greater than maxLength {high}")

    def _array(self, flat: list[Part]) -> Node:
        low = max((int(s["minItems"]) for _, s, _ in flat if "minItems" in s), default=0)
        high = min((int(s["maxItems"]) for _, s, _ in flat if "maxItems" in s), default=None)
        tuples = [self._tuple(part) for part in flat if part.schema.keys() & {"items", "prefixItems", "additionalItems"}]
        length = max((len(head) for head, _ in tuples), default=0)
        if high is not None:
            length = min(length, high)
        prefix: list[Node] = []
        for i in range(length):
            node = self.below([head[i] if i < len(head) else rest for head, rest in tuples if i < len(head) or rest is not None])  # type: ignore[misc]
            if node.best is None:
                high = i
                break
            prefix.append(node)
        item: Node | None = None
        if high is None or high > len(prefix):
            item = self.below([rest for _, rest in tuples if rest is not None])
        pointer = flat[0].pointer if flat else ""
        if item is not None and item.best is None:
            item = None
        array: Node = intern(Array, tuple(prefix), item, low, high, self.marks)
        self._size(array, low, pointer, "minItems")
        return array if array.best is not None else self._none(pointer, f"no array with at least {low} items is possible")

    def _size(self, node: Node, low: int, pointer: str, keyword: str) -> None:
        """Refuse a node whose shortest text is out of all proportion."""
        if max(low, 0 if node.best is None else node.best[0]) > MAX_SHORTEST:
            raise _limit("MAX_SHORTEST", MAX_SHORTEST, "bytes in the shortest text", f"{pointer}/{keyword}", keyword)

    def _tuple(self, part: Part) -> tuple[list[Part], Part | None]:
        """What a part says of the first items, and of the rest."""
        schema = part.schema
        if self.document.draft == 2020:
            head = [part.at("prefixItems", i) for i in range(len(schema.get("prefixItems", ())))]
            return head, part.at("items") if "items" in schema else None
        if isinstance(schema.get("items"), list):
            head = [part.at("items", i) for i in range(len(schema["items"]))]
            return head, part.at("additionalItems") if "additionalItems" in schema else None
        return [], part.at("items") if "items" in schema else None

    def _object(self, flat: list[Part]) -> Node:
        required: dict[str, None] = {}
        declared: dict[str, None] = {}
        rest: list[Part] = []
        open_names = False
        for part in flat:
            schema = part.schema
            declared.update(dict.fromkeys(schema.get("properties", ())))
            required.update(dict.fromkeys(schema.get("required", ())))
            if "patternProperties" in schema:
                open_names = True
            elif "additionalProperties" in schema:
                rest.append(part)
        members: list[Member] = []
        taken: list[bytes] = []
        named = [(part.schema.get("properties", {}), f"{part.pointer}/properties/", part) for part in flat]
        for name in {**declared, **required}:
            alone = len(flat) == 1 and self._level < MAX_NESTING
            if alone and (plain := self._plain(named[0][0].get(name), named[0][1], name)) is not None:
                members.append(Member(self.text(name, flat[0].pointer), plain, name in required))
                continue
            parts = []
            for properties, prefix, part in named:
                if name in properties:
                    parts.append(Part(prefix + escape(name), properties[name]))
                elif part in rest:
                    parts.append(part.at("additionalProperties"))
            seen = len(self.never)
            node = self.below(parts)
            key = self.text(name, flat[0].pointer)
            if node.best is not None:
                members.append(Member(key, node, name in required))
            elif name in required:
                pointer, why = self.never[-1] if len(self.never) > seen else (flat[0].pointer, "no value is possible")
                return self._none(pointer, f"required member {name!r}: {why}")
            else:
                taken.append(key[1:-1])
        extra: Node | None = None
        if rest or open_names or not declared or self.additional == "schema":
            extra = self.below([part.at("additionalProperties") for part in rest])
            if extra.best is None:
                extra = None
        return intern(Object, tuple(members), extra, frozenset(taken), self.marks)  # type: ignore[no-any-return]


def _limit(name: str, given: int, what: str, pointer: str, keyword: str | None = None) -> SchemaLimit:
    return SchemaLimit(f"more than {given} {what}", pointer=pointer, keyword=keyword, limit=name, needed=given + 1, given=given)


def translate_at(pattern: str, pointer: str, keyword: str) -> None:
    """Refuse a pattern that the check after decoding could not run, naming its place."""
    try:
        translate(pattern)
    except SchemaError as error:
        raise type(error)(error.reason, pointer=pointer, keyword=keyword) from None
