"""Arrays. They unfold when a state is first looked at.

Each place of an array has *choices*: nodes for its item, each with the demands that an item of that node meets. A demand (``contains``)
is a number of items, from ``low`` to ``high``; a position carries how often each was met, as far as that matters. Most arrays have one
choice for every place and no demands. Where items must be distinct and the item is a finite set of literals, a position carries those
that were used.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Final, NamedTuple

from ..errors import SchemaLimit
from .expr import UNKNOWN, Least, Node, State, Tree, View, cons, intern, lit, seq, tree, union
from .style import Style

MAX_POSITIONS: Final = 20_000
"""Positions looked at to find the shortest array with demands (count; some 5 µs each)."""


class Item(NamedTuple):
    """A choice for one place: the node, and for each demand 1 where such an item meets it, else 0."""

    node: Node
    meets: tuple[int, ...] = ()


class Demand(NamedTuple):
    """``low`` to ``high`` (None: any number) of the items meet it."""

    low: int
    high: int | None


class Array(Node):
    """``prefix``: the choices of the first places; ``rest``: of all others (none: there are no others); ``low`` to ``high`` items in all
    (None: any number); ``unique``: no two items spelled alike (literals only)."""

    __slots__ = ("demands", "high", "low", "prefix", "rest", "style", "unique")

    def __init__(
        self,
        prefix: tuple[tuple[Item, ...], ...],
        rest: tuple[Item, ...],
        low: int,
        high: int | None,
        demands: tuple[Demand, ...],
        unique: bool,
        style: Style,
    ) -> None:
        if not rest:
            high = len(prefix) if high is None else min(high, len(prefix))
        if unique and not prefix:
            words = {text for item in rest if isinstance(item.node, Tree) for text, _ in item.node.entries}
            high = len(words) if high is None else min(high, len(words))
        self.prefix, self.rest, self.low, self.high, self.style = prefix, rest, low, high, style
        self.demands, self.unique = demands, unique

    @property
    def start(self) -> ItemsAt:
        """The position after the opening bracket."""
        return self.at(0, (0,) * len(self.demands), frozenset())

    def at(self, index: int, met: tuple[int, ...], used: frozenset[bytes]) -> ItemsAt:
        """The position before item ``index``; beyond what is counted, all positions are one."""
        return intern(ItemsAt, self, self.counted(index), self.met(met), used)  # type: ignore[no-any-return]

    def counted(self, index: int) -> int:
        return index if self.high is not None else min(index, max(self.low, len(self.prefix), 1))

    def met(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        """``counts`` as far as they matter."""
        return tuple(min(n, d.low if d.high is None else max(d.low, d.high)) for n, d in zip(counts, self.demands, strict=True))

    def choices(self, index: int, met: tuple[int, ...] = ()) -> list[Item]:
        """What may stand at place ``index``."""
        if self.high is not None and index >= self.high:
            return []
        items = self.prefix[index] if index < len(self.prefix) else self.rest
        if not met:
            return list(items)
        full = [d.high is not None and n >= d.high for n, d in zip(met, self.demands, strict=True)]
        return [item for item in items if not any(f and hit for f, hit in zip(full, item.meets, strict=True))]

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        if self.high is not None and self.high < self.low:
            return None
        best, _ = _ending(self, 0, (0,) * len(self.demands), frozenset(), of)
        return best if best is None or best is UNKNOWN else (best[0] + 1, best[1])

    def spell(self) -> bytes:
        return b"[" + self.start.spell()

    def expand(self, k: State) -> View:
        after = cons(self.start, k)
        return View({} if after is None else {0x5B: after}, (), False)


Way = tuple[Least | None, list[Node]]
_At = tuple[int, tuple[int, ...]]  # a place, and how often each demand was met


def _ending(array: Array, index: int, met: tuple[int, ...], used: frozenset[bytes], of: Callable[[Node], Least | None]) -> Way:
    """A shortest way to the end of an open array: its ``least``, and the nodes of the items that it writes."""
    comma = len(array.style.comma)
    if array.demands:
        return _search(array, index, met, of)
    length, depth = 1, 1
    nodes: list[Node] = []
    # Beyond the prefix all places are alike, so the rest is one multiplication; unless items must differ.
    stop = array.low if array.unique else min(array.low, max(len(array.prefix), index))
    for place in range(index, stop):
        best, node = _shortest(array.choices(place), used, of)
        if best is None or best is UNKNOWN:
            return best, []
        assert node is not None
        length, depth = length + best[0] + (comma if place else 0), max(depth, best[1] + 1)
        nodes.append(node)
        if array.unique:
            used |= {node.spell()}
    start = max(index, stop)
    if start < array.low:
        best, node = _shortest(array.choices(start), used, of)
        if best is None or best is UNKNOWN:
            return best, []
        assert node is not None
        count = array.low - start
        length += count * best[0] + (count if start else count - 1) * comma
        depth = max(depth, best[1] + 1)
        nodes += [node] * count
    return (length, depth), nodes


def _shortest(items: list[Item], taken: frozenset[bytes], of: Callable[[Node], Least | None]) -> tuple[Least | None, Node | None]:
    found: tuple[Least, Node] | None = None
    for item in items:
        node = without(item.node, taken) if taken else item.node
        best = of(node)
        if best is UNKNOWN:
            return UNKNOWN, None
        if best is not None and (found is None or best < found[0]):
            found = best, node
    return (None, None) if found is None else found


def _search(array: Array, index: int, met: tuple[int, ...], of: Callable[[Node], Least | None]) -> Way:
    """``_ending`` for an array with demands: Dijkstra's algorithm over the positions."""
    comma = len(array.style.comma)
    stop = max(array.low, len(array.prefix), 1)
    heap: list[tuple[int, int, int, _At, _At | None, Node | None]] = [(1, 1, 0, (index, met), None, None)]
    came: dict[_At, tuple[_At | None, Node | None]] = {}
    tick = itertools.count(1)  # settles ties, so that nodes are never compared
    while heap:
        length, depth, _, at, before, node = heapq.heappop(heap)
        if at in came:
            continue
        came[at] = (before, node)
        if len(came) > MAX_POSITIONS:
            raise SchemaLimit(
                f"more than {MAX_POSITIONS} positions in the search for a shortest array",
                keyword="contains", limit="MAX_POSITIONS", needed=MAX_POSITIONS + 1, given=MAX_POSITIONS,
            )  # fmt: skip
        place, counts = at
        if place >= array.low and all(n >= d.low for n, d in zip(counts, array.demands, strict=True)):
            return (length, depth), _way(at, came)
        for item in array.choices(place, counts):
            best = of(item.node)
            if best is UNKNOWN:
                return UNKNOWN, []
            if best is None:
                continue
            after = array.met(tuple(n + hit for n, hit in zip(counts, item.meets, strict=True)))
            there = (place + 1 if array.high is not None else min(place + 1, stop), after)
            if there not in came:
                length_there = length + best[0] + (comma if place else 0)
                heapq.heappush(heap, (length_there, max(depth, best[1] + 1), next(tick), there, at, item.node))
    return None, []


def _way(at: _At, came: dict[_At, tuple[_At | None, Node | None]]) -> list[Node]:
    nodes: list[Node] = []
    here: _At | None = at
    while here is not None:
        here, node = came[here]
        if node is not None:
            nodes.append(node)
    return nodes[::-1]


def without(node: Node, used: frozenset[bytes]) -> Node:
    """A finite set of literals without some of them."""
    assert isinstance(node, Tree)
    return tree((text, after) for text, after in node.entries if text not in used)


class ItemsAt(Node):
    """An open array before item ``index``. ``met``: how often each demand was met; ``used``: items written (where ``unique``)."""

    __slots__ = ("array", "index", "met", "used")
    opens = 1

    def __init__(self, array: Array, index: int, met: tuple[int, ...], used: frozenset[bytes]) -> None:
        self.array, self.index, self.met, self.used = array, index, met, used

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return _ending(self.array, self.index, self.met, self.used, of)[0]

    def spell(self) -> bytes:
        array = self.array
        nodes = _ending(array, self.index, self.met, self.used, lambda node: node.best)[1]
        items = [node.spell() for node in nodes]
        return (array.style.comma if self.index and items else b"") + array.style.comma.join(items) + b"]"

    def expand(self, k: State) -> View:
        array, index = self.array, self.index
        comma = lit(array.style.comma if index else b"")
        states = []
        for node, meets in array.choices(index, self.met):
            met = tuple(n + hit for n, hit in zip(self.met, meets, strict=True))
            if array.unique:
                assert isinstance(node, Tree)
                fresh = [(text, after) for text, after in node.entries if text not in self.used]
                entries = [(text, seq(after, array.at(index + 1, met, self.used | {text}))) for text, after in fresh]
                if entries:
                    states.append(cons(seq(comma, tree(entries)), k))
            else:
                states.append(cons(seq(comma, node, array.at(index + 1, met, self.used)), k))
        if index >= array.low and all(n >= d.low for n, d in zip(self.met, array.demands, strict=True)):
            states.append(cons(lit(b"]"), k))
        found = [s for s in states if s is not None]
        return union(found).view if found else View({}, (), False)


def array_node(
    prefix: tuple[tuple[Item, ...], ...],
    rest: tuple[Item, ...],
    style: Style,
    *,
    low: int = 0,
    high: int | None = None,
    demands: tuple[Demand, ...] = (),
    unique: bool = False,
) -> Node:
    """The node of such arrays; see ``Array``."""
    return intern(Array, prefix, rest, low, high, demands, unique, style)  # type: ignore[no-any-return]
