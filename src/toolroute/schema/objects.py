"""Objects: what a conjunction without alternatives says of their members.

A declared name is known, so everything that any part says of it is read together: its own schema, those of the patterns that match, or
what is said of additional and unevaluated members. All other names fall into *kinds*, one for each set of patterns that a name may match:
a regular language each, and again one conjunction for the value.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from ..errors import SchemaError, SchemaLimit, UnsupportedSchema
from ..grammar.expr import Node
from ..grammar.objects import Free, Member, object_node
from ..grammar.pattern import compile_regex
from ..grammar.regex import ANY, EVERYTHING, Regex, both, either, negated, repeat, words
from .conjunction import limit
from .document import DERIVED, Part
from .keywords import escape
from .leaves import MAX_SHORTEST, language_of
from .negate import SOME_MEMBER

if TYPE_CHECKING:
    from .lower import Lowering

MAX_PATTERNS: Final = 6
"""Different name patterns of one object (count; each may double the kinds of names)."""


class _Part:
    """What one part says of an object."""

    def __init__(self, part: Part, patterns: dict[str, Regex]) -> None:
        schema = part.schema
        self.part = part
        self.properties = schema.get("properties", {})
        self.patterns = {text: patterns[text] for text in schema.get("patternProperties", ()) if text in patterns}
        self.partial = len(self.patterns) < len(schema.get("patternProperties", ()))  # some of them are checked after
        self.additional = "additionalProperties" in schema and not self.partial
        self.everything = "additionalProperties" in schema or "unevaluatedProperties" in schema

    def member(self, name: str | None, matched: frozenset[str]) -> list[Part]:
        """The parts that a value must satisfy under ``name`` (None: a free one), which matches the patterns ``matched``."""
        part = self.part
        found = []
        if name is not None and name in self.properties:
            found.append(Part(f"{part.pointer}/properties/{escape(name)}", self.properties[name]))
        found += [part.at("patternProperties", text) for text in self.patterns if text in matched]
        if not found and self.additional:
            found.append(part.at("additionalProperties"))
        return found

    def evaluates(self, name: str | None, matched: frozenset[str], besides: Part) -> bool:
        """Whether this part counts as saying something of that name, for ``unevaluatedProperties`` of ``besides``."""
        if (name is not None and name in self.properties) or any(text in matched for text in self.patterns) or self.partial:
            return True
        return "additionalProperties" in self.part.schema or ("unevaluatedProperties" in self.part.schema and self.part is not besides)


def lower_object(lowering: Lowering, flat: list[Part]) -> Node:
    """The objects of a conjunction."""
    pointer = flat[0].place if flat else ""
    low = max((int(p.schema["minProperties"]) for p in flat if "minProperties" in p.schema), default=0)
    high = min((int(p.schema["maxProperties"]) for p in flat if "maxProperties" in p.schema), default=None)
    if low > MAX_SHORTEST // 8:
        raise limit("MAX_SHORTEST", MAX_SHORTEST, "bytes in the shortest text", f"{pointer}/minProperties", "minProperties")
    patterns = _patterns(lowering, flat)
    parts = [_Part(part, patterns) for part in flat]
    names = _names(lowering, flat)
    if names is None:
        if low > 0 or any(part.schema.get("required") for part in flat):
            return lowering.none(pointer, "propertyNames admits no name")
        return object_node((), (), lowering.marks)
    required: dict[str, None] = {}
    declared: dict[str, None] = {}
    for part in flat:
        declared.update(dict.fromkeys(part.schema.get("properties", ())))
        required.update(dict.fromkeys(part.schema.get("required", ())))

    def value(name: str | None, matched: frozenset[str]) -> Node:
        """The node of a member's value."""
        found = [p for one in parts for p in one.member(name, matched)]
        for one in parts:
            if "unevaluatedProperties" in one.part.schema and one.part.pointer not in lowering.conjunctions.blind:
                inside = (p for p in parts if p is one or one.part.pointer in p.part.under)
                if not any(p.evaluates(name, matched, one.part) for p in inside):
                    found.append(one.part.at("unevaluatedProperties"))
        return lowering.below(found)

    dependent = _dependent(flat)
    for name, others in dependent.items():
        declared.update(dict.fromkeys((name, *others)))

    members: list[Member] = []
    taken: list[str] = []
    for name in {**declared, **required}:
        matched = frozenset(text for text, regex in patterns.items() if regex.accepts(name))
        seen = len(lowering.conjunctions.never)
        node = value(name, matched) if names.accepts(name) else lowering.none(pointer, "propertyNames refuses the name")
        if node.best is not None:
            members.append(Member(lowering.text(name, pointer), node, name in required))
        elif name in required:
            never = lowering.conjunctions.never
            where, why = never[-1] if len(never) > seen else (pointer, "no value is possible")
            return lowering.none(where, f"required member {name!r}: {why}")
        else:
            taken.append(name)
    free: list[Free] = []
    index = {name: i for i, name in enumerate(n for n in {**declared, **required} if n not in taken)}
    for name, others in dependent.items():
        if name in index and not all(other in index for other in others):
            # What it asks for cannot be had, so it cannot either.
            return _without(lowering, flat, name)
    implies = tuple((index[name], sum(1 << index[o] for o in set(others))) for name, others in dependent.items() if name in index)
    own = any("properties" in part.schema and part.pointer == part.place for part in flat)
    stated = any(one.additional or one.partial for one in parts) or any("unevaluatedProperties" in p.schema for p in flat)
    for matched, regex in _kinds(patterns, names):
        if not matched and own and not stated and lowering.additional == "closed":
            continue
        node = value(None, matched)
        if node.best is None:
            continue
        if regex.is_everything:
            free.append(Free(None, node))
            continue
        without = both(regex, negated(words(sorted({*declared, *required}))))
        if without.shortest() is not None:
            free.append(Free(without, node))
    for part in flat:
        if "unevaluatedProperties" in part.schema and part.pointer in lowering.conjunctions.blind:
            lowering.later(*lowering.conjunctions.attributed(part, "unevaluatedProperties"), "a dynamic reference stands beside it")
        if SOME_MEMBER in part.schema:
            lowering.later(*lowering.conjunctions.attributed(part, "additionalProperties"), "the mask cannot say that some member differs")
    reserved = frozenset(lowering.text(name, pointer)[1:-1] for name in taken)
    node = object_node(
        tuple(members), tuple(free), lowering.marks,
        taken=reserved, low=low, high=high, ordered=lowering.ordered, implies=implies,
    )  # fmt: skip
    if node.best is None:
        return lowering.none(pointer, f"no object with {low} to {high if high is not None else 'any number of'} members is possible")
    return node


def _dependent(flat: list[Part]) -> dict[str, list[str]]:
    """The names that each name asks for (``dependentRequired``, and ``dependencies`` with lists)."""
    found: dict[str, list[str]] = {}
    for part in flat:
        for keyword in ("dependentRequired", "dependencies"):
            for name, others in part.schema.get(keyword, {}).items():
                if isinstance(others, list) and others:
                    found.setdefault(name, []).extend(others)
    return found


def _without(lowering: Lowering, flat: list[Part], name: str) -> Node:
    """The objects of a conjunction that lack ``name``."""
    place = flat[0].pointer
    return lowering.lower([*flat, Part(f"{place}{DERIVED}without/{escape(name)}", {"properties": {name: False}})])


def _patterns(lowering: Lowering, flat: list[Part]) -> dict[str, Regex]:
    """The name patterns of all parts that have a language."""
    found: dict[str, Regex] = {}
    for part in flat:
        for text in part.schema.get("patternProperties", ()):
            if text in found:
                continue
            try:
                regex = compile_regex(text)
            except (UnsupportedSchema, SchemaLimit) as error:
                lowering.later(*lowering.conjunctions.attributed(part, "patternProperties"), f"{text!r:.64}: {error.reason}")
                continue
            except SchemaError as error:
                where = f"{part.place}/patternProperties/{escape(text)}"
                raise SchemaError(error.reason, pointer=where, keyword="patternProperties") from None
            if len(found) >= MAX_PATTERNS:
                lowering.later(*lowering.conjunctions.attributed(part, "patternProperties"), f"more than {MAX_PATTERNS} patterns")
                continue
            found[text] = regex
    return found


def _kinds(patterns: dict[str, Regex], names: Regex) -> list[tuple[frozenset[str], Regex]]:
    """The sets of patterns that a name can match, each with the language of such names."""
    found: list[tuple[frozenset[str], Regex]] = []
    for chosen in itertools.product((True, False), repeat=len(patterns)):
        regex = names
        for (_, pattern), wanted in zip(patterns.items(), chosen, strict=True):
            regex = both(regex, pattern if wanted else negated(pattern))
        if regex.is_everything or regex.shortest() is not None:
            found.append((frozenset(text for text, wanted in zip(patterns, chosen, strict=True) if wanted), regex))
    return found


def _names(lowering: Lowering, flat: list[Part]) -> Regex | None:
    """The language of names that every ``propertyNames`` admits; None where there is none."""
    regex = EVERYTHING
    for part in flat:
        if "propertyNames" in part.schema:
            regex = both(regex, name_language(lowering, [part.at("propertyNames")], 0))
    if regex.is_everything:
        return regex
    return None if regex.shortest() is None else regex


def name_language(lowering: Lowering, parts: list[Part], depth: int) -> Regex:
    """The strings that satisfy the parts."""
    conjunctions = lowering.conjunctions
    if depth > 20:
        raise limit("MAX_NESTING", 20, "schemas nested in schemas", parts[0].place)
    flat = conjunctions.flatten(parts)
    if flat is None:
        return negated(EVERYTHING)
    finite = [part for part in flat if "enum" in part.schema or "const" in part.schema]
    if finite:
        return words(sorted({value for value in lowering.values(flat, finite) if isinstance(value, str)}))
    branches = conjunctions.split(flat)
    if branches is not None:
        return either(*[name_language(lowering, branch, depth + 1) for branch in branches])
    for part in flat:
        named = part.schema.get("type", "string")
        if named != "string" and "string" not in named:
            return negated(EVERYTHING)
    low = max((int(p.schema["minLength"]) for p in flat if "minLength" in p.schema), default=0)
    high = min((int(p.schema["maxLength"]) for p in flat if "maxLength" in p.schema), default=None)
    language = language_of(conjunctions, flat) or EVERYTHING
    if low or high is not None:
        if high is not None and high < low:
            return negated(EVERYTHING)
        language = both(language, repeat(ANY, low, high))
    return language


