"""A reply, parsed strictly: what the model wrote, checked against what it was offered.

Theory. A reply that needs repairing is a reply that was not constrained, so nothing is repaired here: the whole text, JSON's white space
around it aside, is one JSON object, and

* ``tool`` is a non-blank string and one of the names, compared exactly;
* a bare terminal carries no other member;
* any other action carries exactly ``tool`` and ``arguments``, and ``arguments`` is an object.

What counts as JSON is in ``jsontext``. The answer is always a value, never an exception: a loop decides what a bad reply means. Error
texts are one sentence, name the member or the tool at fault and show at most 64 characters of the reply, so they can be fed back to the
model. Whether the arguments suit the tool is another question (``validate``). Cost: linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..catalogue import Tool
from .jsontext import BLANKS, JsonFault, load, quoted
from .terminal import Terminal, Terminals, to_terminals

MAX_OFFERED = 20
"""How many names an error lists."""

NOT_AN_OBJECT = "the reply is not a JSON object"


class ParsedRoute(dict[str, Any]):
    """The outcome of parsing, as a dict and by attribute.

    ``{"ok": True, "tool": …, "arguments": {…}, "text": …}`` (no ``arguments`` for a bare terminal) or ``{"ok": False, "error": …}``.
    Attributes of members that are absent are None. ``repairs``: what a lenient parse changed, in order; ``()`` after a strict one.
    """

    __slots__ = ("_repairs",)

    def __init__(self, members: dict[str, Any], repairs: Iterable[str] = ()) -> None:
        super().__init__(members)
        self._repairs = tuple(repairs)

    @classmethod
    def failure(cls, error: str, repairs: Iterable[str] = ()) -> ParsedRoute:
        """A refused reply."""
        return cls({"ok": False, "error": error}, repairs)

    def __reduce__(self) -> tuple[Any, ...]:
        return ParsedRoute, (dict(self), self._repairs)

    @property
    def ok(self) -> bool:
        """Whether the reply is one of the offered actions."""
        return bool(self["ok"])

    @property
    def tool(self) -> str | None:
        """The name of the tool or terminal."""
        return self.get("tool")

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments; None for a bare terminal or a refused reply."""
        return self.get("arguments")

    @property
    def text(self) -> str | None:
        """The reply, trimmed."""
        return self.get("text")

    @property
    def error(self) -> str | None:
        """Why the reply is refused, in one sentence."""
        return self.get("error")

    @property
    def repairs(self) -> tuple[str, ...]:
        """What a lenient parse changed before checking."""
        return self._repairs


class Offer:
    """What a reply is checked against: the tools' names and the terminals, each looked up in constant time."""

    def __init__(self, names: Iterable[Any], terminals: Terminals = ("none",)) -> None:
        self.names = {item.name if isinstance(item, Tool) else item: None for item in ((names,) if isinstance(names, str) else names)}
        self.ends: dict[str, Terminal] = {end.name: end for end in to_terminals(terminals)}

    def __contains__(self, name: object) -> bool:
        return name in self.names or name in self.ends

    def listing(self) -> str:
        """The names for an error, the terminals always among them."""
        ends = list(self.ends)[:MAX_OFFERED]
        names = list(self.names)[: MAX_OFFERED - len(ends)]
        hidden = len(self.names) + len(self.ends) - len(names) - len(ends)
        return ", ".join([*names, *ends]) + (f" and {hidden} more" if hidden else "")


def check_object(value: object, text: str, offer: Offer) -> ParsedRoute:
    """Whether a JSON value is one of the offered actions, and which."""
    if not isinstance(value, dict):
        return ParsedRoute.failure(NOT_AN_OBJECT)
    if "tool" not in value:
        extra = f" (it has {quoted(next(iter(value)))})" if value else ""
        return ParsedRoute.failure(f"the reply has no member 'tool'{extra}")
    tool = value["tool"]
    if not isinstance(tool, str):
        return ParsedRoute.failure("the member 'tool' is not a string")
    if not tool.strip():
        return ParsedRoute.failure("the member 'tool' is blank")
    if tool not in offer:
        return ParsedRoute.failure(f"unknown tool {quoted(tool)}; offered: {offer.listing()}")
    end = offer.ends.get(tool)
    expected = ("tool",) if end is not None and end.bare else ("tool", "arguments")
    for member in value:
        if member not in expected:
            beside = ", and this action carries only 'tool'" if len(expected) == 1 else ""
            return ParsedRoute.failure(f"the reply has the unexpected member {quoted(member)}{beside}")
    if len(expected) == 1:
        return ParsedRoute({"ok": True, "tool": tool, "text": text})
    if "arguments" not in value:
        return ParsedRoute.failure("the reply has no member 'arguments'")
    if not isinstance(value["arguments"], dict):
        return ParsedRoute.failure("the member 'arguments' is not an object")
    return ParsedRoute({"ok": True, "tool": tool, "arguments": value["arguments"], "text": text})


def parse_route(text: object, names: Iterable[Any], terminals: Terminals = ("none",)) -> ParsedRoute:
    """Check a whole reply against the offered ``names`` (or tools, or a catalogue) and ``terminals``.

    Returns a ``ParsedRoute`` for any ``text`` whatever; a fault of the reply is its ``error``, never an exception. Only terminals that
    are not terminals raise ``CatalogueError``.
    """
    offer = Offer(names, terminals)
    if not isinstance(text, str):
        return ParsedRoute.failure(f"the reply is not text but {type(text).__name__}")
    return check_text(text.strip(BLANKS), offer)


def check_text(trimmed: str, offer: Offer) -> ParsedRoute:
    """The strict parse of a trimmed text."""
    try:
        value = load(trimmed)
    except JsonFault as fault:
        return ParsedRoute.failure(refusal(trimmed, fault))
    return check_object(value, trimmed, offer)


def refusal(text: str, fault: JsonFault) -> str:
    """The error for a text that ``load`` refused."""
    if not fault.syntax:
        return f"the reply is refused: {fault.reason}"
    return f"{NOT_AN_OBJECT}: {fault.reason}" if text.startswith(("{", "\ufeff")) else NOT_AN_OBJECT
