"""Strict JSON text to Python values and back, with every value exact.

Theory. ``json.loads`` is generous where a reply must not be: it keeps the last of two equal members, reads NaN and Infinity, turns 1e999
into infinity, lets half a surrogate pair through, rounds decimals, and recurses as deep as the text says. ``load`` refuses all of those
by name, and keeps numbers exact: integers as ``int``; decimals as ``float`` where the float prints as the same number, as
``decimal.Decimal`` where it would not (1497549923779084388.5 is not an integer, however a double rounds it).

Nesting is counted before parsing, outside strings, so the parser never recurses past ``MAX_DEPTH``; number literals are bounded by
``MAX_DIGITS`` before conversion. Everything is one pass: cost is linear in the text.

``dump`` writes a value that ``load`` returned so that ``load`` returns it again.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

MAX_DEPTH = 100
"""Deepest reply, in levels of objects and arrays, the outermost one counted; costs one interpreter frame per level."""
MAX_DIGITS = 4300
"""Longest number literal, in characters; conversion cost grows with its square, and Python itself refuses longer integers."""
MAX_QUOTED = 64
"""How many characters of a reply an error may show, after escaping."""

BLANKS = " \t\n\r"
"""The white space of JSON; nothing else is trimmed."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_STRUCTURE = re.compile(r'"(?:[^"\\]+|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


class JsonFault(ValueError):
    """Why a text is refused. ``syntax``: it is not JSON at all (rather than JSON with a value that is not accepted)."""

    def __init__(self, reason: str, *, syntax: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.syntax = reason, syntax


def quoted(text: str) -> str:
    """``repr`` of ``text`` with at most ``MAX_QUOTED`` characters between the quotes; ``…`` marks a cut."""
    kept: list[str] = []
    room = MAX_QUOTED
    for char in text[: MAX_QUOTED + 1]:
        escaped = "\\'" if char == "'" else repr(char)[1:-1]
        room -= len(escaped)
        if room < 0:
            return "'" + "".join(kept) + "'…"
        kept.append(escaped)
    return "'" + "".join(kept) + "'"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise JsonFault(f"the member {quoted(name)} occurs twice")
            seen.add(name)
    return members


def _integer(literal: str) -> int:
    if len(literal) > MAX_DIGITS + literal.startswith("-"):
        raise JsonFault(f"an integer has more than {MAX_DIGITS} digits")
    return int(literal)


def _decimal(literal: str) -> float | Decimal:
    if len(literal) > MAX_DIGITS:
        raise JsonFault(f"a number has more than {MAX_DIGITS} characters")
    value = float(literal)
    if math.isinf(value):
        raise JsonFault(f"the number {quoted(literal)} is outside the range of a double")
    try:
        exact = Decimal(literal)
    except InvalidOperation:  # an exponent past what Decimal can hold: zero, to any precision
        return value
    return value if exact == Decimal(repr(value)) else exact


def _constant(literal: str) -> Any:
    raise JsonFault(f"{literal} is not JSON", syntax=True)


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_int=_integer, parse_float=_decimal, parse_constant=_constant)


def _too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    depth = 0
    for match in _STRUCTURE.finditer(text):
        first = match.group()[0]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif first in "]}":
            depth -= 1
    return False


def lone_surrogate(value: Any) -> str | None:
    """The first string or member name in ``value`` that holds half a surrogate pair, or None."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                return item
        elif isinstance(item, dict):
            stack.extend(item.values())
            stack.extend(item)
        elif isinstance(item, list):
            stack.extend(item)
    return None


def load(text: str) -> Any:
    """The value of one whole JSON text, JSON's own white space around it allowed.

    Raises ``JsonFault`` for everything else, and for: a byte-order mark, a repeated member, NaN or Infinity, a number that is not finite
    as a double or longer than ``MAX_DIGITS``, a lone surrogate, nesting past ``MAX_DEPTH``.
    """
    if text.startswith("\ufeff"):
        raise JsonFault("it begins with a byte-order mark", syntax=True)
    if _too_deep(text):
        raise JsonFault(f"it nests deeper than {MAX_DEPTH} levels")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonFault(f"{error.msg.removesuffix(' at')} at character {error.pos}", syntax=True) from None
    except RecursionError:
        raise JsonFault("it nests deeper than the interpreter's stack allows here") from None
    except JsonFault:
        raise
    except ValueError:  # an interpreter set to fewer digits than MAX_DIGITS
        raise JsonFault("an integer has more digits than this interpreter converts") from None
    half = lone_surrogate(value)
    if half is not None:
        raise JsonFault(f"the string {quoted(half)} holds a lone surrogate")
    return value


def dump(value: Any) -> str:
    """``value`` as JSON text in the spaced form of ``json.dumps``, non-ASCII as it is, decimals exactly.

    Takes what ``load`` returns; raises ``TypeError`` for other types, ``ValueError`` for a float that is not finite.
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {dump(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
