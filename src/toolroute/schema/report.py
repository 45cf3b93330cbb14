"""What became of every assertion: enforced in the mask, checked after, per tool and place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from ..errors import RouteError
from .keywords import AFTER, ENFORCED, MASK, escape
from .lower import Lowered


class Assertion(NamedTuple):
    """One assertion keyword at one place. ``pointer`` is a JSON Pointer into the tool's parameters and names the keyword."""

    tool: str | None
    pointer: str
    keyword: str
    status: Literal["mask", "after"]
    why: str = ""


class CompileReport:
    """The assertions of a route, tool by tool.

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
        for tool, lowered in self._lowered.items():
            for place, schema in lowered.places.items():
                for keyword in schema:
                    why = lowered.after.get((place, keyword))
                    if why is not None:
                        found.append(Assertion(tool, f"{place}/{escape(keyword)}", keyword, AFTER, why))
                    elif keyword in ENFORCED:
                        found.append(Assertion(tool, f"{place}/{escape(keyword)}", keyword, MASK))
        return found

    def to_dict(self) -> dict[str, object]:
        """The report as JSON values."""
        return {
            "exact": self.exact,
            "assertions": [entry._asdict() for entry in self.assertions],
            "dropped": [str(error) for error in self.dropped],
        }
