"""Numbers that are multiples of a step, within bounds.

Theory. With ``point`` digits after the decimal point, a number is an integer ``n`` in units of 10^-point, and being a multiple of the step
is one congruence, ``n ≡ 0 (mod m)``. For digits that are still to come it is enough to know, for each count ``t`` of them, in which window
the integer they spell must lie and its residue; both are known after every digit, and a window without such an integer is dropped at
once. So the residual is exact: whatever digit is admitted can be completed. The number of decimals is chosen up front, as alternatives
that are stepped together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from .expr import EMPTY, NEVER, Least, Node, State, View, choice, cons, intern, lit, merge, seq
from .numbers import INTEGER_DIGITS, Window

MAX_DECIMALS: Final = 30
"""Digits after the point that a step may have (count); each number of decimals is an alternative of its own."""


class Multiples(Node):
    """``windows[t]``: the least and the greatest integer that exactly ``t`` more digits may spell (None: none); each is congruent to
    ``residues[t]`` modulo ``modulus``. ``point``: digits after the decimal point, while it has not been written; else −1."""

    __slots__ = ("modulus", "point", "residues", "windows")

    def __init__(self, windows: tuple[Window, ...], residues: tuple[int, ...], modulus: int, point: int) -> None:
        self.windows, self.residues, self.modulus, self.point = windows, residues, modulus, point

    def _first(self) -> tuple[int, tuple[int, int]]:
        return next((t, window) for t, window in enumerate(self.windows) if window is not None)

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (self._first()[0] + (self.point > 0), 0)

    def spell(self) -> bytes:
        t, window = self._first()
        text = b"%0*d" % (t, window[0]) if t else b""
        return text[: t - self.point] + b"." + text[t - self.point :] if self.point > 0 else text

    def expand(self, k: State) -> View:
        edges: dict[int, State] = {}
        ends = self.point <= 0
        for digit in range(10):
            state = cons(self._after(digit), k)
            if state is not None:
                edges[0x30 + digit] = state
        if not ends and self.point < len(self.windows) and self.windows[self.point] is not None:
            only = (None,) * self.point + (self.windows[self.point],)
            state = cons(intern(Multiples, only, self.residues[: self.point + 1], self.modulus, -1), k)
            if state is not None:
                edges[0x2E] = state
        view = View(edges, (), False)
        return merge((view, k.view)) if ends and self.windows[0] is not None else view

    def _after(self, digit: int) -> Node:
        windows: list[Window] = []
        residues: list[int] = []
        size = 1
        for t in range(1, len(self.windows)):
            window = self.windows[t] if t > self.point else None
            residue = (self.residues[t] - digit * size) % self.modulus
            low, high = (1, 0) if window is None else (max(window[0] - digit * size, 0), min(window[1] - digit * size, size - 1))
            windows.append(_congruent(low, high, residue, self.modulus))
            residues.append(residue)
            size *= 10
        return _multiples(windows, residues, self.modulus, self.point)


def _congruent(low: int, high: int, residue: int, modulus: int) -> Window:
    """``low`` to ``high`` tightened to integers congruent to ``residue``."""
    low += (residue - low) % modulus
    high -= (high - residue) % modulus
    return (low, high) if low <= high else None


def _multiples(windows: list[Window], residues: list[int], modulus: int, point: int) -> Node:
    while windows and windows[-1] is None:
        windows.pop()
    if not windows:
        return NEVER
    if len(windows) == 1 and point <= 0:
        return EMPTY
    kept = [r if w is not None else 0 for r, w in zip(residues, windows, strict=False)]
    return intern(Multiples, tuple(windows), tuple(kept), modulus, point)  # type: ignore[no-any-return]


def _spelled(low: int, high: int, modulus: int, point: int) -> Node:
    """The integers from ``low`` ≥ 0 to ``high`` that are multiples of ``modulus``, with a point before the last ``point`` digits."""
    windows: list[Window] = [None] * (point + 1)
    for t in range(point + 1, max(len(str(high)), point + 1) + 1):
        # One digit before the point may be a zero; the first of several may not.
        windows.append(_congruent(max(low, 10 ** (t - 1) if t > point + 1 else 0), min(high, 10**t - 1), 0, modulus))
    return _multiples(windows, [0] * len(windows), modulus, point)


@lru_cache(1024)
def multiple(
    step: Fraction, whole: bool, low: Fraction | None, low_open: bool, high: Fraction | None, high_open: bool
) -> Node | None:
    """The multiples of ``step`` > 0 between bounds (None: no bound; ``*_open``: the bound itself excluded), in plain decimals.

    ``whole``: integers only, without a point. None where the step has more than ``MAX_DECIMALS`` decimals.
    """
    decimals = 0
    while (step * 10**decimals).denominator != 1:
        decimals += 1
        if decimals > MAX_DECIMALS:
            return None
    digits = max(INTEGER_DIGITS, len(str(int(step))))
    parts = []
    for point in range(1 if whole else max(decimals, 1) + 1):
        scale = 10**point
        finest = int(step * 10**decimals)
        modulus = int(step * scale) if point >= decimals else finest // math.gcd(finest, 10 ** (decimals - point))
        most = 10 ** (digits + point) - 1
        first, last = -most, most
        if low is not None:
            exact = low * scale
            first = max(first, math.floor(exact) + 1 if low_open else math.ceil(exact))
        if high is not None:
            exact = high * scale
            last = min(last, math.ceil(exact) - 1 if high_open else math.floor(exact))
        if last >= 0 and first <= last:
            parts.append(_spelled(max(first, 0), last, modulus, point))
        if first < 0 and first <= last:
            parts.append(seq(lit(b"-"), _spelled(max(-last, 1), -first, modulus, point)))
    return choice(parts)
