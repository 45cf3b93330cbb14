"""JSON strings (RFC 8259) as bytes: no raw control characters, the nine escapes, surrogates only in pairs, valid UTF-8 only.

``Body(low, high)`` is what stands after the opening quote, up to and including the closing one; lengths count code points, an escape (or
a surrogate pair of escapes) counts one. Counting is in the node: a bound of 100,000 costs nothing until somebody walks there.

``KeyBody`` is the body of a free member name. A reply with a duplicate name is refused by the parser, so a name that has been used must not
be spelled again, and since JSON can spell one name in many ways, free names have one spelling here: as ``json.dumps`` with
``ensure_ascii=False`` writes them. The used names are part of the residual; that is what makes the rule exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .expr import END, Bytes, Least, Node, State, View, choice, cons, intern, lit, seq

QUOTE, BACKSLASH = 0x22, 0x5C


def _bytes(values: bytes) -> Node:
    return intern(Bytes, values)  # type: ignore[no-any-return]


def _span(low: int, high: int) -> Node:
    return _bytes(bytes(range(low, high + 1)))


_HEX = _bytes(b"0123456789abcdefABCDEF")
_TAIL = _span(0x80, 0xBF)
_LOW_SURROGATE = seq(lit(b"\\u"), _bytes(b"dD"), _bytes(b"cdefCDEF"), _HEX, _HEX)
_CODE_UNIT = choice(
    (
        seq(_bytes(b"0123456789abcefABCEF"), _HEX, _HEX, _HEX),
        seq(_bytes(b"dD"), choice((seq(_bytes(b"01234567"), _HEX, _HEX), seq(_bytes(b"89abAB"), _HEX, _HEX, _LOW_SURROGATE)))),
    )
)
ESCAPE: Final[Node] = choice((_bytes(b'"\\/bfnrt'), seq(lit(b"u"), _CODE_UNIT)))
"""What may follow a backslash."""

KEY_ESCAPE: Final[Node] = choice(
    (
        _bytes(b'"\\bfnrt'),
        seq(lit(b"u00"), choice((seq(lit(b"0"), _bytes(b"01234567bef")), seq(lit(b"1"), _bytes(b"0123456789abcdef"))))),
    )
)
"""What may follow a backslash in a free member name: only the escape that ``json.dumps`` would write."""


def _tails() -> dict[int, Node]:
    """For each UTF-8 lead byte, the bytes that may follow (Unicode Standard, table 3-7)."""
    tails = dict.fromkeys(range(0xC2, 0xE0), _TAIL)
    tails.update(dict.fromkeys(range(0xE1, 0xF0), seq(_TAIL, _TAIL)))
    tails.update(dict.fromkeys(range(0xF1, 0xF4), seq(_TAIL, _TAIL, _TAIL)))
    tails[0xE0] = seq(_span(0xA0, 0xBF), _TAIL)
    tails[0xED] = seq(_span(0x80, 0x9F), _TAIL)
    tails[0xF0] = seq(_span(0x90, 0xBF), _TAIL, _TAIL)
    tails[0xF4] = seq(_span(0x80, 0x8F), _TAIL, _TAIL)
    return tails


TAILS: Final[dict[int, Node]] = _tails()
PLAIN: Final = frozenset(range(0x20, 0x80)) - {QUOTE, BACKSLASH}
"""The bytes that are a character of a string by themselves."""


class Body(Node):
    """A string body of ``low`` to ``high`` code points (None: any number), and its closing quote.

    ``strict``: only the escapes that ``json.dumps`` would write (one spelling a string).
    """

    __slots__ = ("high", "low", "strict")

    def __init__(self, low: int, high: int | None, strict: bool) -> None:
        self.low, self.high, self.strict = low, high, strict

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return None if self.high is not None and self.high < self.low else (self.low + 1, 0)

    def spell(self) -> bytes:
        return b"a" * self.low + b'"'

    def shorter(self, count: int) -> Node:
        """The body that is left after ``count`` more code points."""
        if count == 0 or (self.low == 0 and self.high is None):
            return self
        return body(max(self.low - count, 0), None if self.high is None else self.high - count, self.strict)

    def expand(self, k: State) -> View:
        edges: dict[int, State] = {}
        if self.low == 0:
            edges[QUOTE] = k
        wide: tuple[State, ...] = ()
        if self.high != 0:
            here, rest = cons(self, k), cons(self.shorter(1), k)
            assert here is not None and rest is not None  # one more code point fits
            escaped = cons(KEY_ESCAPE if self.strict else ESCAPE, rest)
            assert escaped is not None
            edges[BACKSLASH] = escaped
            wide = (here,)
        return View(edges, wide, False)

    def step(self, byte: int, k: State) -> State | None:
        if byte in PLAIN:
            return cons(self.shorter(1), k)
        tail = TAILS.get(byte)
        rest = None if tail is None else cons(self.shorter(1), k)
        return None if tail is None or rest is None else cons(tail, rest)


class KeyBody(Node):
    """The rest of a free member name whose bytes so far are ``prefix``, its closing quote, and all that follows in its object.

    ``members`` is the object's node for what follows (see ``objects.Extra``): it tells which names are taken and what comes after
    the name. ``inner`` is the rest of a character that is under way (a UTF-8 sequence or an escape), or END.
    """

    __slots__ = ("inner", "members", "prefix")
    opens = 1

    def __init__(self, prefix: bytes, inner: State, members: ExtraMembers) -> None:
        self.prefix, self.inner, self.members = prefix, inner, members

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        after = of(self.members.after(b"\0"))  # every free name is followed by the same kind of text
        if not isinstance(after, tuple) or after[0] < 0:
            return after
        return (len(self._ending()) + 1 + after[0], after[1])

    def _ending(self) -> bytes:
        """The shortest bytes that complete a name which is still free."""
        done = self.inner.closing()
        return done + self.members.free_suffix(self.prefix + done)

    def spell(self) -> bytes:
        ending = self._ending()
        return ending + b'"' + self.members.after(self.prefix + ending).spell()

    def expand(self, k: State) -> View:
        if self.inner is not END:
            return View(
                {b: s for b, after in self.inner.view.edges.items() if (s := self.longer(bytes((b,)), after, k)) is not None}, (), False
            )
        edges: dict[int, State] = {}
        if self.prefix not in self.members.used and (after := cons(self.members.after(self.prefix), k)) is not None:
            edges[QUOTE] = after
        escape = cons(KEY_ESCAPE, END)
        assert escape is not None
        if (escaped := self.longer(b"\\", escape, k)) is not None:
            edges[BACKSLASH] = escaped
        here = cons(self, k)
        return View(edges, () if here is None else (here,), False)

    def longer(self, more: bytes, inner: State, k: State) -> State | None:
        """The state after ``more`` bytes of the name; ``inner``: what is left of the character under way."""
        return cons(intern(KeyBody, self.prefix + more, inner, self.members), k)

    def step(self, byte: int, k: State) -> State | None:
        if byte in PLAIN:
            return self.longer(bytes((byte,)), END, k)
        tail = TAILS.get(byte)
        inner = None if tail is None else cons(tail, END)
        return None if inner is None else self.longer(bytes((byte,)), inner, k)


class ExtraMembers(Node):
    """What ``KeyBody`` needs of the object it stands in; ``objects.Extra`` implements it."""

    __slots__ = ("used",)
    used: frozenset[bytes]

    def after(self, name: bytes) -> Node:
        """What follows the closing quote of the name spelled ``name``."""
        raise NotImplementedError

    def free_suffix(self, prefix: bytes) -> bytes:
        """The shortest bytes, outside any escape, that make ``prefix`` a name not yet used."""
        for suffix in (b"", *(bytes((c,)) for c in range(0x61, 0x7B))):
            if prefix + suffix not in self.used:
                return suffix
        return b"a" + self.free_suffix(prefix + b"a")


def body(low: int, high: int | None, strict: bool = False) -> Node:
    """The rest of a string after its opening quote: ``low`` to ``high`` more code points, and the closing quote."""
    return intern(Body, low, high, strict)  # type: ignore[no-any-return]


def string(low: int = 0, high: int | None = None) -> Node:
    """A JSON string of ``low`` to ``high`` code points."""
    return seq(lit(b'"'), body(low, high))

