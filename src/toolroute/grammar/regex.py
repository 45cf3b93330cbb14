"""Regular languages over code points, as residuals.

Theory. A ``Regex`` is a set of texts, and ``step`` gives what may still come after one character (Brzozowski's derivative). With
intersection and complement among the operators, everything that several keywords say of one string is one language, and "not" costs
nothing. Nodes are hash-consed and built through constructors that apply the laws which keep the number of different derivatives small
(associativity, commutativity, idempotence, neutral and absorbing members); counted repetition is a counter, never unrolled. Nothing is
determinised ahead of time: states come into being where somebody walks.

Whether a language is empty is not visible from its form; ``shortest`` decides it by looking for a word, breadth first over the derivatives.
Derivatives differ only by class of character: a node knows the boundaries of its classes, so a step is computed once per class.

Cost. A step is linear in the node's size, once per state and class; a search visits each state once, within ``MAX_STATES``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, Final

from ..errors import SchemaLimit
from .charset import LAST, SURROGATES, Ranges, complement, union

MAX_STATES: Final = 20_000
"""States visited in one search for a shortest word, each counted with its members (count; some 50 µs each)."""

MAX_REACH: Final = 200
"""Nested operators that one step may have to look through (count): Python's stack bounds it."""

MAX_INTERNED: Final = 200_000
"""Nodes kept for sharing (count, some 300 B each); beyond it sharing starts anew."""

_table: dict[tuple[Any, ...], Regex] = {}
_FAVOURED: Final = "a0 A-_./:@,"
"""The characters a shortest word is made of where it has the choice, best first."""
_RANK: Final = {ord(char): rank for rank, char in enumerate(_FAVOURED)}


class Regex:
    """A regular language. ``nullable``: whether the empty text is in it; ``classes``: sorted code points at which a new class of
    characters begins (the first is 0); ``alphabet``: the same for the language and all its residuals."""

    __slots__ = ("_empty", "_shortest", "_steps", "alphabet", "args", "classes", "kind", "nullable", "reach")

    def __init__(self, kind: str, args: tuple[Any, ...], nullable: bool, classes: tuple[int, ...], alphabet: tuple[int, ...], reach: int):
        self.kind, self.args, self.nullable, self.classes, self.alphabet, self.reach = kind, args, nullable, classes, alphabet, reach
        self._steps: dict[int, Regex] = {}
        self._shortest: dict[tuple[int, int | None], str | None] = {}
        if reach > MAX_REACH:
            raise _limit("MAX_REACH", MAX_REACH, "nested operators in a pattern")

    @property
    def is_everything(self) -> bool:
        return self is EVERYTHING

    def step(self, code: int) -> Regex:
        """What may come after the character ``code``."""
        index = bisect_right(self.classes, code)
        found = self._steps.get(index)
        if found is None:
            found = self._steps[index] = _derivative(self, code)
        return found

    def after(self, text: str) -> Regex:
        """What may come after ``text``."""
        state = self
        for char in text:
            state = state.step(ord(char))
        return state

    def accepts(self, text: str) -> bool:
        """Whether ``text`` is in the language."""
        return self.after(text).nullable

    def shortest(self, low: int = 0, high: int | None = None) -> str | None:
        """A shortest word of ``low`` to ``high`` (None: any number of) characters; None where there is none.

        Raises ``SchemaLimit`` where the search visits more than ``MAX_STATES`` states.
        """
        key = (low, high)
        if key not in self._shortest:
            self._shortest[key] = _search(self, low, high)
        return self._shortest[key]

    def representatives(self) -> list[int]:
        """One character of each class that text can hold, a readable one where there is one, and the most readable first."""
        found: list[int] = []
        for i, first in enumerate(self.classes):
            last = self.classes[i + 1] - 1 if i + 1 < len(self.classes) else LAST
            if SURROGATES[0][0] <= first <= SURROGATES[0][1]:
                first = SURROGATES[0][1] + 1  # no text holds half a surrogate pair
            if first <= last:
                found.append(next((ord(char) for char in _FAVOURED if first <= ord(char) <= last), max(first, min(0x21, last))))
        return sorted(found, key=lambda code: _RANK.get(code, 0x20000 if code < 0x20 else code + 100))

    def __repr__(self) -> str:
        return f"<Regex {self.kind} {self.args!r:.60}>"


def _limit(name: str, given: int, what: str) -> SchemaLimit:
    return SchemaLimit(f"more than {given} {what}", keyword="pattern", limit=name, needed=given + 1, given=given)


def _merged(*parts: tuple[int, ...]) -> tuple[int, ...]:
    return parts[0] if len(set(parts)) == 1 else tuple(sorted(set().union(*parts)))


def _intern(kind: str, args: tuple[Any, ...], nullable: bool, classes: tuple[int, ...], alphabet: tuple[int, ...], reach: int) -> Regex:
    key = (kind, args)
    found = _table.get(key)
    if found is None:
        if len(_table) >= MAX_INTERNED:
            _table.clear()
        found = _table[key] = Regex(kind, args, nullable, classes, alphabet, reach)
    return found


NOTHING: Final = Regex("never", (), False, (0,), (0,), 0)
EMPTY: Final = Regex("empty", (), True, (0,), (0,), 0)
ANY: Final = Regex("chars", (((0, LAST),),), False, (0,), (0,), 0)
EVERYTHING: Final = Regex("star", (ANY,), True, (0,), (0,), 1)


def chars(ranges: Ranges) -> Regex:
    """One character out of a set (sorted, disjoint ranges)."""
    if not ranges:
        return NOTHING
    if ranges == ((0, LAST),):
        return ANY
    bounds = sorted({0, *(low for low, _ in ranges), *(high + 1 for _, high in ranges if high < LAST)})
    return _intern("chars", (ranges,), False, tuple(bounds), tuple(bounds), 0)


def words(texts: Iterable[str]) -> Regex:
    """A finite set of texts. A step bisects, so ten thousand of them are no matter."""
    known = tuple(sorted(set(texts)))
    if not known:
        return NOTHING
    if known == ("",):
        return EMPTY
    if all(len(text) == 1 for text in known):
        return chars(union((ord(text), ord(text)) for text in known))
    firsts = {ord(text[0]) for text in known if text}
    everywhere = {ord(char) for text in known for char in text}
    return _intern("words", known, known[0] == "", _around(firsts), _around(everywhere), 0)


def _around(codes: set[int]) -> tuple[int, ...]:
    return tuple(sorted({0, *codes, *(code + 1 for code in codes if code < LAST)}))


def concat(*parts: Regex) -> Regex:
    """The texts of the parts, one after the other."""
    result = EMPTY
    for part in reversed(parts):
        result = _concat(part, result)
    return result


def _concat(a: Regex, b: Regex) -> Regex:
    if a is NOTHING or b is NOTHING:
        return NOTHING
    if a is EMPTY:
        return b
    if b is EMPTY:
        return a
    if (a is EVERYTHING and b.nullable) or (b is EVERYTHING and a.nullable):
        return EVERYTHING
    if a is EVERYTHING and b.kind == "concat" and b.args[0] is EVERYTHING:
        return b
    if a.kind == "concat":
        return _concat(a.args[0], _concat(a.args[1], b))
    if a.kind == "words" and b.kind == "words" and len(a.args) == len(b.args) == 1:
        return words((a.args[0] + b.args[0],))
    classes = _merged(a.classes, b.classes) if a.nullable else a.classes
    reach = 1 + max(a.reach, b.reach if a.nullable else 0)
    return _intern("concat", (a, b), a.nullable and b.nullable, classes, _merged(a.alphabet, b.alphabet), reach)


def either(*parts: Regex) -> Regex:
    """The union."""
    found: dict[Regex, None] = {}
    ranges: list[tuple[int, int]] = []
    listed: list[str] = []
    for part in parts:
        members: tuple[Regex, ...] = part.args if part.kind == "either" else (part,)
        for one in members:
            if one is EVERYTHING:
                return EVERYTHING
            if one.kind == "chars":
                ranges += one.args[0]
            elif one.kind == "words":
                listed += one.args
            elif one is EMPTY:
                listed.append("")
            elif one is not NOTHING:
                found[one] = None
    if ranges and listed:
        listed = [text for text in listed if not (len(text) == 1 and any(low <= ord(text) <= high for low, high in ranges))]
    for one in (chars(union(ranges)), words(listed)):
        if one is not NOTHING and not (one is EMPTY and any(other.nullable for other in found)):
            found[one] = None
    if len(found) <= 1:
        return next(iter(found), NOTHING)
    return _many("either", found, any(one.nullable for one in found))


def both(*parts: Regex) -> Regex:
    """The intersection."""
    found: dict[Regex, None] = {}
    ranges: Ranges | None = None
    for part in parts:
        members: tuple[Regex, ...] = part.args if part.kind == "both" else (part,)
        for one in members:
            if one is NOTHING:
                return NOTHING
            if one.kind == "chars":
                ranges = one.args[0] if ranges is None else _common(ranges, one.args[0])
            elif one is not EVERYTHING:
                found[one] = None
    if ranges is not None:
        found[chars(ranges)] = None
    if NOTHING in found:
        return NOTHING
    if EMPTY in found:
        return EMPTY if all(one.nullable for one in found) else NOTHING
    for one in found:
        if one.kind == "words":  # a finite set: judged here and now
            rest = [other for other in found if other is not one]
            return words(text for text in one.args if all(other.accepts(text) for other in rest)) if rest else one
        if one.kind == "not" and one.args[0] in found:
            return NOTHING
    if len(found) <= 1:
        return next(iter(found), EVERYTHING)
    return _many("both", found, all(one.nullable for one in found))


def _many(kind: str, found: dict[Regex, None], nullable: bool) -> Regex:
    members = tuple(sorted(found, key=id))
    classes = _merged(*(one.classes for one in members))
    return _intern(kind, members, nullable, classes, _merged(*(one.alphabet for one in members)), 1 + max(one.reach for one in members))


def _common(a: Ranges, b: Ranges) -> Ranges:
    return complement(union([*complement(a), *complement(b)]))


def negated(a: Regex) -> Regex:
    """Every text that is not in ``a``."""
    if a.kind == "not":
        return a.args[0]  # type: ignore[no-any-return]
    if a is NOTHING:
        return EVERYTHING
    if a is EVERYTHING:
        return NOTHING
    return _intern("not", (a,), not a.nullable, a.classes, a.alphabet, 1 + a.reach)


def repeat(a: Regex, low: int = 0, high: int | None = None) -> Regex:
    """``low`` to ``high`` (None: any number of) texts of ``a``, one after the other."""
    if a is NOTHING or a is EMPTY or high == 0:
        return EMPTY if a is EMPTY or low == 0 else NOTHING
    if low == 1 and high == 1:
        return a
    if a.nullable:
        low = 0
    if a.kind == "star" or (high is None and low == 0):
        if a is ANY or a is EVERYTHING:
            return EVERYTHING
        inner = a.args[0] if a.kind == "star" else a
        return _intern("star", (inner,), True, inner.classes, inner.alphabet, 1 + inner.reach)
    return _intern("repeat", (a, low, high), low == 0, a.classes, a.alphabet, 1 + a.reach)


def _derivative(a: Regex, code: int) -> Regex:
    kind, args = a.kind, a.args
    if kind == "chars":
        ranges = args[0]
        i = bisect_right(ranges, (code, LAST + 1)) - 1
        return EMPTY if i >= 0 and code <= ranges[i][1] else NOTHING
    if kind == "words":
        char = chr(code)
        i = bisect_left(args, char)
        found = []
        while i < len(args) and args[i][:1] == char:
            found.append(args[i][1:])
            i += 1
        return words(found)
    if kind == "concat":
        first = _concat(args[0].step(code), args[1])
        return either(first, args[1].step(code)) if args[0].nullable else first
    if kind == "either":
        return either(*[one.step(code) for one in args])
    if kind == "both":
        return both(*[one.step(code) for one in args])
    if kind == "not":
        return negated(args[0].step(code))
    if kind == "star":
        return _concat(args[0].step(code), a)
    if kind == "repeat":
        inner, low, high = args
        return _concat(inner.step(code), repeat(inner, max(low - 1, 0), None if high is None else high - 1))
    return NOTHING  # of the empty text, and of nothing


def _search(start: Regex, low: int, high: int | None) -> str | None:
    """Breadth first, one level a character. From ``low`` on a state that was seen before leads nowhere new."""
    if start is NOTHING:
        return None
    if low == 0 and start.nullable:
        return ""
    level: dict[Regex, None] = {start: None}
    seen: set[Regex] = {start} if low == 0 else set()
    came: list[dict[Regex, tuple[Regex, int]]] = []
    visited = 0
    while level and (high is None or len(came) < high):
        reached: dict[Regex, tuple[Regex, int]] = {}
        for state in level:
            visited += len(state.args) if state.kind in ("both", "either") else 1
            if visited > MAX_STATES:
                raise _limit("MAX_STATES", MAX_STATES, "states in the search for a shortest text")
            for code in state.representatives():
                after = state.step(code)
                if after is not NOTHING and after not in reached and after not in seen:
                    reached[after] = (state, code)
        came.append(reached)
        if len(came) >= low:
            for state in reached:
                if state.nullable:
                    return _word(state, came)
            seen.update(reached)
        level = dict.fromkeys(reached)
    return None


def _word(state: Regex, came: list[dict[Regex, tuple[Regex, int]]]) -> str:
    word = []
    for reached in reversed(came):
        state, code = reached[state]
        word.append(chr(code))
    return "".join(reversed(word))
