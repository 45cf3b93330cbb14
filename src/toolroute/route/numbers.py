"""Numbers and equality as JSON Schema means them: exact, and typed.

Theory. A JSON number is a decimal. Python has it as ``int``, as ``float`` (standing for the decimal it prints as, which is what the
schema's author wrote) or as ``Decimal`` (where no float prints that way). Compared as decimals, 0.3 is a multiple of 0.1, and an integer
past 2**53 does not equal its neighbour. ``True`` is not 1, and 1 is 1.0.
"""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any


def exact(value: int | float | Decimal) -> int | Decimal:
    """The decimal that ``value`` stands for."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def is_integer(value: Any) -> bool:
    """Whether ``value`` is a number without a fractional part; booleans are not numbers."""
    if isinstance(value, bool):
        return False
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def is_multiple(value: int | float | Decimal, divisor: int | float | Decimal) -> bool:
    """Whether ``value`` is an integer multiple of ``divisor``. Cost is bounded by the digits of both, never by an exponent."""
    number, step = Decimal(exact(value)).copy_abs(), Decimal(exact(divisor)).copy_abs()
    if number < step:  # also keeps a tiny exponent from becoming a huge fraction
        return number == 0
    return (Fraction(number) / Fraction(step)).denominator == 1


def canonical(value: Any) -> Hashable:
    """A key that two JSON values share exactly when they are equal."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, (int, float, Decimal)):
        return ("number", exact(value))
    if isinstance(value, list):
        return ("array", tuple(map(canonical, value)))
    if isinstance(value, dict):
        return ("object", frozenset((key, canonical(item)) for key, item in value.items()))
    return ("text or null", value)
