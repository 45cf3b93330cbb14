"""What must hold of one value: parts that hold together, and the alternatives among them.

Theory. A place in a document is a *conjunction of parts*: the schema that stands there, what its ``$ref`` and ``allOf`` bring in, and
what the members of an outer conjunction say about the same value. ``flatten`` collects them. Keywords that offer alternatives (``anyOf``,
``oneOf``, ``if``, ``dependent…``, and every negation, see ``negate``) are written out one at a time by ``split``: each branch is the rest
of the conjunction and one alternative. What no keyword splits any more says something about a value of one type directly.

Exclusion costs nothing where it is provable (``disjoint``); else a branch of a ``oneOf`` carries the negation of the others. What would
multiply out of proportion, and what has no negation, is given up by name: the conjunction then admits more, and ``later`` is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ..errors import SchemaError, SchemaLimit, UnsupportedSchema
from ..route.ecma import translate
from .disjoint import MAX_BRANCHES, apart
from .document import DERIVED, Document, Part
from .keywords import FOREIGN, SHAPES, check_shapes, escape
from .negate import negation

MAX_PARTS: Final = 40_000
"""Members of conjunctions read per document (count; some 15 µs each). It ends products of alternatives whose conjunctions grow."""

MAX_PRODUCT: Final = 512
"""Alternatives that the exclusion of the other branches of one ``oneOf`` may multiply to (count); beyond it, it is checked after."""

MAX_SUBSETS: Final = 5
"""Branches of an ``anyOf`` whose subsets are written out for ``unevaluated…`` (count)."""

MAX_DEPENDENTS: Final = 10
"""Dependent schemas written out per place (count; each doubles the alternatives)."""

Later = Callable[[str, str, str], None]
Branches = list[list[Part]]


class Conjunctions:
    """The parts of one document. ``later(place, keyword, why)``: takes what is left for the check of the finished reply.

    ``formats``: whether ``format`` asserts something; ``exclude``: whether the branches of a ``oneOf`` exclude one another and ``if``
    is written out; ``never``: places and reasons of conjunctions that turned out empty.
    """

    def __init__(self, document: Document, later: Later, formats: bool, exclude: bool) -> None:
        self.document, self.later, self.formats, self.exclude = document, later, formats, exclude
        self.places: dict[str, dict[str, Any]] = {}
        self.never: list[tuple[str, str]] = []
        self._negated: dict[str, Part] = {}
        self.sources: dict[str, Part] = {}  # by the pointer of a negated part: the part that is negated
        self.blind: set[str] = set()  # places with an ``unevaluated…`` keyword for which not all is known that evaluates
        self._below: set[str] = set()
        self.split_by: set[str] = set()  # the keywords that offered alternatives
        self._parts = 0
        self._foreign = FOREIGN[document.draft]

    # -- collecting ------------------------------------------------------------------------------------------------------------

    def flatten(self, parts: Iterable[Part]) -> list[Part] | None:
        """The parts, with those that ``$ref``, ``allOf`` and ``not`` bring in; None where one of them is ``false``."""
        flat: dict[tuple[str, frozenset[str], frozenset[str]], Part] = {}
        chain: list[str] = []
        alive = all([self._visit(part, flat, chain) for part in parts])
        self._parts += len(flat)
        if self._parts > MAX_PARTS:
            raise limit("MAX_PARTS", MAX_PARTS, "members of conjunctions", next(iter(flat.values())).place)
        return list(flat.values()) if alive else None

    def own(self, part: Part) -> Part:
        """``part`` with the keywords that its dialect knows; before 2019-09, ``$ref`` stood alone."""
        schema = part.schema
        if isinstance(schema, dict):
            if self.document.draft <= 7 and "$ref" in schema and len(schema) > 1:
                return part._replace(schema={"$ref": schema["$ref"]})
            if not self._foreign.isdisjoint(schema):
                return part._replace(schema={k: v for k, v in schema.items() if k not in self._foreign})
        return part

    def _visit(self, part: Part, flat: dict[tuple[str, frozenset[str], frozenset[str]], Part], chain: list[str]) -> bool:
        part = self.own(part)
        schema, skip = part.schema, part.skip
        if schema is True:
            return True
        if schema is False:
            self.never.append((part.place, "the schema is false"))
            return False
        key = (part.pointer, skip, part.under)
        if part.pointer in chain and not skip:
            raise SchemaError("refers to itself without a value in between", pointer=part.place, keyword="$ref")
        if key in flat:
            return True
        self.read(part)
        flat[key] = part
        if _INLINE.isdisjoint(schema):
            return True
        chain.append(part.pointer)
        more = []
        for keyword in _INLINE_ORDER:
            if keyword not in schema or keyword in skip:
                continue
            if keyword == "allOf":
                more += [self.inside(part, "allOf", i) for i in range(len(schema["allOf"]))]
            elif keyword == "not":
                more.append(self.negated(part.at("not")))
            elif keyword == "$ref":
                more.append(self.document.resolve(schema["$ref"], part.place)._replace(under=self.under(part)))
            else:
                target = self.document.resolve_dynamic(part, keyword)
                if target is None:
                    self.later(part.place, keyword, "its target depends on how the place was reached")
                    self.blind.update(self.under(part))
                else:
                    more.append(target._replace(under=self.under(part)))
        alive = all([self._visit(p, flat, chain) for p in more])
        chain.pop()
        return alive

    def under(self, part: Part) -> frozenset[str]:
        """The places that what is applied in place for ``part`` is evaluated for."""
        return part.under | {part.pointer} if not _UNEVALUATED.isdisjoint(part.schema) else part.under

    def inside(self, part: Part, *tokens: str | int) -> Part:
        """A subschema of ``part`` that is applied to the same value."""
        return part.at(*tokens)._replace(under=self.under(part))

    def read(self, part: Part) -> None:
        """Check the keywords of a place that is met for the first time."""
        if DERIVED in part.pointer or part.pointer in self.places or not isinstance(part.schema, dict):
            return
        schema, pointer, draft = part.schema, part.pointer, self.document.draft
        self.places[pointer] = schema
        check_shapes(schema, pointer)
        for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            if keyword in schema and isinstance(schema[keyword], bool) is not (draft == 4):
                form = "a number" if draft != 4 else "a boolean"
                hint = "; the boolean form is draft-04's and needs its $schema" if draft != 4 else ""
                raise SchemaError(f"{keyword} must be {form}{hint}", pointer=f"{pointer}/{keyword}", keyword=keyword)
        if isinstance(schema.get("items"), list) and draft == 2020:
            hint = "an array of item schemas is the old tuple form; write prefixItems, or declare its $schema"
            raise SchemaError(hint, pointer=f"{pointer}/items", keyword="items")

    def negated(self, part: Part) -> Part:
        """The part that is satisfied where ``part`` is not."""
        part = self.own(part)
        if isinstance(part.schema, dict) and part.schema.keys() == {"$ref"}:
            return self.negated(self.document.resolve(part.schema["$ref"], part.place))
        found = self._negated.get(part.pointer)
        if found is None:
            self._read_below(part)
            alternatives, lost = negation(part.schema, self.document.draft, self.formats)
            schema: Any = {"anyOf": alternatives} if alternatives else False
            if lost:
                for keyword in lost:
                    self.later(*self.attributed(part, keyword), f"the mask cannot say what {keyword} refuses")
                schema = True
            elif len(alternatives) == 1:
                schema = alternatives[0]
            found = self._negated[part.pointer] = Part(part.pointer + DERIVED, schema)
            self.sources[found.pointer] = part
        return found

    def _read_below(self, part: Part) -> None:
        """Read everything below a place that is about to be negated: what is derived from it no longer tells where it stood."""
        self.read(part)
        if DERIVED in part.pointer or part.pointer in self._below:
            return
        self._below.add(part.pointer)
        for pointer, schema in self.document.below(part.pointer):
            self.read(self.own(Part(pointer, schema)))
            if isinstance(schema.get("pattern"), str):
                checked_pattern(schema["pattern"], f"{pointer}/pattern", "pattern")
            for pattern in schema.get("patternProperties", ()):
                checked_pattern(pattern, f"{pointer}/patternProperties/{escape(pattern)}", "patternProperties")

    def attributed(self, part: Part, keyword: str) -> tuple[str, str]:
        """The place and keyword in the document that ``keyword`` of ``part`` comes from: its own, or that of the schema it derives from."""
        if DERIVED not in part.pointer:
            return part.place, keyword
        parent, _, token = part.place.rpartition("/")
        if token.isdigit():
            parent, _, token = parent.rpartition("/")
        if token in self.places.get(parent, ()):
            return parent, token
        return part.place, next((k for k in self.places.get(part.place, ()) if k in SHAPES), keyword)

    # -- alternatives ----------------------------------------------------------------------------------------------------------

    def split(self, flat: list[Part]) -> Branches | None:
        """The conjunction as alternatives, by the first keyword that offers any; None where none does."""
        for i, part in enumerate(flat):
            for keyword in _SPLITTING:
                if keyword in part.schema and keyword not in part.skip:
                    found = self._branches(part, keyword)
                    rest = [p._replace(skip=p.skip | _INLINE) for p in flat]
                    rest[i] = part._replace(skip=part.skip | _INLINE | {keyword})
                    if found is None:
                        return self.split(rest)
                    self.split_by.add(keyword)
                    return [[*rest, *branch] for branch in found]
        return None

    def _branches(self, part: Part, keyword: str) -> Branches | None:
        schema = part.schema
        if keyword == "anyOf":
            return self._any_of(part)
        if keyword == "oneOf":
            return self._one_of(part)
        if keyword == "if":
            then = [self.inside(part, "then")] if "then" in schema else []
            other = [self.inside(part, "else")] if "else" in schema else []
            if not then and not other and not self.under(part):
                self._read_below(part.at("if"))
                return None
            if not self.exclude:
                self._read_below(part)
                self.later(part.place, "if", "it multiplies with too many other alternatives")
                self.blind.update(self.under(part))
                return None
            return [[self.inside(part, "if"), *then], [self.negated(part.at("if")), *other]]
        return self._dependents(part, keyword)

    def _any_of(self, part: Part) -> Branches:
        branches = [self.inside(part, "anyOf", n) for n in range(len(part.schema["anyOf"]))]
        if not self.under(part):
            return [[branch] for branch in branches]
        # Every branch that holds counts as evaluating; more of them allow more, so all subsets together are exact.
        if len(branches) > MAX_SUBSETS:
            self.later(part.place, "anyOf", f"beside unevaluated members or items, more than {MAX_SUBSETS} branches")
            return [[branch] for branch in branches]
        return [[b for n, b in enumerate(branches) if chosen >> n & 1] for chosen in range(1, 1 << len(branches))]

    def _one_of(self, part: Part) -> Branches:
        branches = [self.inside(part, "oneOf", n) for n in range(len(part.schema["oneOf"]))]
        outer = [part._replace(skip=part.skip | {"oneOf"} | _INLINE)]
        flat = [self.flatten([*outer, branch]) for branch in branches]
        found: Branches = []
        for i, branch in enumerate(branches):
            mine = flat[i]
            if mine is None:
                continue
            near = enumerate(flat) if len(flat) <= MAX_BRANCHES else ()
            others = [branches[j] for j, other in near if j != i and other is not None and not apart(mine, other, self.flatten)]
            excluded = [self.negated(other) for other in others]
            product = 1
            for other in excluded:
                product *= max(len(other.schema.get("anyOf", ())), 1) if isinstance(other.schema, dict) else 1
            if (product > MAX_PRODUCT or len(flat) > MAX_BRANCHES or not self.exclude) and (excluded or len(flat) > MAX_BRANCHES):
                self.later(part.place, "oneOf", "its branches are not provably disjoint, and there are too many to exclude")
                excluded = []
            found.append([branch, *excluded])
        return found

    def _dependents(self, part: Part, keyword: str) -> Branches | None:
        """Dependent schemas as alternatives, one name after the other: absent, or present and what it asks for.

        Dependent names are the object's own business (``objects``).
        """
        entries = {name: wanted for name, wanted in part.schema[keyword].items() if not isinstance(wanted, list)}
        if not entries:
            return None
        if len(entries) > MAX_DEPENDENTS:
            self.later(part.place, keyword, f"more than {MAX_DEPENDENTS} dependent schemas")
            return None
        found: Branches = [[]]
        for name in entries:
            where = f"{part.pointer}{DERIVED}{keyword}/{escape(name)}"
            absent = Part(where + "/0", {"properties": {name: False}})
            present = [Part(where + "/1", {"required": [name]}), self.inside(part, keyword, name)]
            found = [[*branch, *more] for branch in found for more in ([absent], present)]
        return found


_INLINE_ORDER: Final = ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "not")
_INLINE: Final = frozenset(_INLINE_ORDER)
_SPLITTING: Final = ("anyOf", "oneOf", "if", "dependentSchemas", "dependencies")
_UNEVALUATED: Final = frozenset(("unevaluatedProperties", "unevaluatedItems"))


def checked_pattern(pattern: str, pointer: str, keyword: str) -> None:
    """Refuse a pattern that is not ECMA-262, naming its place."""
    try:
        translate(pattern)
    except UnsupportedSchema:
        return  # it is one, and whoever needs it finds out
    except SchemaError as error:
        raise SchemaError(error.reason, pointer=pointer, keyword=keyword) from None


def limit(name: str, given: int, what: str, pointer: str, keyword: str | None = None) -> SchemaLimit:
    """The error of a limit that was passed."""
    return SchemaLimit(f"more than {given} {what}", pointer=pointer, keyword=keyword, limit=name, needed=given + 1, given=given)

