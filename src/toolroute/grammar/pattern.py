"""ECMA-262 patterns → the language of the whole texts in which they are found.

Theory. JSON Schema asks whether a pattern matches *somewhere*, so a pattern is compiled with what may come after it as its continuation:
at the end of the pattern that is any text. Assertions are then exact, because they speak of the rest of the text: ``$`` leaves of the
continuation only the empty text, ``(?=x)`` intersects it with the texts that begin with ``x``, ``(?!x)`` with the others, and ``^`` keeps
it where nothing has been read and else kills it. Within a repeated group an assertion would speak of a continuation that contains the
group itself; short repetitions are written out, others, and look-behind, word boundaries and back-references, are ``UnsupportedSchema``:
the caller then leaves the pattern to the check of the finished reply.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from ..errors import SchemaLimit
from .charset import LINE_ENDS, Ranges, complement
from .ecma_reader import PatternReader
from .regex import ANY, EMPTY, EVERYTHING, NOTHING, Regex, both, chars, concat, either, negated, repeat

MAX_PATTERN: Final = 20_000
"""Characters of a pattern (count)."""

MAX_COPIES: Final = 16
"""Copies of a repeated group that has an assertion in it (count)."""

MAX_GROUPS: Final = 100
"""Groups in groups (count): Python's stack bounds it."""

_QUANTIFIER = re.compile(r"(?:([*+?])|\{([0-9]{1,9})(?:(,)([0-9]{0,9}))?\})\??")
_NAME = re.compile(r"\?<[^\W\d][\w$]*>")


class _Item(NamedTuple):
    """A piece of a pattern. ``kind``: set, cat, alt, rep, begin, end, look."""

    kind: str
    parts: tuple[_Item, ...] = ()
    ranges: Ranges = ()
    low: int = 0
    high: int | None = None
    positive: bool = True

    @property
    def plain(self) -> bool:
        """Whether there is no assertion in it."""
        return self.kind not in ("begin", "end", "look") and all(part.plain for part in self.parts)

    @property
    def width(self) -> int:
        """Characters it takes at least; −1 for what never takes any."""
        if self.kind in ("begin", "end", "look"):
            return -1
        if self.kind == "set":
            return 1
        widths = [part.width for part in self.parts]
        if self.kind == "alt":
            return -1 if widths and all(width == -1 for width in widths) else min((max(width, 0) for width in widths), default=0)
        if self.kind == "rep":
            return -1 if widths[0] == -1 else widths[0] * self.low
        return -1 if widths and all(width == -1 for width in widths) else sum(max(width, 0) for width in widths)


class _Parser(PatternReader):
    """Reads a pattern that ``route.ecma`` has found to be well formed, or finds the same faults."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.depth = 0

    def whole(self) -> _Item:
        item = self.alternatives()
        if self.at < len(self.pattern):
            raise self.fault("a group is closed that is not open")
        return item

    def alternatives(self) -> _Item:
        branches = [self.sequence()]
        while self.pattern.startswith("|", self.at):
            self.at += 1
            branches.append(self.sequence())
        return branches[0] if len(branches) == 1 else _Item("alt", tuple(branches))

    def sequence(self) -> _Item:
        items: list[_Item] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            item = self.atom()
            if match := self.take(_QUANTIFIER):
                if item.kind in ("begin", "end"):
                    raise self.fault("there is nothing to repeat")
                item = self.repeated(item, match)
                if _QUANTIFIER.match(self.pattern, self.at):
                    raise self.fault("there is nothing to repeat")
            items.append(item)
        return items[0] if len(items) == 1 else _Item("cat", tuple(items))

    def repeated(self, item: _Item, match: re.Match[str]) -> _Item:
        sign, low, comma, high = match.groups()
        if sign:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            least = int(low)
            most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            raise self.fault("the bounds of a repetition are out of order")
        return _Item("rep", (item,), low=least, high=most)

    def atom(self) -> _Item:
        char = self.pattern[self.at]
        if char == "(":
            return self.group()
        if self.take(_QUANTIFIER):
            raise self.fault("there is nothing to repeat")
        self.at += 1
        if char == "[":
            return _Item("set", ranges=self.char_class())
        if char == "^":
            return _Item("begin")
        if char == "$":
            return _Item("end")
        if char == ".":
            return _Item("set", ranges=complement(LINE_ENDS))
        if char == "\\":
            following = self.pattern[self.at : self.at + 1]
            if following and following in "bB":
                raise self.unsupported("the mask knows no word boundaries")
            if following and following in "123456789k":
                raise self.unsupported("the mask knows no back-references")
            found = self.class_escape()
            return _Item("set", ranges=((found, found),) if isinstance(found, int) else found)
        return _Item("set", ranges=((ord(char), ord(char)),))

    def group(self) -> _Item:
        self.at += 1
        kind = "group"
        for opening, name in (("?:", "group"), ("?=", "ahead"), ("?!", "not ahead"), ("?<=", "behind"), ("?<!", "behind")):
            if self.pattern.startswith(opening, self.at):
                kind = name
                self.at += len(opening)
                break
        else:
            if self.pattern.startswith("?", self.at) and not self.take(_NAME):
                raise self.unsupported("the mask does not know this group")
        if kind == "behind":
            raise self.unsupported("the mask knows no look-behind")
        self.depth += 1
        if self.depth > MAX_GROUPS:
            raise SchemaLimit(
                f"more than {MAX_GROUPS} groups in groups", keyword="pattern", limit="MAX_GROUPS", needed=self.depth, given=MAX_GROUPS
            )
        inner = self.alternatives()
        if not self.pattern.startswith(")", self.at):
            raise self.fault("a group is not closed")
        self.at += 1
        self.depth -= 1
        if kind == "group":
            return inner if inner.kind != "cat" or inner.parts else _Item("cat")
        return _Item("look", (inner,), positive=kind == "ahead")


Start = bool | None
"""Whether nothing has been read yet (None: that depends)."""


def _plain(item: _Item) -> Regex:
    if item.kind == "set":
        return chars(item.ranges)
    if item.kind == "cat":
        return concat(*[_plain(part) for part in item.parts])
    if item.kind == "alt":
        return either(*[_plain(part) for part in item.parts])
    return repeat(_plain(item.parts[0]), item.low, item.high)


def _before(reader: PatternReader, item: _Item, k: Regex, start: Start) -> Regex:
    """``item`` and then ``k``."""
    if item.kind == "begin":
        if start is None:
            raise reader.unsupported("^ after something that may be empty")
        return k if start else NOTHING
    if item.kind == "end":
        return both(k, EMPTY)
    if item.kind == "look":
        ahead = _before(reader, item.parts[0], EVERYTHING, start)
        return both(ahead if item.positive else negated(ahead), k)
    if item.plain:
        return concat(_plain(item), k)
    if item.kind == "alt":
        return either(*[_before(reader, part, k, start) for part in item.parts])
    if item.kind == "cat":
        starts: list[Start] = []
        for part in item.parts:
            starts.append(start)
            start = start if part.width == -1 else False if part.width > 0 or start is False else None
        for part, at in zip(reversed(item.parts), reversed(starts), strict=True):
            k = _before(reader, part, k, at)
        return k
    inner, low, high = item.parts[0], item.low, item.high
    if inner.width == -1:  # an assertion said several times is said once
        low, high = min(low, 1), 1
    if high is None or high > MAX_COPIES:
        raise reader.unsupported("an assertion in a group that is repeated")
    later: Start = start if inner.width == -1 else False if inner.width > 0 or start is False else None
    rest = k
    for copy in range(high, 0, -1):
        one = _before(reader, inner, rest, start if copy == 1 else later)
        rest = one if copy <= low else either(one, k)
    return rest


@lru_cache(maxsize=1024)
def compile_regex(pattern: str) -> Regex:
    """The language of the texts in which ``pattern`` (ECMA-262, Unicode mode) is found.

    Raises ``SchemaError`` for what is not ECMA-262, ``UnsupportedSchema`` for what has no language here and ``SchemaLimit`` for what is too
    large, ``keyword="pattern"``.
    """
    if len(pattern) > MAX_PATTERN:
        reason = f"a pattern of more than {MAX_PATTERN} characters"
        raise SchemaLimit(reason, keyword="pattern", limit="MAX_PATTERN", needed=len(pattern), given=MAX_PATTERN)
    reader = _Parser(pattern)
    item = reader.whole()
    first = _before(reader, item, EVERYTHING, True)
    later = _before(reader, item, EVERYTHING, False)
    if first is later:
        return concat(EVERYTHING, later)
    return either(first, concat(ANY, EVERYTHING, later))
