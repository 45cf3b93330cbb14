"""Sets of code points as sorted ranges, and the ones ECMA-262 names.

Theory. A character class is a set of code points, whatever it is spelled with: ``[\\d-]``, ``\\W`` and ``\\p{Lu}`` all become sorted,
disjoint ranges, are complemented over 0…10FFFF, and are written back as a Python class in which every character is a literal or a hex
escape, so nothing in it can mean anything else to Python. The general categories come from one pass over ``unicodedata`` (about 0.1 s,
on first use only).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

Ranges = tuple[tuple[int, int], ...]
"""Sorted, disjoint, inclusive ranges of code points."""

LAST = 0x10FFFF
DIGITS: Ranges = ((0x30, 0x39),)
WORDS: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACES: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
SURROGATES: Ranges = ((0xD800, 0xDFFF),)

_LONG_NAMES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl",
    "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk",
    "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
    "Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
}  # fmt: skip


def union(parts: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges sorted, with overlapping and adjacent ones joined."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def complement(ranges: Ranges) -> Ranges:
    """Every code point that ``ranges`` lacks."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)


def _escape(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def class_text(ranges: Ranges) -> str:
    """A Python pattern that matches one character of the set; nothing at all for the empty set."""
    if not ranges:
        return r"[^\x00-\U0010ffff]"
    return "[" + "".join(_escape(low) if low == high else f"{_escape(low)}-{_escape(high)}" for low, high in ranges) + "]"


def only_surrogates(ranges: Ranges) -> bool:
    """Whether the set is not empty and no valid text can hold any of its members."""
    return bool(ranges) and all(SURROGATES[0][0] <= low and high <= SURROGATES[0][1] for low, high in ranges)


@lru_cache(maxsize=1)
def _categories() -> dict[str, Ranges]:
    """Ranges per general category, one letter and two."""
    table: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for code in range(1, LAST + 2):
        category = unicodedata.category(chr(code)) if code <= LAST else ""
        if category != current:
            table.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    groups: dict[str, list[tuple[int, int]]] = {"LC": table["Lu"] + table["Ll"] + table["Lt"]}
    for name, parts in table.items():
        groups.setdefault(name[0], []).extend(parts)
    return {name: union(parts) for name, parts in {**table, **groups}.items()}


def property_ranges(text: str) -> Ranges | None:
    """What ``\\p{text}`` matches, for general categories, ``Any``, ``ASCII`` and ``Assigned``; None for every other property."""
    if text == "Any":
        return ((0, LAST),)
    if text == "ASCII":
        return ((0, 0x7F),)
    if text == "Assigned":
        return complement(_categories()["Cn"])
    name, equals, value = text.partition("=")
    if equals and name not in ("General_Category", "gc"):
        return None
    category = value if equals else name
    return _categories().get(_LONG_NAMES.get(category, category))
