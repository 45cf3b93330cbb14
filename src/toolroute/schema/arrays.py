"""Arrays: what a conjunction without alternatives says of their items.

A demand (``contains``, or that some item differs) splits what may stand at a place in two: items that meet it and items that do not, so
that every item counts for what it is.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from ..grammar.arrays import Demand, Item, array_node
from ..grammar.expr import Lit, Node, Tree
from .conjunction import limit
from .document import DERIVED, Part
from .leaves import MAX_SHORTEST
from .negate import SOME_ITEM

if TYPE_CHECKING:
    from .lower import Lowering

MAX_DEMANDS: Final = 3
"""Demands on the items of one array (count; each doubles what may stand at a place)."""


class _Demand:
    """A demand, from item ``start`` on, and the part that an item satisfies to meet it."""

    def __init__(self, start: int, part: Part, low: int, high: int | None) -> None:
        self.start, self.part, self.low, self.high = start, part, low, high


def lower_array(lowering: Lowering, flat: list[Part]) -> Node:
    """The arrays of a conjunction."""
    low = max((int(p.schema["minItems"]) for p in flat if "minItems" in p.schema), default=0)
    high = min((int(p.schema["maxItems"]) for p in flat if "maxItems" in p.schema), default=None)
    pointer = flat[0].place if flat else ""
    tuples = [_tuple(lowering, part) for part in flat if part.schema.keys() & _ITEMS]
    unevaluated = [_unevaluated(lowering, part, flat) for part in flat if "unevaluatedItems" in part.schema]
    tuples += [found for found in unevaluated if found is not None]
    demands = _demands(lowering, flat)
    length = max((start for one in demands for start in (one.start,)), default=0)
    length = max((len(head) for head, _ in tuples), default=0) if not demands else max(length, max((len(h) for h, _ in tuples), default=0))
    if high is not None:
        length = min(length, high)
    if max(low, length) > MAX_SHORTEST:
        raise limit("MAX_SHORTEST", MAX_SHORTEST, "bytes in the shortest text", f"{pointer}/minItems", "minItems")

    def items(i: int | None) -> tuple[Item, ...]:
        """What may stand at place ``i`` (None: beyond the prefix)."""
        found = [head[i] if i is not None and i < len(head) else rest for head, rest in tuples]
        parts = [part for part in found if part is not None]
        choices = []
        for meets in itertools.product((1, 0), repeat=len(demands)):
            more = []
            possible = True
            for one, met in zip(demands, meets, strict=True):
                if i is not None and i < one.start:
                    possible &= not met
                else:
                    more.append(one.part if met else lowering.conjunctions.negated(one.part))
            node = lowering.below([*parts, *more]) if possible else None
            if node is not None and node.best is not None:
                choices.append(Item(node, meets))
        return tuple(choices)

    prefix: list[tuple[Item, ...]] = []
    for i in range(length):
        choices = items(i)
        if not choices:
            high = i
            break
        prefix.append(choices)
    rest = items(None) if high is None or high > len(prefix) else ()
    wants = tuple(Demand(one.low, one.high) for one in demands)
    unique = (high is None or high > 1) and _unique(lowering, flat, prefix, rest)
    if unique and rest and isinstance(rest[0].node, Lit):
        high, unique = min(1, high) if high is not None else 1, False
    node = array_node(tuple(prefix), rest, lowering.marks, low=low, high=high, demands=wants, unique=unique)
    if node.best is not None and node.best[0] > MAX_SHORTEST:
        raise limit("MAX_SHORTEST", MAX_SHORTEST, "bytes in the shortest text", f"{pointer}/minItems", "minItems")
    if node.best is None:
        return lowering.none(pointer, f"no array with at least {low} items is possible")
    return node


_ITEMS: Final = {"items", "prefixItems", "additionalItems"}


def _tuple(lowering: Lowering, part: Part) -> tuple[list[Part], Part | None]:
    """What a part says of the first items, and of the rest."""
    schema = part.schema
    if lowering.draft == 2020 or "prefixItems" in schema:
        head = [part.at("prefixItems", i) for i in range(len(schema.get("prefixItems", ())))]
        return head, part.at("items") if "items" in schema else None
    if isinstance(schema.get("items"), list):
        head = [part.at("items", i) for i in range(len(schema["items"]))]
        return head, part.at("additionalItems") if "additionalItems" in schema else None
    return [], part.at("items") if "items" in schema else None


def _unevaluated(lowering: Lowering, part: Part, flat: list[Part]) -> tuple[list[Part], Part] | None:
    """``unevaluatedItems`` as a rest behind everything that is evaluated; None where all of it is."""
    if part.pointer in lowering.conjunctions.blind:
        lowering.later(*lowering.conjunctions.attributed(part, "unevaluatedItems"), "a dynamic reference stands beside it")
        return None
    length = 0
    for one in flat:
        if one is part or part.pointer in one.under:
            schema = one.schema
            if "contains" in schema and lowering.draft == 2020:
                lowering.later(*lowering.conjunctions.attributed(part, "unevaluatedItems"), "contains stands beside it")
                return None
            if one is not part and "unevaluatedItems" in schema:
                return None
            head, rest = _tuple(lowering, one) if schema.keys() & _ITEMS else ([], None)
            if rest is not None:
                return None
            length = max(length, len(head))
    anything = Part(f"{part.pointer}{DERIVED}any", {})
    return [anything] * length, part.at("unevaluatedItems")


def _demands(lowering: Lowering, flat: list[Part]) -> list[_Demand]:
    found: list[_Demand] = []
    for part in flat:
        schema = part.schema
        if "contains" in schema and lowering.draft >= 6:
            counted = lowering.draft >= 2019
            low = int(schema.get("minContains", 1)) if counted else 1
            high = int(schema["maxContains"]) if counted and "maxContains" in schema else None
            if low or high is not None:
                found.append(_Demand(0, part.at("contains"), low, high))
        if SOME_ITEM in schema:
            start, wanted = schema[SOME_ITEM]
            found.append(_Demand(start, Part(f"{part.pointer}{DERIVED}some", wanted), 1, None))
    for one in found[MAX_DEMANDS:]:
        lowering.later(*lowering.conjunctions.attributed(one.part, "contains"), f"more than {MAX_DEMANDS} demands on one array")
    return found[:MAX_DEMANDS]


def _unique(lowering: Lowering, flat: list[Part], prefix: list[tuple[Item, ...]], rest: tuple[Item, ...]) -> bool:
    """Whether items must be distinct and the mask can see to it: every item is out of one finite set of literals."""
    asking = [part for part in flat if part.schema.get("uniqueItems") is True]
    if not asking:
        return False
    if not prefix and len(rest) == 1 and (isinstance(rest[0].node, Lit) or _literals(rest[0].node)):
        return True
    if not prefix and not rest:
        return False
    for part in asking:
        lowering.later(*lowering.conjunctions.attributed(part, "uniqueItems"), "the items are not out of one finite set")
    return False


def _literals(node: Node) -> bool:
    return isinstance(node, Tree) and all(isinstance(after, Lit) and not after.text for _, after in node.entries)
