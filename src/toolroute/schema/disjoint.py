"""Proof that the branches of a ``oneOf`` exclude one another, so that *exactly one* is the same as *at least one*.

Two conjunctions are disjoint when their types are, when both list their values and none is common, or when they are objects that both
require a member whose schemas are disjoint (a discriminator), or when one requires a member that the other forbids. Everything is read with
JSON Schema's own meaning: objects are open unless ``additionalProperties`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..route.numbers import canonical
from .document import Part
from .keywords import TYPES

MAX_BRANCHES: Final = 64
"""Branches compared pairwise (count); more are not proved."""

Flatten = Callable[[Sequence[Part]], "list[Part] | None"]


def _types(flat: list[Part]) -> set[str]:
    types = set(TYPES)
    for part in flat:
        named = part.schema.get("type")
        if named is not None:
            allowed = {named} if isinstance(named, str) else set(named)
            types &= allowed | ({"integer"} if "number" in allowed else set())
    return types


def _values(flat: list[Part]) -> set[object] | None:
    listed = [p.schema["enum"] for p in flat if "enum" in p.schema] + [[p.schema["const"]] for p in flat if "const" in p.schema]
    return set.intersection(*({canonical(v) for v in values} for values in listed)) if listed else None


def _member(flat: list[Part], name: str) -> list[Part]:
    return [part.at("properties", name) for part in flat if name in part.schema.get("properties", ())]


def _required(flat: list[Part]) -> set[str]:
    return {name for part in flat for name in (part.schema.get("required") or ())}


def _forbids(flat: list[Part], name: str) -> bool:
    for _, schema, *_ in flat:
        properties = schema.get("properties", {})
        closed = schema.get("additionalProperties", True) is False and "patternProperties" not in schema
        if properties.get(name, True) is False or (closed and name not in properties):
            return True
    return False


def apart(a: list[Part], b: list[Part], flatten: Flatten, depth: int = 3) -> bool:
    """Whether no value satisfies both conjunctions. ``depth``: nested members looked at (count)."""
    common = _types(a) & _types(b)
    if not common:
        return True
    one, other = _values(a), _values(b)
    if one is not None and other is not None and not one & other:
        return True
    if common != {"object"} or depth == 0:
        return False
    needs_a, needs_b = _required(a), _required(b)
    if any(_forbids(b, name) for name in needs_a) or any(_forbids(a, name) for name in needs_b):
        return True
    for name in sorted(needs_a & needs_b):
        x, y = flatten(_member(a, name)), flatten(_member(b, name))
        if x is None or y is None or (x and y and apart(x, y, flatten, depth - 1)):
            return True
    return False
