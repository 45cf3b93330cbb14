"""Numbers and strings: what a conjunction without alternatives says of them.

A regular language says all of a string but its length, which is counted; ``pattern``, ``format`` and their negations meet in one language.
What has none (look-behind, ``format: regex``) is checked after.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from ..errors import SchemaError, SchemaLimit, UnsupportedSchema
from ..grammar.expr import NEVER, Node, choice, lit, seq
from ..grammar.multiples import multiple
from ..grammar.numbers import integer, number
from ..grammar.pattern import compile_regex
from ..grammar.regex import Regex, both, negated, words
from ..grammar.strings import string
from ..grammar.text import text
from ..route.formats import FORMATS, UNCHECKED
from .conjunction import Conjunctions, limit
from .document import Part
from .formats import NARROWER, REGULAR
from .formats import language as format_language
from .negate import NOT_ENUM, NOT_FORMAT, NOT_MULTIPLE, NOT_PATTERN

MAX_SHORTEST: Final = 100_000
"""Bytes of the shortest text of one string, array or object, and items it must have (count). Near a cap closing sequences are spelled in
tokens, some 4 µs a byte; no reply comes near."""

MAX_HOLES: Final = 256
"""Numbers that a number must not equal (count; each is one more interval)."""


def _bounds(flat: list[Part]) -> tuple[Fraction | None, bool, Fraction | None, bool]:
    low: Fraction | None = None
    high: Fraction | None = None
    low_open = high_open = False
    for part in flat:
        schema = part.schema
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
    return low, low_open, high, high_open


def lower_number(conjunctions: Conjunctions, flat: list[Part], whole: bool) -> Node:
    """The numbers (``whole``: integers) of a conjunction."""
    low, low_open, high, high_open = _bounds(flat)
    step: Fraction | None = None
    steps: list[tuple[Part, Fraction]] = [(p, Fraction(str(p.schema["multipleOf"]))) for p in flat if "multipleOf" in p.schema]
    for part, value in steps:
        if multiple(value, whole, None, False, None, False) is None:
            conjunctions.later(*conjunctions.attributed(part, "multipleOf"), "the step has too many decimals")
        else:
            step = value if step is None else _common(step, value)
    broken = False
    for part in flat:
        if NOT_MULTIPLE in part.schema:
            refused = Fraction(str(part.schema[NOT_MULTIPLE]))
            if refused != 1 and not (whole and (1 / refused).denominator == 1):
                conjunctions.later(*conjunctions.attributed(part, "multipleOf"), f"not a multiple of {part.schema[NOT_MULTIPLE]}")
            elif whole:
                return NEVER
            else:
                broken = True
    if broken and step is not None:
        if step.denominator == 1:
            return NEVER
        part = next(part for part in flat if NOT_MULTIPLE in part.schema)
        conjunctions.later(*conjunctions.attributed(part, "multipleOf"), "a multiple of one number and not of another")
    holes = sorted({Fraction(str(v)) for v in excluded(flat) if isinstance(v, int | float) and not isinstance(v, bool)})
    if len(holes) > MAX_HOLES:
        raise limit("MAX_HOLES", MAX_HOLES, "numbers excluded", flat[0].place)
    nodes = []
    for a, a_open, b, b_open in _pieces(low, low_open, high, high_open, holes):
        if step is not None:
            node = multiple(step, whole, a, a_open, b, b_open)
            assert node is not None
            nodes.append(node)
        elif whole:
            first = None if a is None else -(-a.numerator // a.denominator) + (a_open and a.denominator == 1)
            last = None if b is None else b.numerator // b.denominator - (b_open and b.denominator == 1)
            nodes.append(integer(first, last))
        else:
            nodes.append(number(a, a_open, b, b_open, broken))
    return choice(nodes)


def _common(a: Fraction, b: Fraction) -> Fraction:
    """The least common multiple."""
    shared = Fraction(_gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
    return a * b / shared


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


Piece = tuple[Fraction | None, bool, Fraction | None, bool]


def _pieces(low: Fraction | None, low_open: bool, high: Fraction | None, high_open: bool, holes: list[Fraction]) -> list[Piece]:
    found: list[Piece] = []
    for hole in holes:
        within = high is None or hole <= high
        found.append((low, low_open, hole if within else high, within or high_open))
        if low is None or hole > low or (hole == low and not low_open):
            low, low_open = hole, True
    return [*found, (low, low_open, high, high_open)]


def excluded(flat: list[Part]) -> list[Any]:
    """The values that the conjunction must not equal."""
    return [value for part in flat if NOT_ENUM in part.schema for value in part.schema[NOT_ENUM]]


def lower_string(conjunctions: Conjunctions, flat: list[Part]) -> Node:
    """The strings of a conjunction."""
    low = max((int(p.schema["minLength"]) for p in flat if "minLength" in p.schema), default=0)
    high = min((int(p.schema["maxLength"]) for p in flat if "maxLength" in p.schema), default=None)
    if low > MAX_SHORTEST:
        where = next(p.place for p in flat if "minLength" in p.schema)
        raise limit("MAX_SHORTEST", MAX_SHORTEST, "bytes in the shortest text", f"{where}/minLength", "minLength")
    language = language_of(conjunctions, flat)
    if high is not None and high < low:
        return _none(conjunctions, flat, f"minLength {low} is greater than maxLength {high}")
    if language is None:
        return string(low, high)
    try:
        node = seq(lit(b'"'), text(language, low, high))
    except SchemaLimit as error:
        for part, keyword in _asserting(conjunctions, flat):
            conjunctions.later(*conjunctions.attributed(part, keyword), error.reason)
        return string(low, high)
    return node if node.best is not None else _none(conjunctions, flat, "no string satisfies its patterns, formats and lengths together")


def language_of(conjunctions: Conjunctions, flat: list[Part]) -> Regex | None:
    """The language of the strings of a conjunction, lengths left aside; None: all strings."""
    parts: list[Regex] = []
    for part, keyword in _asserting(conjunctions, flat):
        value = part.schema[keyword]
        try:
            if keyword == "pattern":
                parts.append(compile_regex(value))
            elif keyword == NOT_PATTERN:
                parts.append(negated(compile_regex(value)))
            elif value in REGULAR:
                language = format_language(value)
                if keyword != "format" and value in NARROWER:
                    conjunctions.later(*conjunctions.attributed(part, "format"), "leap seconds")
                parts.append(language if keyword == "format" else negated(language))
            elif value in UNCHECKED:
                raise UnsupportedSchema(f"the format {value!r} cannot be checked", pointer=f"{part.place}/format", keyword="format")
            elif value in FORMATS:
                conjunctions.later(*conjunctions.attributed(part, "format"), f"the format {value!r} is no regular language")
        except (UnsupportedSchema, SchemaLimit) as error:
            if error.keyword == "format":
                raise
            place, name = conjunctions.attributed(part, keyword if isinstance(keyword, str) else "not")
            conjunctions.later(place, name, error.reason)
        except SchemaError as error:
            place, name = conjunctions.attributed(part, keyword if isinstance(keyword, str) else "pattern")
            raise SchemaError(error.reason, pointer=f"{place}/{name}", keyword="pattern") from None
    holes = [value for value in excluded(flat) if isinstance(value, str)]
    if holes:
        parts.append(negated(words(sorted(set(holes)))))
    if not parts:
        return None
    language = both(*parts)
    return None if language.is_everything else language


def _asserting(conjunctions: Conjunctions, flat: list[Part]) -> list[tuple[Part, Any]]:
    keywords: list[Any] = ["pattern", NOT_PATTERN]
    if conjunctions.formats:
        keywords += ["format", NOT_FORMAT]
    return [(part, keyword) for part in flat for keyword in keywords if keyword in part.schema]


def _none(conjunctions: Conjunctions, flat: list[Part], reason: str) -> Node:
    conjunctions.never.append((flat[0].place if flat else "", reason))
    return NEVER
