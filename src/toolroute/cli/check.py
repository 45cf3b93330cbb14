"""One reply against a route: where it leaves the language, and what was allowed there, in words.

Theory. The language is walked byte by byte, so the first byte that no accepted reply continues with is known exactly, and so is the set of
bytes that would have gone on: each of the 256 is tried. Bytes that open a fixed text are shown with that text (a member name, a tool), the
others as characters and ranges. A reply that the mask admits still has to pass the check that the router makes afterwards: strict
parsing, then the schema. Blanks around the reply are trimmed, as the parser trims them.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..grammar import State, forced
from ..route.jsontext import BLANKS, JsonFault, dump, load
from ..route.judge import SchemaValidator
from ..route.reply import parse_route
from ..route.validate import validate_arguments
from ..schema import Route

MAX_BEFORE = 60
"""Characters shown of what came before."""
MAX_TEXTS = 12
"""Fixed texts listed; where there are more, only their first characters are."""
MAX_TEXT = 48
"""Characters shown of a fixed text."""


class Refusal(NamedTuple):
    """Why a reply is not accepted.

    ``byte``: offset of the first byte that does not fit, the reply's length where it ends too early, None where only the check after
    decoding refuses it; ``before``, ``found``: the text up to there and the character there ("" at the end); ``allowed``: what could
    stand there, in words; ``hint``: what else can be said, such as how the same value would be accepted.
    """

    reason: str
    byte: int | None = None
    before: str = ""
    found: str = ""
    allowed: tuple[str, ...] = ()
    hint: str = ""


def check(route: Route, reply: str) -> Refusal | None:
    """None if ``reply`` is accepted: by the mask, by strict parsing and, for a tool call, by the tool's schema."""
    text = reply.strip(BLANKS)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        return Refusal("it holds a character that UTF-8 cannot write (a lone surrogate)", len(text[: error.start].encode()))
    state = route.start
    for offset, byte in enumerate(data):
        after = state.step(byte)
        if after is None:
            start = offset
            while start and data[start] & 0xC0 == 0x80:  # not within a character
                start -= 1
            found = data[start:].decode()[0]
            reason = "the reply was complete before it" if not allowed_bytes(state) else "no accepted reply goes on like this"
            return Refusal(reason, offset, _tail(data[:start]), found, describe(state), _hint(route, text))
        state = after
    if not state.view.accepts:
        closing = state.closing().decode(errors="replace")
        return Refusal("it ends too early", len(data), _tail(data), "", describe(state), f"shortest way to end it: `{_cut(closing)}`")
    fault = _after(route, text)
    return None if fault is None else Refusal(f"the mask admits it, the check on the finished reply does not: {fault}")


def _after(route: Route, text: str) -> str | None:
    """What the router would say of it."""
    if not route.choices:
        try:
            value = load(text)
        except JsonFault as fault:
            return fault.reason
        return SchemaValidator(route.schema).check(value)
    parsed = parse_route(text, route.tools, route.terminals)
    if not parsed.ok:
        return parsed.error
    tool = next((tool for tool in route.tools if tool.name == parsed.tool), None)
    return None if tool is None else validate_arguments(tool, parsed.arguments)


def _hint(route: Route, text: str) -> str:
    """How the same value is accepted, if writing it anew is enough."""
    try:
        value = load(text)
    except JsonFault as fault:
        return f"it is not JSON: {fault.reason}" if fault.syntax else ""
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    spelled = next((again for again in (dump(value), compact) if route.accepts(again)), None)
    return "" if spelled is None else f"the same value is accepted as `{_cut(spelled, 200)}`"


# -- what is allowed -----------------------------------------------------------------------------------------------------------------


def allowed_bytes(state: State) -> list[int]:
    """The bytes that some accepted reply goes on with."""
    return [byte for byte in range(256) if state.step(byte) is not None]


def describe(state: State) -> tuple[str, ...]:
    """What may come next, in words: fixed texts, characters, the end."""
    found = allowed_bytes(state)
    tails: dict[bytes, list[int]] = {}  # fixed text after a byte → such bytes
    for byte in found:
        after = state.step(byte)
        assert after is not None
        tails.setdefault(b"" if byte >= 0x80 or state.view.wide else forced(after)[0], []).append(byte)
    if len(tails) > MAX_TEXTS:
        tails = {b"": found}
    out = []
    for tail, values in sorted(tails.items(), key=lambda item: item[1]):
        text = _cut(tail.decode(errors="ignore"))
        if tail and len(values) == 1:
            out.append(f"the text `{chr(values[0])}{text}`")
        else:
            out.append(characters(values) + (f", then `{text}`" if tail else ""))
    if state.view.accepts:
        out.append("the end of the reply")
    return tuple(out)


def characters(values: list[int]) -> str:
    """A set of bytes as characters and ranges."""
    left = sorted(value for value in values if value < 0x80)
    parts: list[str] = []
    while left:
        low = high = left.pop(0)
        while left and left[0] == high + 1:
            high = left.pop(0)
        parts += [_name(low)] if low == high else [f"{_name(low)} to {_name(high)}"] if high - low > 1 else [_name(low), _name(high)]
    leads = [value for value in values if value >= 0xC0]
    if leads:
        parts.append("characters outside ASCII" if len(leads) > 40 else f"characters that begin with byte {_hex(leads)}")
    inside = [value for value in values if 0x80 <= value < 0xC0]
    if inside:
        parts.append(f"a further byte of this character, {_hex(inside)}")
    several = len(parts) > 1 or (not inside and " to " in parts[0])
    return ("one of " if several else "") + ", ".join(parts)


def _hex(values: list[int]) -> str:
    return f"{values[0]:02X}" if len(values) == 1 else f"{values[0]:02X} to {values[-1]:02X}"


def _name(byte: int) -> str:
    names = {0x20: "blank", 0x2C: "comma"}
    return names.get(byte) or (chr(byte) if 0x20 < byte < 0x7F else f"byte {byte:02X}")


def _tail(data: bytes) -> str:
    text = data.decode()
    return text if len(text) <= MAX_BEFORE else "…" + text[-MAX_BEFORE:]


def _cut(text: str, most: int = MAX_TEXT) -> str:
    return text if len(text) <= most else text[:most] + "…"
