"""Catalogue → route: one closed alternative per tool, terminals last, as a schema and as the start state of its language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring  # as json.dumps(ensure_ascii=False) writes a string
from typing import Any

from ..catalogue import Catalogue, OnError, Tool
from ..errors import RouteError, SchemaError, UnsatisfiableRoute
from ..grammar import END, State, accepts
from ..grammar.expr import Node, cons, lit, seq, tree
from ..grammar.gbnf import Alternative, gbnf, gbnf_choices
from ..route.schema import offered, route_schema
from ..route.terminal import Terminal, Terminals
from ..route.validate import argument_validator
from .lower import STYLES, Additional, Lowered, Options, Order, StyleName, lower
from .report import CompileReport


class Route:
    """The closed set of replies that one request may have. Immutable; shared by any number of matchers.

    ``start``: the state before the first byte; ``names``: the tools offered, in catalogue order; ``terminals``: the terminals offered.
    """

    def __init__(
        self,
        start: State,
        style: StyleName,
        report: CompileReport,
        *,
        schema: dict[str, Any] | None = None,
        tools: tuple[Tool, ...] = (),
        terminals: tuple[Terminal, ...] = (),
        entries: dict[str, Node] | None = None,
    ) -> None:
        self.start, self.style, self.report = start, style, report
        self.tools, self.terminals = tools, terminals
        self._schema = schema
        self._entries = entries or {}
        self._only: dict[frozenset[str], Route] = {}
        self._gbnf: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of the tools, then those of the terminals."""
        return self.names + tuple(terminal.name for terminal in self.terminals)

    @property
    def schema(self) -> dict[str, Any]:
        """The route as one JSON Schema (a fresh copy is made by whoever wants to change it)."""
        if self._schema is None:
            self._schema = route_schema(self.tools, self.terminals)
        return self._schema

    @property
    def shortest(self) -> bytes:
        """The shortest reply."""
        return self.start.closing()

    def accepts(self, text: str) -> bool:
        """Whether ``text`` is a whole reply of this route, in the route's own text form."""
        try:
            return accepts(self.start, text.encode())
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8, so it is in no reply
            return False

    def gbnf(self) -> str:
        """The same language as a GBNF grammar for llama.cpp, a comment per alternative; equal routes give equal text.

        Wider in two things only: free member names may come twice, and brackets may nest deeper than 100; the strict parser refuses such
        replies. Raises ``UnsupportedSchema`` or ``SchemaLimit`` where llama.cpp could not take the grammar.
        """
        if self._gbnf is None:
            if not self._entries:
                self._gbnf = gbnf(self.start)
            else:
                about = {tool.name: ("tool", tool.description) for tool in self.tools}
                about |= {end.name: ("terminal", end.description) for end in self.terminals}
                found = []
                for name, node in self._entries.items():
                    kind, description = about[name]
                    rule = re.sub(r"[^a-zA-Z0-9]+", "-", f"{kind}-{name}").strip("-")
                    comment = " ".join(f"{kind} {name}: {description}".split())
                    found.append(Alternative(rule, f"{comment:.120}", _name(name), node))
                self._gbnf = gbnf_choices(b'{"tool"' + STYLES[self.style].colon, found)
        return self._gbnf

    def only(self, names: Iterable[str]) -> Route:
        """The same route with fewer alternatives; it shares every state after the name.

        Raises ``UnsatisfiableRoute`` for no names, ``KeyError`` for a name that is not offered.
        """
        wanted = frozenset(names)
        found = self._only.get(wanted)
        if found is None:
            entries = {name: self._entries[name] for name in self.choices if name in wanted}
            if missing := wanted - entries.keys():
                raise KeyError(sorted(missing)[0])
            found = self._only[wanted] = Route(
                _start(entries, self.style),
                self.style,
                self.report,
                tools=tuple(tool for tool in self.tools if tool.name in wanted),
                terminals=tuple(end for end in self.terminals if end.name in wanted),
                entries=entries,
            )
        return found

    def stem(self, name: str) -> str:
        """The text of a reply up to the character after ``name``'s closing quote: what tells this choice from every other."""
        bare = any(end.name == name and end.bare for end in self.terminals)
        return f'{{"tool"{STYLES[self.style].colon.decode()}{json.dumps(name, ensure_ascii=False)}' + ("}" if bare else ",")


def compile_schema(
    schema: Any,
    style: StyleName = "spaced",
    additional: Additional = "schema",
    property_order: Order = "declared",
    format_assertion: bool = False,
) -> Route:
    """Compile any JSON Schema; ``route.report.exact`` tells whether the mask enforces all of it.

    ``additional``: what an object with declared properties and no ``additionalProperties`` keyword means: ``"schema"`` = open, as JSON
    Schema says; ``"closed"`` = no other members. ``property_order``: ``"declared"`` = as the schema lists them; ``"any"``.
    ``format_assertion``: whether ``format`` asserts something. Raises ``SchemaError`` and ``UnsatisfiableRoute`` with the JSON Pointer.
    """
    options = _options(style, additional, property_order, format_assertion)
    lowered = lower(schema, options)
    start = cons(lowered.node, END)
    if start is None:
        raise UnsatisfiableRoute("the shortest text nests too deep")
    return Route(start, style, CompileReport({None: lowered}), schema=schema)


def compile_route(
    catalogue: Iterable[Any],
    terminals: Terminals = ("none",),
    style: StyleName = "spaced",
    additional: Additional = "closed",
    on_error: OnError | None = None,
    property_order: Order = "declared",
    format_assertion: bool = False,
) -> Route:
    """Compile a catalogue (or any tool declarations) and its terminals.

    ``on_error``: ``"raise"`` (a tool that cannot be compiled fails the route, by name) or ``"drop"`` (it is left out and listed in
    ``report.dropped``); None: as the catalogue was made. Raises ``CatalogueError``, ``SchemaError`` or ``UnsatisfiableRoute``.
    """
    options = _options(style, additional, property_order, format_assertion)
    policy: OnError = on_error or (catalogue.on_error if isinstance(catalogue, Catalogue) else "raise")
    catalogue, ends = offered(Catalogue.from_tools(catalogue, policy), terminals)
    comma, colon = STYLES[style]
    after_name = lit(comma + b'"arguments"' + colon)
    lowered: dict[str | None, Lowered] = {}
    dropped: list[RouteError] = list(catalogue.dropped)
    entries: dict[str, Node] = {}
    kept: list[Tool] = []
    for index, tool in enumerate(catalogue):
        try:
            one = _lowered(tool, options)
        except (SchemaError, UnsatisfiableRoute) as error:
            named = error.for_tool(tool.name, index)
            if policy == "raise":
                raise named from None
            dropped.append(named)
            continue
        lowered[tool.name] = one
        kept.append(tool)
        entries[tool.name] = seq(after_name, one.node, _CLOSE)
    for end in ends:
        if end.parameters is None:
            entries[end.name] = _CLOSE
        else:
            lowered[end.name] = one = lower(end.parameters, options)
            entries[end.name] = seq(after_name, one.node, _CLOSE)
    start = _start(entries, style)
    return Route(start, style, CompileReport(lowered, dropped), tools=tuple(kept), terminals=ends, entries=entries)


_CLOSE = lit(b"}")
_KEPT = 20_000
_memo: dict[tuple[int, Options], tuple[Tool, Lowered]] = {}


def _lowered(tool: Tool, options: Options) -> Lowered:
    """``lower`` for a tool, remembered by the tool object: catalogues change around the same tools, request after request."""
    key = (id(tool), options)
    found = _memo.get(key)
    if found is None:
        if len(_memo) >= _KEPT:
            _memo.clear()
        lowered = lower(tool.parameters, options)
        if lowered.after:
            # What stands below those keywords was perhaps not read: a fault there is found now, not by the first reply.
            argument_validator(tool, options.formats)
        found = _memo[key] = (tool, lowered)  # the tool is kept, so its id is not given away
    return found[1]


def _start(entries: Mapping[str, Node], style: StyleName) -> State:
    """The state before the first byte of a reply with these alternatives (name → node after the name)."""
    if not entries:
        raise UnsatisfiableRoute("nothing is offered: no tool is left and there is no terminal")
    opening = lit(b'{"tool"' + STYLES[style].colon)
    start = cons(seq(opening, tree((_name(name), node) for name, node in entries.items())), END)
    if start is None:
        raise UnsatisfiableRoute("the shortest reply nests too deep")
    return start


def _name(name: str) -> bytes:
    return encode_basestring(name).encode()


def _options(style: str, additional: str, order: str, formats: bool) -> Options:
    for name, value, known in (
        ("style", style, tuple(STYLES)),
        ("additional", additional, ("closed", "schema")),
        ("property_order", order, ("declared", "any")),
    ):
        if value not in known:
            raise SchemaError(f"{name} {value!r} is not one of {', '.join(known)}")
    return Options(style, additional, order, formats)  # type: ignore[arg-type]
