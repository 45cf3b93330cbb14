"""A reply from a provider that nothing constrained: found, repaired, then checked like any other.

Theory. Models that are only *asked* for JSON wrap it in fences and prose, call ``tool`` ``name`` and send ``arguments`` as a string. Each
of these has one obvious reading, and each reading is a named repair, listed in ``repairs``; anything else is refused. A repair changes
the wrapping only: which tool, and every value in the arguments, stay what the model wrote (no trailing commas, no single quotes, no
spelling correction, no coercion). After repairing, the validator of the strict parser decides, so a lenient parse accepts no action that
a strict one would refuse.

Objects are found by counting braces outside strings, left to right, each character looked at once. The first whole object that names a
tool is taken. An object that never closes ends the search: what is inside a cut-off reply is not a reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..catalogue import normalize_tool_name
from .jsontext import BLANKS, JsonFault, dump, load, quoted
from .reply import NOT_AN_OBJECT, Offer, ParsedRoute, check_text, refusal
from .terminal import Terminals

TOOL_NAMES = ("name", "tool_name", "function")
"""Members read as ``tool`` where there is none."""
ARGUMENT_NAMES = ("parameters", "args", "input", "tool_args")
"""Members read as ``arguments`` where there is none."""
WRAPPERS = ("function", "tool_call")
"""Members that may hold the whole action."""
LABELS = ("type", "id", "call_id")
"""Members of other systems' calls that say nothing about the action."""

_OPENING = re.compile(r'\{[ \t\n\r]*["}]')
_STEP = re.compile(r'"(?:[^"\\]+|\\.)*"?|[{}]', re.DOTALL)
_FENCE = re.compile(r"\A\s*```[\w-]*\s*\Z")


def parse_route_lenient(text: object, names: Iterable[Any], terminals: Terminals = ("none",)) -> ParsedRoute:
    """``parse_route`` after the repairs an unconstrained reply may need; ``repairs`` lists them.

    Never raises for any ``text``. ``text`` in the result is the action alone, in a form that ``parse_route`` accepts.
    """
    offer = Offer(names, terminals)
    if not isinstance(text, str):
        return ParsedRoute.failure(f"the reply is not text but {type(text).__name__}")
    trimmed = text.strip(BLANKS)
    try:
        value = load(trimmed)
    except JsonFault as fault:
        return _search(trimmed, offer, refusal(trimmed, fault))
    if isinstance(value, dict):
        return _repaired(value, trimmed, offer, [])
    return _search(trimmed, offer, NOT_AN_OBJECT)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the outermost brace pairs that begin like an object; end is -1 where one never closes, and then the last."""
    start = _OPENING.search(text)
    while start is not None:
        depth, end = 0, -1
        for step in _STEP.finditer(text, start.start()):
            token = step.group()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                end = step.end()
                break
        yield start.start(), end
        start = _OPENING.search(text, end) if end >= 0 else None


def _search(text: str, offer: Offer, error: str) -> ParsedRoute:
    """The first object in ``text`` that names a tool, repaired and checked; ``error`` is why the whole text is refused."""
    fault: JsonFault | None = None
    for start, end in _spans(text):
        if end < 0:
            return ParsedRoute.failure(f"{NOT_AN_OBJECT}: an object begins and is never closed")
        found = text[start:end]
        try:
            value = load(found)
        except JsonFault as inner:
            fault = fault or inner
            continue
        if _names_a_tool(value):
            return _repaired(value, found, offer, _surroundings(text[:start], text[end:]))
    return ParsedRoute.failure(refusal("{", fault) if fault else error)


def _names_a_tool(value: dict[str, Any]) -> bool:
    return any(key in value for key in ("tool", *TOOL_NAMES, *WRAPPERS))


def _surroundings(before: str, after: str) -> list[str]:
    """The repairs that taking an object out of its text amounts to."""
    repairs = []
    if _FENCE.match(before) and after.strip(BLANKS).startswith("```"):
        repairs.append("code fence removed")
        before, after = "", after.strip(BLANKS)[3:]
    if before.strip(BLANKS):
        repairs.append("text before the object removed")
    if any(True for _ in _spans(after)):
        repairs.append("further objects ignored")
    elif after.strip(BLANKS):
        repairs.append("text after the object removed")
    return repairs


def _repaired(value: dict[str, Any], text: str, offer: Offer, repairs: list[str]) -> ParsedRoute:
    """Repair the object's own members, then parse it strictly; ``text`` stays where nothing inside changed."""
    outside = len(repairs)
    action = _renamed(_unwrapped(value, repairs), repairs)
    for label in [key for key in LABELS if key in action]:
        del action[label]
        repairs.append(f"member {label!r} removed")
    _repair_tool(action, offer, repairs)
    _repair_arguments(action, offer, repairs)
    return ParsedRoute(check_text(dump(action) if len(repairs) > outside else text, offer), repairs)


def _unwrapped(value: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    """The action inside a member that holds nothing else, beside labels at most."""
    for key in WRAPPERS:
        if isinstance(value.get(key), dict) and set(value) <= {key, *LABELS}:
            repairs.append(f"action taken out of the member {key!r}")
            return dict(value[key])
    return dict(value)


def _renamed(action: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    """``action`` with the one foreign name for each of its two members replaced; two candidates are not repaired."""
    names = {}
    for wanted, others in (("tool", TOOL_NAMES), ("arguments", ARGUMENT_NAMES)):
        present = [key for key in others if key in action]
        if wanted not in action and len(present) == 1:
            names[present[0]] = wanted
            repairs.append(f"member {present[0]!r} read as {wanted!r}")
    return {names.get(key, key): item for key, item in action.items()}


def _repair_tool(action: dict[str, Any], offer: Offer, repairs: list[str]) -> None:
    tool = action.get("tool")
    if isinstance(tool, str) and tool not in offer and normalize_tool_name(tool) in offer:
        action["tool"] = normalize_tool_name(tool)
        repairs.append(f"tool name {quoted(tool)} normalised")


def _repair_arguments(action: dict[str, Any], offer: Offer, repairs: list[str]) -> None:
    tool, arguments = action.get("tool"), action.get("arguments")
    end = offer.ends.get(tool) if isinstance(tool, str) else None
    if isinstance(arguments, str):
        try:
            inner = load(arguments.strip(BLANKS))
        except JsonFault:
            inner = None
        if isinstance(inner, dict):
            action["arguments"] = arguments = inner
            repairs.append("arguments read from a string")
    if end is not None and end.bare:
        if "arguments" in action and arguments in (None, {}):
            del action["arguments"]
            repairs.append("empty arguments removed")
    elif arguments is None and isinstance(tool, str):
        repairs.append("null arguments read as {}" if "arguments" in action else "missing arguments read as {}")
        action["arguments"] = {}
