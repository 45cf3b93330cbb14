"""Terminals: the actions of a route that call no tool.

Theory. The closed set must contain the answer "no tool", or the one branch nothing constrains is back. ``none`` is that answer, bare:
no other member may stand beside it. Other systems end a run with a choice that carries something (``finish`` with a summary): a terminal
with parameters. A terminal is not a tool (nothing is executed), but it is named in the same place, so no tool may have its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..catalogue import check_name, object_schema
from ..errors import CatalogueError


@dataclass(frozen=True)
class Terminal:
    """A name and, unless it is bare (``parameters=None``), the object schema of its arguments; ``description`` is for the prompt.

    Raises ``CatalogueError`` for a name no tool could have, or parameters that are not an object schema.
    """

    name: str
    parameters: dict[str, Any] | None = None
    description: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.parameters is not None:
            try:
                object.__setattr__(self, "parameters", object_schema(self.parameters))
            except CatalogueError as error:
                raise CatalogueError(f"terminal {self.name!r}: {error.reason}", pointer=error.pointer) from None

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def bare(self) -> bool:
        """Whether the reply carries no ``arguments``."""
        return self.parameters is None


NONE = Terminal("none")

Terminals = str | Terminal | Iterable[object]
"""Terminals as a caller writes them: each a name (bare), a ``Terminal``, or a pair of a name and the schema of its arguments."""


def to_terminals(items: Terminals) -> tuple[Terminal, ...]:
    """``items`` as terminals, in order; a single one need not be wrapped.

    Raises ``CatalogueError`` for a repeated name, a bad one, or something that is not a terminal.
    """
    if isinstance(items, (str, Terminal)) or (isinstance(items, tuple) and len(items) == 2 and isinstance(items[1], Mapping)):
        items = (items,)
    found: dict[str, Terminal] = {}
    for item in items:
        terminal = _terminal(item)
        if found.setdefault(terminal.name, terminal) is not terminal:
            raise CatalogueError(f"the terminal {terminal.name!r} is given twice")
    return tuple(found.values())


def _terminal(item: object) -> Terminal:
    if isinstance(item, Terminal):
        return item
    if isinstance(item, str):
        return Terminal(item)
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return Terminal(item[0], item[1])
    raise CatalogueError(f"a {type(item).__name__} is not a terminal")
