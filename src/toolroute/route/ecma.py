"""ECMA-262 patterns, as JSON Schema uses them, in Python's ``re``.

Theory. The two languages look alike and differ where it hurts: Python's ``$`` matches before a final newline, ``\\d`` and ``\\w`` match
every script, ``.`` matches CR and U+2028, a back-reference to a group that took no part fails instead of matching nothing. So no part of
a pattern is passed through: it is read as ECMA-262 (Unicode mode: a character is a code point; with the older grammar's tolerance for
escaped punctuation and stray braces) and every construct is written anew with the same meaning.

Syntax that only Python has (``\\A``, ``(?P<…``, ``(?i)``, possessive quantifiers) is an error of the schema, not an extension of it. What
Python cannot express (scripts and most binary properties, look-behind of no fixed width, inline modifiers) is ``UnsupportedSchema``;
nothing is approximated. Both carry ``keyword="pattern"``; the caller adds where.

Known difference: ECMA-262 forgets a group's capture when an enclosing quantifier starts over, Python keeps it. Cost: one pass over the
pattern; matching costs what Python's backtracking matcher costs.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..grammar.charset import LINE_ENDS, WORDS, Ranges, class_text, complement, only_surrogates
from ..grammar.ecma_reader import PatternReader

MAX_REPEAT_DIGITS = 9
"""Longest bound of a quantifier, in digits; Python's matcher counts in 32 bits."""

_WORD = class_text(WORDS)
_BOUNDARIES = {
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]+)(?:,([0-9]*))?\})\??")
_CAPTURE = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\((?!\?)|\(\?<([^\W\d][\w$]*)>)", re.DOTALL)
_OPENINGS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_MODIFIERS = re.compile(r"\(\?[ims]*(?:-[ims]+)?:")
_NUMBER = re.compile(r"[1-9][0-9]*")
_NAMED = re.compile(r"k<([^>]*)>")


class _Translation(PatternReader):
    """One pass over one pattern; ``out`` collects Python pieces, ``repeatable`` says whether the last one may be quantified."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.repeatable = False
        self.out: list[str] = []
        self.captures = [match.group(2) for match in _CAPTURE.finditer(pattern) if match.group(1)]  # a name or None, in order
        self.opened = 0
        self.closed: set[int] = set()
        self.stack: list[tuple[int, bool]] = []  # per open group: its number (0: captures nothing), whether it is an assertion

    def run(self) -> str:
        names = [name for name in self.captures if name]
        if len(set(names)) != len(names):
            raise self.unsupported("a group name is used twice")
        while self.at < len(self.pattern):
            self.step()
        if self.stack:
            raise self.fault("a group is not closed")
        return "".join(self.out)

    def emit(self, text: str, *, repeatable: bool = True) -> None:
        self.out.append(text)
        self.repeatable = repeatable

    def emit_set(self, ranges: Ranges) -> None:
        if only_surrogates(ranges):
            raise self.unsupported("half a surrogate pair matches no text")
        self.emit(class_text(ranges))

    def step(self) -> None:
        if match := self.take(_QUANTIFIER):
            return self.quantifier(match)
        char = self.pattern[self.at]
        if char == "(":
            return self.open()
        self.at += 1
        if char == ")":
            self.close()
        elif char == "[":
            self.emit_set(self.char_class())
        elif char == "\\":
            self.escape()
        elif char in "^$|":
            self.emit(r"\Z" if char == "$" else char, repeatable=False)
        elif char == ".":
            self.emit_set(complement(LINE_ENDS))
        else:
            self.emit(re.escape(char))
        return None

    def quantifier(self, match: re.Match[str]) -> None:
        low, high = match.groups()
        if not self.repeatable:
            raise self.fault("there is nothing to repeat")
        if max(len(low or ""), len(high or "")) > MAX_REPEAT_DIGITS:
            raise self.unsupported("a repetition count is too large")
        if low and high and int(low) > int(high):
            raise self.fault("the bounds of a repetition are out of order")
        self.emit(match.group(), repeatable=False)

    def open(self) -> None:
        rest = self.pattern[self.at : self.at + 16]
        opening = next((text for text in _OPENINGS if rest.startswith(text)), None)
        if opening is not None:
            self.at += len(opening)
            self.stack.append((0, opening != "(?:"))
            return self.emit(opening, repeatable=False)
        if _MODIFIERS.match(rest):
            raise self.unsupported("inline modifiers")
        if not self.take(_CAPTURE) or self.pattern[self.at - 1] not in "(>":
            raise self.fault(f"{rest[:4]!r} begins no group of ECMA-262")
        self.opened += 1
        self.stack.append((self.opened, False))
        return self.emit("(", repeatable=False)

    def close(self) -> None:
        if not self.stack:
            raise self.fault("a group is closed that is not open")
        number, assertion = self.stack.pop()
        self.closed.add(number)
        self.emit(")", repeatable=not assertion)

    def escape(self) -> None:
        """What stands after a backslash, outside a class."""
        char = self.pattern[self.at : self.at + 1]
        if char in _BOUNDARIES:
            self.at += 1
            self.emit(_BOUNDARIES[char], repeatable=False)
        elif match := self.take(_NUMBER):
            if len(match.group()) > MAX_REPEAT_DIGITS or int(match.group()) > len(self.captures):
                raise self.fault(f"there is no group \\{match.group()[:9]}")
            self.reference(int(match.group()))
        elif match := self.take(_NAMED):
            if match.group(1) not in self.captures:
                raise self.fault(f"there is no group named {match.group(1)!r:.64}")
            self.reference(self.captures.index(match.group(1)) + 1)
        else:
            item = self.class_escape()
            self.emit_set(((item, item),) if isinstance(item, int) else item)

    def reference(self, number: int) -> None:
        """Back to a group: what it captured, or nothing where it took no part; always nothing before its end."""
        self.emit(f"(?:(?({number})\\{number}))" if number in self.closed else "(?:)")


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """``pattern`` (ECMA-262) as a compiled Python pattern; ``search`` is what JSON Schema asks for.

    Raises ``SchemaError`` for what is not ECMA-262 and ``UnsupportedSchema`` for what Python cannot express, ``keyword="pattern"``.
    """
    translation = _Translation(pattern)
    text = translation.run()
    try:
        return re.compile(text)
    except re.error as error:
        raise translation.unsupported(str(error)) from error
    except (OverflowError, RecursionError, MemoryError) as error:
        raise translation.unsupported("it is too large for Python's matcher") from error


def translate(pattern: str) -> str:
    """``pattern`` (ECMA-262) in the syntax of Python's ``re``. Raises as ``compile_pattern`` does."""
    return compile_pattern(pattern).pattern
