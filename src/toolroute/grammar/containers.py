"""Any value, references, and the least fixed point: the parts of JSON that contain themselves.

A ``Reference`` stands for a node that contains itself. Its target is set once, after compilation; shortest texts over references are the
least fixed point found by ``resolve``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from .arrays import Array, Item, array_node
from .expr import UNKNOWN, Choice, Least, Node, Seq, State, Tree, View, choice, lit, tree
from .numbers import number
from .objects import Free, Object, object_node
from .strings import string
from .style import Style


class Value(Node):
    """Any JSON value."""

    __slots__ = ("style",)

    def __init__(self, style: Style) -> None:
        self.style = style

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (1, 0)

    def spell(self) -> bytes:
        return b"0"

    def expand(self, k: State) -> View:
        return choice((CONSTANTS, number(), string(), free_object(self, self.style), free_array(self, self.style))).expand(k)


def free_object(value: Node, style: Style) -> Node:
    """An object with any members whose values are ``value``."""
    return object_node((), (Free(None, value),), style)


def free_array(item: Node, style: Style) -> Node:
    """An array of any number of ``item``."""
    return array_node((), (Item(item),), style)


CONSTANTS: Final[Node] = tree(((b"null", lit(b"")), (b"true", lit(b"")), (b"false", lit(b""))))


class Reference(Node):
    """A node that contains itself, by name; ``identity`` says which (equal identities mean equal targets)."""

    __slots__ = ("identity", "target")

    def __init__(self, identity: object) -> None:
        self.identity = identity
        self.target: Node | None = None

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return UNKNOWN if self.target is None else of(self.target)

    def spell(self) -> bytes:
        assert self.target is not None
        return self.target.spell()

    def expand(self, k: State) -> View:
        assert self.target is not None
        return self.target.expand(k)


def children(node: Node) -> Iterable[Node]:
    """The nodes that ``node`` is made of."""
    if isinstance(node, Object):
        return [m.value for m in node.members] + [kind.value for kind in node.free]
    if isinstance(node, Array):
        return [item.node for items in (*node.prefix, node.rest) for item in items]
    if isinstance(node, Reference):
        return [] if node.target is None else [node.target]
    if isinstance(node, Tree):
        return [n for _, n in node.entries]
    return node.nodes if isinstance(node, Seq | Choice) else ()


def resolve(root: Node) -> None:
    """Give every node under ``root`` its ``best``, now that all references have targets.

    Shortest texts satisfy one equation per node; starting from "none" everywhere and applying the equations until nothing changes gives
    their least solution, and a node that still has none admits no finite text.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            if node.best is UNKNOWN:
                stack.append((node, True))
            stack.extend((child, False) for child in children(node))
    found: dict[Node, Least | None] = dict.fromkeys(order)
    changed = True
    while changed:
        changed = False
        for node in order:
            best = node.least(lambda n: found.get(n, n.best))
            if best != found[node]:
                found[node], changed = best, True
    for node, best in found.items():
        node.best = best

