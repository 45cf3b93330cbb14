"""A catalogue: the tools of one route, in order.

Theory. A catalogue is a value like a tool: immutable, equal by content, with a digest to cache by. Its order is the order of the
alternatives, of the prompt and of every error's index, and no operation changes the order of what it keeps; new tools come last. So a
catalogue that only grows keeps its prompt prefix.

One bad tool never silently takes others with it or goes missing. With ``on_error="raise"`` it is a ``CatalogueError`` with index, name
and reason; with ``on_error="drop"`` it is left out and that same error is kept in ``dropped``. ``on_error`` stays with the catalogue, so
that whoever compiles it can treat a tool that does not compile the same way. Of two tools with one name the later one is at fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from ..errors import CatalogueError
from .adapters import to_tool
from .source import read_tools
from .tool import Tool

OnError = Literal["raise", "drop"]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The tools, how faults are treated, and the errors of tools that were left out. Build it with ``from_tools`` or ``from_json``."""

    tools: tuple[Tool, ...] = ()
    on_error: OnError = "raise"
    dropped: tuple[CatalogueError, ...] = ()

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "drop"):
            raise CatalogueError(f"on_error is 'raise' or 'drop', not {self.on_error!r}")
        object.__setattr__(self, "tools", tuple(self.tools))
        origin: dict[str, int] = {}
        for index, tool in enumerate(self.tools):
            _claim(origin, tool.name, index)

    @classmethod
    def from_tools(cls, items: Iterable[object], on_error: OnError = "raise") -> Catalogue:
        """A catalogue of any tool declarations (see ``adapters``), in the order given; a catalogue is taken as it is.

        Raises ``CatalogueError`` for a bad or repeated tool, or with ``on_error="drop"`` keeps that error in ``dropped``; always raises
        where ``items`` is not a sequence of declarations at all.
        """
        if isinstance(items, Catalogue):
            return items if items.on_error == on_error else cls(items.tools, on_error, items.dropped)
        if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
            raise CatalogueError(f"tools are a list of declarations, not a {type(items).__name__}")
        kept: list[Tool] = []
        origin: dict[str, int] = {}
        dropped: list[CatalogueError] = []
        for index, item in enumerate(items):
            try:
                tool = to_tool(item, index)
                _claim(origin, tool.name, index)
            except CatalogueError as error:
                if on_error != "drop":
                    raise
                dropped.append(error)
                continue
            kept.append(tool)
        return cls(tuple(kept), on_error, tuple(dropped))

    @classmethod
    def from_json(cls, text: str, source: str = "<text>", on_error: OnError = "raise") -> Catalogue:
        """A catalogue from JSON text: a list of declarations, ``{"tools": […]}``, an MCP ``tools/list`` result, or one declaration.

        A leading byte-order mark and any line ends are accepted. Raises ``CatalogueError`` naming ``source``, with line and column where
        the text is not JSON; repeated members, NaN and Infinity are not JSON.
        """
        return cls.from_tools(read_tools(text, source), on_error)

    @classmethod
    def from_file(cls, path: str | PathLike[str], on_error: OnError = "raise") -> Catalogue:
        """``from_json`` of a UTF-8 file. Raises ``CatalogueError`` where it cannot be read or is not UTF-8."""
        try:
            text = Path(path).read_bytes().decode("utf-8")
        except OSError as error:
            raise CatalogueError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise CatalogueError(f"{path}: not UTF-8 at byte {error.start}") from error
        return cls.from_json(text, str(path), on_error)

    @cached_property
    def _by_name(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) over the digests of the tools in order."""
        return hashlib.sha256("".join(tool.digest for tool in self.tools).encode("ascii")).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order, without any terminal."""
        return tuple(self._by_name)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._by_name.get(name)

    def __getitem__(self, name: str) -> Tool:
        """The tool of that name. Raises ``CatalogueError`` naming at most 20 known names."""
        tool = self._by_name.get(name)
        if tool is None:
            raise CatalogueError(unknown_name(name, self.names))
        return tool

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Catalogue) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def _derived(self, tools: Iterable[Tool]) -> Catalogue:
        return Catalogue(tuple(tools), self.on_error, self.dropped)

    def with_tool(self, tool: object) -> Catalogue:
        """This catalogue with one more tool (any declaration) at the end. Raises ``CatalogueError`` for a bad or repeated one."""
        return self._derived((*self.tools, to_tool(tool, len(self.tools))))

    def without(self, *names: str) -> Catalogue:
        """This catalogue less the named tools. Raises ``CatalogueError`` for a name it does not have."""
        gone = {self[name].name for name in names}
        return self._derived(tool for tool in self.tools if tool.name not in gone)

    def only(self, names: Iterable[str]) -> Catalogue:
        """The named tools, in catalogue order. Raises ``CatalogueError`` for a name it does not have."""
        kept = {self[name].name for name in names}
        return self._derived(tool for tool in self.tools if tool.name in kept)

    def narrowed(self, name: str, parameters: Mapping[str, Any] | None) -> Catalogue:
        """This catalogue with other parameters for one tool, at its place.

        Raises ``CatalogueError`` for a name it does not have or parameters that are not an object schema.
        """
        old = self[name]
        new = Tool(name, old.description, parameters, old.function)  # type: ignore[arg-type]  # any mapping or None, checked by Tool
        return self._derived(new if tool.name == name else tool for tool in self.tools)


def _claim(origin: dict[str, int], name: str, index: int) -> None:
    """Record that tool ``index`` has this name; ``CatalogueError`` naming both indexes where another one has it."""
    first = origin.setdefault(name, index)
    if first != index:
        raise CatalogueError(f"the name is already used by tool {first}", index=index, tool=name)


def unknown_name(name: object, known: Iterable[str]) -> str:
    """``unknown tool 'x'; known: a, b`` with at most 20 names."""
    names = list(known)
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"unknown tool {name!r}; known: {', '.join(names[:20]) or 'none at all'}{more}"
