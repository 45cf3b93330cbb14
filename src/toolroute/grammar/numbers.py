"""JSON numbers with exact bounds, always finite and bounded in digits.

Theory. For digits that are still to come, only this matters: for each count *t* of remaining digits, which integers may those *t* digits
form? ``Digits`` holds exactly that, one closed interval (a *window*) per *t*, so it is the residual in canonical form: two prefixes that
leave the same windows are the same node. The integer part of a number is such a node (windows cut at 10^(t-1), which also rules out leading
zeros), and so is a fraction: *t* fraction digits are the integer they spell over 10^t. Exclusive bounds only shift a window's end.

Canonical form: no leading zeros, no ``+``; without bounds an exponent of up to ±287 may follow (and ``-0`` is a number), with bounds
plain decimals only, and no ``-0``. Cost: a view computes ten digits times the number of windows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from .expr import EMPTY, NEVER, Bytes, Least, Node, State, View, choice, cons, intern, lit, merge, seq

INTEGER_DIGITS: Final = 20
"""Digits of an integer part without a bound of its own (count)."""

BOUND_DIGITS: Final = 40
"""Digits of an integer part when a bound has more than ``INTEGER_DIGITS`` (count); bounds beyond it are not reached."""

FRACTION_DIGITS: Final = 17
"""Digits of a fraction (count), or one more than a bound has: enough for every double."""

MAX_EXPONENT: Final = 287
"""Largest exponent written, either sign: ``INTEGER_DIGITS`` digits times 10^287 is a finite double."""

Window = tuple[int, int] | None


class Digits(Node):
    """``windows[t]``: the integers that exactly ``t`` more digits may spell (None: none). ``windows[0]`` present: may end here."""

    __slots__ = ("windows",)

    def __init__(self, windows: tuple[Window, ...]) -> None:
        self.windows = windows

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return next(((t, 0) for t, window in enumerate(self.windows) if window is not None), None)

    def spell(self) -> bytes:
        t, window = next((t, w) for t, w in enumerate(self.windows) if w is not None)
        return b"%0*d" % (t, window[0]) if t else b""

    def expand(self, k: State) -> View:
        edges: dict[int, State] = {}
        first, last = self._alike()
        state: State | None = None
        for digit in range(10):
            if not first < digit <= last:
                state = cons(digits(self._after(digit)), k)
            if state is not None:
                edges[0x30 + digit] = state
        view = View(edges, (), False)
        return view if not self.windows or self.windows[0] is None else merge((view, k.view))

    def _alike(self) -> tuple[int, int]:
        """The first and the last of the digits that cut off nothing: after them, any digits may come."""
        first, last, size = 0, 9, 1
        for window in self.windows[1:]:
            if window is not None:
                first, last = max(first, -(-window[0] // size)), min(last, (window[1] + 1) // size - 1)
            size *= 10
        return first, last

    def _after(self, digit: int) -> list[Window]:
        windows: list[Window] = []
        size = 1
        for window in self.windows[1:]:
            if window is None:
                windows.append(None)
            else:
                low, high = max(window[0] - digit * size, 0), min(window[1] - digit * size, size - 1)
                windows.append((low, high) if low <= high else None)
            size *= 10
        return windows


def digits(windows: list[Window]) -> Node:
    """The node for ``windows``, trailing empty ones dropped."""
    while windows and windows[-1] is None:
        windows.pop()
    if not windows:
        return NEVER
    return EMPTY if len(windows) == 1 else intern(Digits, tuple(windows))


def _natural(low: int, high: int) -> Node:
    """A positive integer from ``low`` ≥ 1 to ``high``."""
    windows: list[Window] = [None]
    for t in range(1, len(str(high)) + 1 if high > 0 else 1):
        a, b = max(low, 10 ** (t - 1)), min(high, 10**t - 1)
        windows.append((a, b) if a <= b else None)
    return digits(windows)


def _largest(*bounds: Fraction | int | None) -> int:
    """The largest magnitude written when these bounds are given."""
    longest = max((len(str(abs(int(bound)))) + 1 for bound in bounds if bound is not None), default=0)
    return int(10 ** max(INTEGER_DIGITS, min(longest, BOUND_DIGITS)) - 1)


@lru_cache(4096)
def integer(low: int | None = None, high: int | None = None) -> Node:
    """An integer from ``low`` to ``high`` (None: as many as ``INTEGER_DIGITS`` digits)."""
    most = _largest(low, high)
    a, b = max(-most, -most if low is None else low), min(most, most if high is None else high)
    parts = []
    if a < 0:
        parts.append(seq(lit(b"-"), _natural(max(1, -b), -a)))
    if a <= 0 <= b:
        parts.append(lit(b"0"))
    if b > 0:
        parts.append(_natural(max(1, a), b))
    return choice(parts)


def _fraction(low: Fraction, low_open: bool, high: Fraction, high_open: bool) -> Node:
    """A decimal point and the digits of a fraction between two numbers of [0, 1]."""
    windows: list[Window] = [None]
    most = max(FRACTION_DIGITS, _decimals(low) + 1, _decimals(high) + 1)
    for t in range(1, most + 1):
        size = 10**t
        a, b = low * size, high * size
        first = a.numerator // a.denominator + 1 if low_open else -(-a.numerator // a.denominator)
        last = -(-b.numerator // b.denominator) - 1 if high_open else b.numerator // b.denominator
        first, last = max(first, 0), min(last, size - 1)
        windows.append((first, last) if first <= last else None)
    return seq(lit(b"."), digits(windows))


def _decimals(value: Fraction) -> int:
    """Digits after the point of a number with a finite decimal expansion."""
    count = 0
    while value.denominator != 1 and count < 400:
        value, count = value * 10, count + 1
    return count


_ANY_FRACTION = _fraction(Fraction(0), False, Fraction(1), True)
_SOME_FRACTION = _fraction(Fraction(0), True, Fraction(1), True)
_EXPONENT = seq(
    lit(b"e"),
    choice((EMPTY, intern(Bytes, b"+-"))),
    choice((_natural(1, MAX_EXPONENT), seq(lit(b"0"), choice((EMPTY, intern(Bytes, b"0123456789")))))),
)


def _upward(low: Fraction, low_open: bool, high: Fraction, high_open: bool, broken: bool) -> Node:
    """A number between two bounds ≥ 0, without a sign. ``broken``: none that is a whole number."""
    first, last = int(low), int(high)
    if low > high:
        return NEVER
    parts = []
    if first + 1 <= last - 1:
        parts.append(seq(integer(first + 1, last - 1), _SOME_FRACTION if broken else choice((EMPTY, _ANY_FRACTION))))
    for whole in dict.fromkeys((first, last)):
        a, a_open = (low - whole, low_open) if whole == first else (Fraction(0), False)
        b, b_open = (high - whole, high_open) if whole == last else (Fraction(1), True)
        tails = [_fraction(a, a_open or (broken and a == 0), b, b_open)]
        if not broken and a == 0 and not a_open and (b > 0 or not b_open):
            tails.append(EMPTY)
        parts.append(seq(lit(b"%d" % whole), choice(tails)))
    return choice(parts)


@lru_cache(4096)
def number(
    low: Fraction | None = None, low_open: bool = False, high: Fraction | None = None, high_open: bool = False, broken: bool = False
) -> Node:
    """A number between bounds (None: no bound; ``*_open``: the bound itself excluded). ``broken``: none that is a whole number.

    Without any bound an exponent may follow; otherwise plain decimals only.
    """
    if low is None and high is None and not broken:
        whole = choice((lit(b"0"), _natural(1, 10**INTEGER_DIGITS - 1)))
        return seq(choice((EMPTY, lit(b"-"))), whole, choice((EMPTY, _ANY_FRACTION)), choice((EMPTY, _EXPONENT)))
    most = Fraction(_largest(low, high))
    a, a_open = (-most, False) if low is None or low < -most else (low, low_open)
    b, b_open = (most, False) if high is None or high > most else (high, high_open)
    parts = []
    if b >= 0:
        parts.append(_upward(max(a, Fraction(0)), a_open and a >= 0, b, b_open, broken))
    if a < 0:
        # The sign mirrors the bounds; zero belongs to the part without a sign, so "-0" is not written.
        up = _upward(max(-b, Fraction(0)), b >= 0 or b_open, -a, a_open, broken)
        parts.append(seq(lit(b"-"), up))
    return choice(parts)
