"""JSON strings and free member names whose text lies in a regular language.

One spelling a text, as ``json.dumps`` with ``ensure_ascii=False`` writes it, so that what a pattern forces is forced in the reply too,
and a name cannot be said twice in two ways. The residual is what is left of the language after the characters so far, the bytes of a
character under way, and (for strings) how many characters must and may come, or (for names) which names are taken. Every residual is
tried for emptiness: a byte is admitted only where the text can be completed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from json.encoder import encode_basestring  # as json.dumps(ensure_ascii=False) writes a string

from .expr import Least, Node, State, View, cons, intern
from .regex import EVERYTHING, Regex, both, negated, words
from .strings import BACKSLASH, PLAIN, QUOTE, TAILS, ExtraMembers

NARROW = 24
"""Characters up to which a position in a text lists them all (count); with more it is a wide leaf, which masks take whole."""


def spelled(text: str) -> bytes:
    """``text`` as it stands between quotes."""
    return encode_basestring(text)[1:-1].encode()


def decoded(spelling: bytes) -> str:
    """The text that is spelled so."""
    return json.loads(b'"%s"' % spelling, strict=False)  # type: ignore[no-any-return]


_ESCAPES = {spelled(chr(code)): chr(code) for code in (*range(0x20), QUOTE, BACKSLASH)}
_STARTS = frozenset(escape[:size] for escape in _ESCAPES for size in range(1, len(escape)))


def character(spelling: bytes) -> str | None:
    """The character spelled so; "" where more bytes must come; None where no character begins so."""
    first = spelling[0]
    if first == BACKSLASH:
        return _ESCAPES.get(spelling, "" if spelling in _STARTS else None)
    if first in PLAIN:
        return chr(first) if len(spelling) == 1 else None
    if first not in TAILS:
        return None
    try:
        return spelling.decode()
    except UnicodeDecodeError as error:
        return "" if error.reason == "unexpected end of data" else None


def characters(under: bytes, language: Regex) -> list[str]:
    """For a character that is under way: one character of each class of ``language`` that it may become."""
    if under[0] == BACKSLASH:
        return [char for escape, char in _ESCAPES.items() if escape.startswith(under)]
    size = 2 if under[0] < 0xE0 else 3 if under[0] < 0xF0 else 4
    missing = size - len(under)
    low = max(_code(under + b"\x80" * missing, size), {2: 0x80, 3: 0x800, 4: 0x10000}[size])
    high = min(_code(under + b"\xbf" * missing, size), 0x10FFFF)
    starts = {low, *(code for code in language.classes if low <= code <= high)}
    if low <= 0xD7FF < high:
        starts.add(0xE000)  # behind the surrogates
    return [chr(code) for code in sorted(starts) if not 0xD800 <= code <= 0xDFFF]


def _code(spelling: bytes, size: int) -> int:
    value = spelling[0] & (0x7F >> size)
    for byte in spelling[1:]:
        value = value << 6 | byte & 0x3F
    return value


class Spelling(Node):
    """What strings and names have in common. ``language``: of the text still to come; ``under``: bytes of a character under way."""

    __slots__ = ("language", "under")
    language: Regex
    under: bytes

    def longer(self, char: str) -> Node:
        """The node after one more character."""
        raise NotImplementedError

    def begun(self, under: bytes) -> Node:
        """The node within a character."""
        raise NotImplementedError

    def closed(self, k: State) -> State | None:
        """The state after the closing quote, or None where the text must not end here."""
        raise NotImplementedError

    def ending(self) -> bytes | None:
        """The shortest bytes that complete the text; None: there are none."""
        raise NotImplementedError

    def classes(self) -> tuple[int, ...]:
        """Where the classes of characters begin whose members all lead on, or all do not."""
        return self.language.classes

    def expand(self, k: State) -> View:
        edges: dict[int, State] = {}
        if not self.under and (after := self.closed(k)) is not None:
            edges[QUOTE] = after
        following = self._following(k)
        for byte in (BACKSLASH,) if following is None else following:
            if (state := self.step(byte, k)) is not None:
                edges[byte] = state
        if following is not None:
            return View(edges, (), False)
        here = cons(self, k)
        assert here is not None
        return View(edges, (here,), False)

    def _following(self, k: State) -> list[int] | None:
        """Bytes that may come next, the quote aside; None where they are many. One character speaks for its whole class."""
        if self.under:
            if self.under[0] >= 0x80:
                return list(range(0x80, 0xC0))
            return sorted({escape[len(self.under)] for escape in _ESCAPES if escape.startswith(self.under) and escape != self.under})
        found: set[int] = set()
        count = 0
        classes = self.classes()
        for first, last in zip(classes, (*(start - 1 for start in classes[1:]), 0x10FFFF), strict=True):
            if 0xD800 <= first <= 0xDFFF:
                first = 0xE000
            if first > last or cons(self.longer(chr(first)), k) is None:
                continue
            count += last - first + 1
            if count > NARROW:
                return None
            found.update(spelled(chr(code))[0] for code in range(first, last + 1))
        return sorted(found)

    def step(self, byte: int, k: State) -> State | None:
        under = self.under + bytes((byte,))
        char = character(under)
        if char is None:
            return None
        return cons(self.longer(char) if char else self.begun(under), k)


def _ending(language: Regex, under: bytes, shortest: Callable[[Regex, int], str | None]) -> bytes | None:
    """The shortest bytes that complete a text. ``shortest(language, count)``: a shortest rest after ``count`` more characters."""
    if not under:
        text = shortest(language, 0)
        return None if text is None else spelled(text)
    best: bytes | None = None
    for char in characters(under, language):
        text = shortest(language.step(ord(char)), 1)
        if text is not None:
            whole = spelled(char + text)[len(under) :]
            best = whole if best is None or len(whole) < len(best) else best
    return best


class Text(Spelling):
    """The rest of a string: ``low`` to ``high`` (None: any number of) characters out of ``language``, and the closing quote."""

    __slots__ = ("high", "low")
    strict = True

    def __init__(self, language: Regex, low: int, high: int | None, under: bytes) -> None:
        self.language, self.low, self.high, self.under = language, low, high, under

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        if self.high is not None and self.high < max(self.low, bool(self.under)):
            return None
        ending = self.ending()
        return None if ending is None else (len(ending) + 1, 0)

    def spell(self) -> bytes:
        return (self.ending() or b"") + b'"'

    def ending(self) -> bytes | None:
        return _ending(self.language, self.under, self._rest)

    def _rest(self, language: Regex, count: int) -> str | None:
        high = None if self.high is None else self.high - count
        return None if high is not None and high < 0 else language.shortest(max(self.low - count, 0), high)

    def longer(self, char: str) -> Node:
        return self.moved(self.language.step(ord(char)), 1)

    def moved(self, language: Regex, count: int) -> Node:
        """The node with ``language`` after ``count`` more characters."""
        return text(language, max(self.low - count, 0), None if self.high is None else self.high - count)

    def begun(self, under: bytes) -> Node:
        return intern(Text, self.language, self.low, self.high, under)  # type: ignore[no-any-return]

    def closed(self, k: State) -> State | None:
        return k if self.low == 0 and self.language.nullable else None


def text(language: Regex, low: int, high: int | None) -> Node:
    """The rest of a string after its opening quote."""
    return intern(Text, language, low, high, b"")  # type: ignore[no-any-return]


class Name(Spelling):
    """The rest of a free name. ``prefix``: its complete characters so far, as bytes; ``members``: the object's node for what follows."""

    __slots__ = ("members", "prefix")
    opens = 1
    strict = True
    low, high = 0, None

    def __init__(self, language: Regex, prefix: bytes, under: bytes, members: ExtraMembers) -> None:
        self.language, self.prefix, self.under, self.members = language, prefix, under, members

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        after = of(self.members.after(b"\0"))  # every free name of a kind is followed by the same kind of text
        if not isinstance(after, tuple) or after[0] < 0:
            return after
        ending = self.ending()
        return None if ending is None else (len(ending) + 1 + after[0], after[1])

    def spell(self) -> bytes:
        ending = self.ending()
        assert ending is not None
        return ending + b'"' + self.members.after(self.prefix + self.under + ending).spell()

    def ending(self) -> bytes | None:
        ending = _ending(self.language, self.under, lambda language, count: language.shortest())
        if ending is None or self.prefix + self.under + ending not in self.members.used:
            return ending
        return _ending(both(self.language, self._not_taken()), self.under, lambda language, count: language.shortest())

    def classes(self) -> tuple[int, ...]:
        return both(self.language, self._not_taken()).classes  # a name that is taken is a class of its own

    def _not_taken(self) -> Regex:
        """What may follow ``prefix`` without making a name that is taken."""
        begun = decoded(self.prefix)
        rests = [name[len(begun) :] for name in map(decoded, self.members.used) if name.startswith(begun)]
        return negated(words(rests)) if rests else EVERYTHING

    def longer(self, char: str) -> Node:
        return intern(Name, self.language.step(ord(char)), self.prefix + spelled(char), b"", self.members)  # type: ignore[no-any-return]

    def begun(self, under: bytes) -> Node:
        return intern(Name, self.language, self.prefix, under, self.members)  # type: ignore[no-any-return]

    def closed(self, k: State) -> State | None:
        if not self.language.nullable or self.prefix in self.members.used:
            return None
        return cons(self.members.after(self.prefix), k)


def free_names(names: Regex | None, reserved: frozenset[bytes], count: int) -> list[bytes]:
    """Up to ``count`` short names of the language (None: all names) that are not among ``reserved``."""
    if names is None:
        letters = (bytes(word) for size in itertools.count() for word in itertools.product(b"abcdefghijklmnopqrstuvwxyz", repeat=size))
        return list(itertools.islice((word for word in letters if word not in reserved), count))
    found: list[bytes] = []
    language = both(names, negated(words(sorted(map(decoded, reserved)))))
    while len(found) < count and (name := language.shortest()) is not None:
        found.append(spelled(name))
        language = both(language, negated(words((name,))))
    return found
