"""Reading an ECMA-262 pattern: the escapes and the character classes.

Theory. A reader holds a pattern and a place in it, and takes from there. Escapes and classes mean the same wherever they stand, and both
come down to a code point or a set of them; what surrounds them (groups, quantifiers, assertions) is ``ecma``'s part. Read in Unicode
mode, where a character is a code point and an escaped surrogate pair is one of them, with the older grammar's tolerance for escaped
punctuation. A fault names the pattern and the character.
"""

from __future__ import annotations

import re

from ..errors import SchemaError, UnsupportedSchema
from .charset import DIGITS, SPACES, WORDS, Ranges, complement, property_ranges, union

_SETS: dict[str, Ranges] = {
    "d": DIGITS, "D": complement(DIGITS), "w": WORDS, "W": complement(WORDS), "s": SPACES, "S": complement(SPACES),
}  # fmt: skip
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}")
_LOW_HALF = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"[pP]\{([^}]*)\}")


class PatternReader:
    """A pattern and a place in it (``at``)."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def fault(self, reason: str) -> SchemaError:
        """The error for what is not ECMA-262."""
        return SchemaError(f"pattern {self.pattern!r:.64}: {reason}, at character {self.at}", keyword="pattern")

    def unsupported(self, reason: str) -> UnsupportedSchema:
        """The error for what Python cannot express."""
        return UnsupportedSchema(f"pattern {self.pattern!r:.64}: {reason}, at character {self.at}", keyword="pattern")

    def take(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """The match of ``expression`` here, moving past it, or None."""
        match = expression.match(self.pattern, self.at)
        if match:
            self.at = match.end()
        return match

    def class_escape(self) -> int | Ranges:
        """A set, or the code point of an escaped character."""
        char = self.pattern[self.at : self.at + 1]
        if char in _SETS and char:
            self.at += 1
            return _SETS[char]
        if match := self.take(_PROPERTY):
            ranges = property_ranges(match.group(1))
            if ranges is None:
                raise self.unsupported(f"the property {match.group(1)!r:.64} is not a general category")
            return complement(ranges) if char == "P" else ranges
        if match := self.take(_HEX):
            return self.code_point(int(next(group for group in match.groups() if group), 16))
        following = self.pattern[self.at + 1 : self.at + 2]
        self.at += 1
        if char in _CONTROLS and char:
            return _CONTROLS[char]
        if char == "0" and not (following.isascii() and following.isdigit()):
            return 0
        if char == "c" and following.isascii() and following.isalpha():
            self.at += 1
            return ord(following) % 32
        if char and not (char.isascii() and char.isalnum()):
            return ord(char)
        raise self.fault(f"\\{char} is no escape of ECMA-262" if char else "a lone backslash")

    def code_point(self, code: int) -> int:
        """A code point, a high half joined with the low half that is escaped after it."""
        if 0xD800 <= code <= 0xDBFF and (match := self.take(_LOW_HALF)):
            return 0x10000 + ((code - 0xD800) << 10) + int(match.group(1), 16) - 0xDC00
        if code > 0x10FFFF:
            raise self.fault("a code point past 10FFFF")
        return code

    def char_class(self) -> Ranges:
        """The set between brackets; the opening one is already read."""
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        parts: list[tuple[int, int]] = []
        while not self.pattern.startswith("]", self.at):
            low = self.class_atom()
            high: int | Ranges = low
            if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at):
                self.at += 1
                high = self.class_atom()
                if isinstance(low, int) and isinstance(high, int):
                    if low > high:
                        raise self.fault("a range is out of order")
                    parts.append((low, high))
                    continue
                parts.append((0x2D, 0x2D))
            for item in (low, high):
                parts.extend([(item, item)] if isinstance(item, int) else item)
        self.at += 1
        return complement(union(parts)) if negated else union(parts)

    def class_atom(self) -> int | Ranges:
        char = self.pattern[self.at : self.at + 1]
        if not char:
            raise self.fault("a character class is not closed")
        self.at += 1
        if char != "\\":
            return ord(char)
        if self.pattern.startswith("b", self.at):
            self.at += 1
            return 8
        return self.class_escape()
