"""Integers and numbers against Python's own comparison, exhaustively over small ranges."""

from __future__ import annotations

import itertools
import json
import math
import re
from fractions import Fraction

import pytest

from toolroute.grammar import END, State, accepts, advance
from toolroute.grammar.expr import cons
from toolroute.grammar.numbers import BOUND_DIGITS, FRACTION_DIGITS, INTEGER_DIGITS, MAX_EXPONENT, integer, number

CANONICAL = re.compile(r"(-?[1-9][0-9]*|0|-?0\.[0-9]*[1-9][0-9]*|-?[1-9][0-9]*\.[0-9]+|0\.0+)")


def start(node: object) -> State | None:
    return cons(node, END)  # type: ignore[arg-type]


def taken(state: State | None, text: str) -> bool:
    return state is not None and accepts(state, text.encode())


@pytest.mark.parametrize("low", [None, *range(-12, 13, 4), -101, -99, 99, 100])
@pytest.mark.parametrize("high", [None, *range(-12, 13, 4), -100, -9, 101, 110])
def test_integers(low: int | None, high: int | None) -> None:
    state = start(integer(low, high))
    for value in range(-115, 116):
        assert taken(state, str(value)) is ((low is None or low <= value) and (high is None or value <= high)), value
    if low is not None and high is not None and low > high:
        assert state is None


def test_every_small_interval() -> None:
    for low, high in itertools.product(range(-13, 14), repeat=2):
        state = start(integer(low, high))
        assert {v for v in range(-130, 131) if taken(state, str(v))} == set(range(low, high + 1))
        if state is not None:
            shortest = min(map(len, map(str, range(low, high + 1))))
            assert state.least == len(state.closing()) == shortest and low <= int(state.closing()) <= high


@pytest.mark.parametrize("text", ["-0", "00", "01", "+1", "1.", "1.0", "1e2", "", "-", " 1", "1 ", "0x1", "--1", "1_0"])
def test_what_is_not_an_integer(text: str) -> None:
    assert not taken(start(integer()), text)


def test_digits_of_an_integer_are_bounded() -> None:
    free = start(integer())
    assert taken(free, "9" * INTEGER_DIGITS) and taken(free, "-" + "9" * INTEGER_DIGITS) and not taken(free, "1" + "0" * INTEGER_DIGITS)
    low = 10**25
    state = start(integer(low, None))
    assert taken(state, str(low)) and not taken(state, str(low - 1)) and taken(state, str(10**26 - 1))
    both = start(integer(10**30 - 5, 10**30 + 5))
    assert [taken(both, str(10**30 + d)) for d in (-6, -5, 0, 5, 6)] == [False, True, True, True, False]
    assert start(integer(10**BOUND_DIGITS, None)) is None  # beyond what is written


BOUNDS = [
    None,
    Fraction(0),
    Fraction(1),
    Fraction(-1),
    Fraction("0.5"),
    Fraction("-0.25"),
    Fraction("1.05"),
    Fraction("9.9"),
    Fraction("-10"),
    Fraction("12"),
]
TEXTS = sorted(
    {
        f"{sign}{whole}{tail}"
        for sign in ("", "-")
        for whole in range(13)
        for tail in ("", ".0", ".04", ".05", ".051", ".25", ".5", ".50", ".9", ".95")
    }
)


@pytest.mark.parametrize("low", BOUNDS)
@pytest.mark.parametrize("low_open", [False, True])
def test_numbers_with_bounds(low: Fraction | None, low_open: bool) -> None:
    for high, high_open in itertools.product(BOUNDS, (False, True)):
        if low is None and high is None:
            continue
        state = start(number(low, low_open, high, high_open))
        found = {text for text in TEXTS if taken(state, text)}
        wanted = set()
        for text in TEXTS:
            value = Fraction(text)
            above = low is None or value > low or (value == low and not low_open)
            below = high is None or value < high or (value == high and not high_open)
            if above and below and CANONICAL.fullmatch(text):
                wanted.add(text)
        assert found == wanted, (low, low_open, high, high_open, found ^ wanted)
        if state is not None:
            value = Fraction(state.closing().decode())
            assert accepts(state, state.closing()) and state.least == len(state.closing())
            assert (low is None or value >= low) and (high is None or value <= high)


def test_an_open_interval_between_neighbours() -> None:
    state = start(number(Fraction("0.1"), True, Fraction("0.2"), True))
    assert [taken(state, t) for t in ("0.1", "0.10", "0.11", "0.100001", "0.19", "0.2", "0.20")] == [
        False,
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    assert start(number(Fraction(1), True, Fraction(1), False)) is None and start(number(Fraction(2), False, Fraction(1), False)) is None
    assert taken(start(number(Fraction("0.3"), False, Fraction("0.3"), False)), "0.3")
    assert taken(start(number(Fraction(0), False, Fraction(0), False)), "0") and not taken(
        start(number(Fraction(0), False, Fraction(0), False)), "-0"
    )


def test_numbers_without_bounds() -> None:
    free = start(number())
    assert all(taken(free, t) for t in ("0", "1", "-12", "1.5", "-0.5", "0.001", "1e5", "1e+5", "1e-5", "1.5e10"))
    for bad in ("01", "1.", ".5", "+1", "1e", "1e+", "NaN", "Infinity", "-", "--1", "1e999", "1e309", "0x1", "1e1.5"):
        assert not taken(free, bad), bad


def test_no_number_is_infinite() -> None:
    free = start(number())
    biggest = "9" * INTEGER_DIGITS + "." + "9" * FRACTION_DIGITS + f"e{MAX_EXPONENT}"
    assert taken(free, biggest) and math.isfinite(json.loads(biggest))
    assert not taken(free, f"1e{MAX_EXPONENT + 1}") and not taken(free, "1" + "0" * INTEGER_DIGITS)


def test_every_prefix_can_be_finished() -> None:
    for node in (
        integer(-105, 37),
        integer(7, 7),
        number(Fraction("-1.5"), True, Fraction("2.25"), False),
        number(Fraction("0.05"), False, None),
        number(),
    ):
        state = start(node)
        assert state is not None
        stack, seen = [state], set()
        while stack and len(seen) < 400:
            here = stack.pop()
            if here in seen:
                continue
            seen.add(here)
            assert accepts(here, here.closing()) and here.least == len(here.closing())
            stack += here.view.edges.values()
        assert advance(state, b"x") is None
