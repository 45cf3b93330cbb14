"""What became of every keyword: enforced in the mask, checked after, or no assertion at all; per tool and place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, NamedTuple

from ..errors import RouteError
from .keywords import AFTER, MASK, SHAPES, escape
from .lower import Lowered

ANNOTATION: Final = "annotation"

DOCUMENTATION: Final = frozenset((
    "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions", "$comment", "title",
    "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
))  # fmt: skip
"""Keywords that name, define or describe, and never assert."""

_STANDARD: Final = frozenset(("contentEncoding", "contentMediaType", "contentSchema"))


class Assertion(NamedTuple):
    """One keyword at one place. ``pointer`` is a JSON Pointer into the tool's parameters and names the keyword."""

    tool: str | None
    pointer: str
    keyword: str
    status: Literal["mask", "after", "annotation"]
    why: str = ""


class CompileReport:
    """The keywords of a route, tool by tool.

    ``exact``: nothing is left for after; ``dropped``: the errors of tools that were left out (``on_error="drop"``).
    """

    def __init__(self, lowered: Mapping[str | None, Lowered], dropped: Iterable[RouteError] = ()) -> None:
        self._lowered = lowered
        self.dropped: tuple[RouteError, ...] = tuple(dropped)

    @property
    def exact(self) -> bool:
        return not any(one.after for one in self._lowered.values())

    @property
    def after(self) -> list[Assertion]:
        """The assertions that the mask does not enforce."""
        return [entry for entry in self.assertions if entry.status == AFTER]

    @property
    def assertions(self) -> list[Assertion]:
        """Every assertion keyword, in the order it was read."""
        found = []
        for tool, lowered, place, schema in self._places():
            for keyword in schema:
                why = lowered.after.get((place, keyword))
                if why is not None:
                    found.append(Assertion(tool, f"{place}/{escape(keyword)}", keyword, AFTER, why))
                elif keyword in SHAPES or (keyword == "format" and lowered.formats):
                    found.append(Assertion(tool, f"{place}/{escape(keyword)}", keyword, MASK))
        return found

    @property
    def annotations(self) -> list[Assertion]:
        """Every keyword that asserts nothing, in the order it was read, with the reason: it may be a misspelt one."""
        return [
            Assertion(tool, f"{place}/{escape(keyword)}", keyword, ANNOTATION, _silence(keyword))
            for tool, lowered, place, schema in self._places()
            for keyword in schema
            if keyword not in SHAPES and (place, keyword) not in lowered.after and not (keyword == "format" and lowered.formats)
        ]

    def _places(self) -> Iterator[tuple[str | None, Lowered, str, dict[str, Any]]]:
        for tool, lowered in self._lowered.items():
            for place, schema in lowered.places.items():
                yield tool, lowered, place, schema

    def to_dict(self) -> dict[str, object]:
        """The report as JSON values."""
        return {
            "exact": self.exact,
            "assertions": [entry._asdict() for entry in self.assertions],
            "annotations": [entry._asdict() for entry in self.annotations],
            "dropped": [str(error) for error in self.dropped],
        }


def _silence(keyword: str) -> str:
    """Why a keyword asserts nothing."""
    if keyword in DOCUMENTATION:
        return "names, defines or describes"
    if keyword == "format":
        return "format is an annotation unless it is asserted"
    if keyword in _STANDARD:
        return "an annotation by the standard"
    folded = {name.lower(): name for name in SHAPES}
    near = get_close_matches(keyword.lower(), folded, 1, 0.85)
    return "not a keyword of JSON Schema" + (f" ({folded[near[0]]} is)" if near else "")
