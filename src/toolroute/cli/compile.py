"""``toolroute compile``: what tools, or any schema, become, without a model's weights.

The report says for every keyword where it is enforced, and for every tool the shortest reply and what it takes in tokens: a cap below
the route's number is refused before the model runs, a cap below a tool's number means that this tool is never called. ``--check`` says of
one reply whether it is accepted, and if not, at which byte it left the language and what was allowed there.

Exit codes: 0 done (and the reply accepted), 2 wrong usage, 3 an error, 5 the reply is not accepted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..catalogue import Catalogue
from ..engine import load_vocabulary
from ..errors import RouteError, VocabularyError
from ..grammar.expr import counters
from ..schema import Assertion, Route, compile_route, compile_schema
from ..schema.report import DOCUMENTATION
from ..vocab import Vocabulary
from .check import Refusal, check
from .common import NOT_ACCEPTED, AsJson, Drop, OnError, Style, Terminal, printable, read_json_file, reported, write_json, write_text


class Format(str, Enum):
    schema = "schema"
    report = "report"
    gbnf = "gbnf"


class Shortest(NamedTuple):
    """The shortest reply with one choice.

    ``choice``: a tool, a terminal, or None for a schema; ``states``: visited on its way; ``tokens``: by vocabulary, None where it cannot
    be spelled.
    """

    choice: str | None
    text: str
    states: int
    tokens: dict[str, int | None]


def compile_command(
    tools: Annotated[Path | None, typer.Option("--tools", "-T", help="JSON file with the tools.", show_default=False)] = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="Or a file with any JSON Schema.", show_default=False)] = None,
    format_: Annotated[Format, typer.Option("--format", "-f", help="What became of its keywords, JSON Schema, or GBNF.")] = Format.report,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="Count tokens in its vocabulary: a name or a GGUF file; repeatable.", show_default=False),
    ] = None,
    reply: Annotated[
        str | None,
        typer.Option("--check", help="Only say whether this reply is accepted; - reads it from stdin.", show_default=False),
    ] = None,
    style: Annotated[Style, typer.Option(help="JSON with or without blanks.")] = Style.spaced,
    terminal: Terminal = None,
    on_error: Drop = OnError.raise_,
    as_json: AsJson = False,
) -> None:
    """Compile tools (or a schema) without a model: the report of what is enforced where, the route's JSON Schema, or its GBNF.

    With --check: whether a reply is accepted and, if not, at which byte and what was allowed there. Exit codes: 0 done, 2 wrong usage,
    3 an error, 5 the reply is not accepted.
    """
    with reported():
        if (tools is None) == (schema is None):
            raise RouteError("give either --tools FILE or --schema FILE")
        before = counters()["states"]
        if schema is not None:
            route = compile_schema(read_json_file(schema), style.value)
        else:
            assert tools is not None
            route = compile_route(Catalogue.from_file(tools, on_error=on_error.value), terminal or ("none",), style.value)
        made = counters()["states"] - before - 1  # asking counts as one
        if reply is not None:
            refusal = check(route, _reply(reply))
            write_json(_verdict(refusal)) if as_json else _print_verdict(refusal)
            if refusal is not None:
                raise typer.Exit(NOT_ACCEPTED)
        elif format_ is Format.schema:
            write_json(route.schema, indent=None if as_json else 2)
        elif format_ is Format.gbnf:
            text = route.gbnf()
            write_json(text) if as_json else write_text(text)
        else:
            vocabularies = {name: load_vocabulary(name) for name in model or ()}
            shortest = list(shortest_replies(route, vocabularies))
            facts = {
                **route.report.to_dict(),
                "states": made,
                "shortest": [one._asdict() for one in shortest],
                "caps": caps(route, shortest, vocabularies),
            }
            write_json(facts) if as_json else _print_report(route, facts, shortest)


# -- the report ----------------------------------------------------------------------------------------------------------------------


def shortest_replies(route: Route, vocabularies: dict[str, Vocabulary]) -> Iterator[Shortest]:
    """The shortest reply of every choice, in catalogue order; of a schema, its shortest text."""
    for choice in route.choices or (None,):
        start = route.start if choice is None else route.only([choice]).start
        text = start.closing()
        seen, state = {start}, start
        for byte in text:
            after = state.step(byte)
            assert after is not None  # the closing text is in the language
            state = after
            seen.add(state)
        tokens = {name: _count(vocabulary, text) for name, vocabulary in vocabularies.items()}
        yield Shortest(choice, text.decode(), len(seen), tokens)


def _count(vocabulary: Vocabulary, text: bytes) -> int | None:
    try:
        return len(vocabulary.spell(text))
    except VocabularyError:
        return None


def caps(route: Route, shortest: list[Shortest], vocabularies: dict[str, Vocabulary]) -> dict[str, dict[str, int | None]]:
    """By vocabulary: ``any``, the least cap under which a matcher starts at all, and ``every``, the least that leaves no choice out."""
    found: dict[str, dict[str, int | None]] = {}
    for name, vocabulary in vocabularies.items():
        counts = [count for one in shortest if (count := one.tokens[name]) is not None]
        every = max(counts) if len(counts) == len(shortest) else None
        found[name] = {"any": _count(vocabulary, route.shortest), "every": every}
    return found


def _print_report(route: Route, facts: dict[str, Any], shortest: list[Shortest]) -> None:
    console = Console()
    report = route.report
    telling = [entry for entry in report.annotations if entry.keyword not in DOCUMENTATION]
    if report.assertions or telling:
        console.print(_keywords(route, [*report.assertions, *telling]))
    console.print(_replies(shortest))
    for error in report.dropped:
        console.print(_line(f"dropped: {error}"), markup=False, highlight=False, soft_wrap=True)
    for name, cap in facts["caps"].items():
        every = "some choice cannot be spelled" if cap["every"] is None else f"every choice fits from {cap['every']} tokens on"
        least = "no reply can be spelled" if cap["any"] is None else f"the smallest workable cap is {cap['any']}; {every}"
        console.print(_line(f"{name}: {least}"), markup=False, highlight=False, soft_wrap=True)
    after = len(report.after)
    verdict = "exact: the mask enforces all of it" if report.exact else f"not exact: {after} of them are checked on the finished reply"
    if not report.exact:
        console.print("Shortest replies are the mask's; the check on the finished reply may refuse them.")
    silent = len(report.annotations) - len(telling)
    console.print(
        f"{len(report.assertions)} assertions, {verdict}. {facts['states']} states made by compiling. {silent} keywords only describe."
    )


_WHERE = {"mask": "mask", "after": "[yellow]after[/]", "annotation": "[dim]annotation[/]"}


def _keywords(route: Route, entries: Iterable[Assertion]) -> Table:
    """Tool by tool, in the order of the route."""
    names = dict.fromkeys(route.choices)
    table = Table(*(["tool"] if names else []), "pointer", "keyword", "enforced", "why", title="Keywords", title_justify="left")
    by_tool: dict[str | None, list[Assertion]] = {name: [] for name in names}
    for entry in entries:
        by_tool.setdefault(entry.tool, []).append(entry)
    for tool, some in by_tool.items():
        for number, entry in enumerate(some):
            first = [Text("" if number else _line(tool or ""))] if names else []
            table.add_row(*first, Text(_line(entry.pointer)), Text(_line(entry.keyword)), _WHERE[entry.status], Text(_line(entry.why)))
    return table


def _replies(shortest: list[Shortest]) -> Table:
    named = shortest[0].choice is not None
    counted = [f"tokens, {_line(name)}" for name in shortest[0].tokens]
    table = Table(*(["choice"] if named else []), "states", "shortest reply", *counted, title="Shortest replies", title_justify="left")
    for one in shortest:
        tokens = ["cannot be spelled" if count is None else str(count) for count in one.tokens.values()]
        first = [Text(_line(one.choice or ""))] if named else []
        table.add_row(*first, str(one.states), Text(_line(one.text)), *tokens)
    return table


def _line(text: str) -> str:
    return printable(text, sys.stdout.encoding)


# -- one reply -----------------------------------------------------------------------------------------------------------------------


def _reply(words: str) -> str:
    """The reply: the argument, or stdin for ``-``."""
    if words != "-":
        return words
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RouteError(f"stdin is not UTF-8 at byte {error.start}") from None


def _found(char: str) -> str:
    return {"": "the end of the reply", " ": "a blank"}.get(char, char if char.isprintable() else repr(char))


def _verdict(refusal: Refusal | None) -> dict[str, Any]:
    return {"accepted": True} if refusal is None else {"accepted": False, **refusal._asdict()}


def _print_verdict(refusal: Refusal | None) -> None:
    if refusal is None:
        write_text("accepted\n")
        return
    lines = [f"not accepted: {refusal.reason}"]
    if refusal.byte is not None:
        lines += [f"at byte:  {refusal.byte}", f"before:   {refusal.before}", f"found:    {_found(refusal.found)}"]
        lines += ["allowed:  " + "\n          ".join(refusal.allowed or ("the end of the reply, and nothing else",))]
    if refusal.hint:
        lines.append(f"hint:     {refusal.hint}")
    write_text("\n".join(lines) + "\n")
