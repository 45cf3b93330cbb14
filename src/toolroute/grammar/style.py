"""The text form of a route: the bytes between members and items, and between a name and its value."""

from __future__ import annotations

from typing import Final, NamedTuple


class Style(NamedTuple):
    """``comma``: between members and between items; ``colon``: between a name and its value."""

    comma: bytes
    colon: bytes


SPACED: Final = Style(b", ", b": ")
COMPACT: Final = Style(b",", b":")
