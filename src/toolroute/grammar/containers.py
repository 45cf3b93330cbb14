"""Arrays, objects, any value, and references: the parts of JSON that nest.

They unfold when a state is first looked at. ``MembersAt`` and ``ItemsAt`` are positions *inside* an open object or array; the value that is
written there has the position after it as its continuation, so the chain of continuations is the stack of open containers. What may come at
a position is one prefix tree: the names of the optional members up to the next required one, each with its separator, or the closing
bracket. An object with ``n`` optional members therefore costs O(n) per position visited and has no subset explosion.

A ``Reference`` stands for a node that contains itself. Its target is set once, after compilation; shortest texts over references are the
least fixed point found by ``resolve``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from .expr import END, UNKNOWN, Choice, Least, Node, Seq, State, Tree, View, choice, cons, intern, lit, seq, tree, union
from .numbers import number
from .strings import ExtraMembers, KeyBody, string


class Style(NamedTuple):
    """The bytes between members and items, and between a name and its value."""

    comma: bytes
    colon: bytes


SPACED: Final = Style(b", ", b": ")
COMPACT: Final = Style(b",", b":")


class Member(NamedTuple):
    """A declared member: its name as JSON text with quotes, the node of its value, and whether it must be there."""

    key: bytes
    value: Node
    required: bool


class Object(Node):
    """An object: ``members`` in this order, then free members whose values are ``extra`` (None: no free members).

    ``taken``: names, as JSON text without quotes, that a free member must not have although they are not among ``members``.
    """

    __slots__ = ("extra", "members", "style", "taken")

    def __init__(self, members: tuple[Member, ...], extra: Node | None, taken: frozenset[bytes], style: Style) -> None:
        self.members, self.extra, self.taken, self.style = members, extra, taken, style

    def at(self, index: int, first: bool) -> Node:
        """The rest of the object before member ``index``; ``first``: nothing has been written yet."""
        return intern(MembersAt, self, index, first)  # type: ignore[no-any-return]

    def free(self) -> frozenset[bytes]:
        """Names no free member may have."""
        return self.taken | {member.key[1:-1] for member in self.members}

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        length, depth, first = 2, 1, True
        for key, value, required in self.members:
            if required:
                best = of(value)
                if best is None or best is UNKNOWN:
                    return best
                length += best[0] + len(key) + len(self.style.colon) + (0 if first else len(self.style.comma))
                depth, first = max(depth, best[1] + 1), False
        return (length, depth)

    def spell(self) -> bytes:
        return b"{" + self.at(0, True).spell()

    def expand(self, k: State) -> View:
        after = cons(self.at(0, True), k)
        return View({} if after is None else {0x7B: after}, (), False)


class MembersAt(Node):
    """An open object before one of its members; see ``Object.at``."""

    __slots__ = ("first", "index", "object")
    opens = 1

    def __init__(self, object: Object, index: int, first: bool) -> None:
        self.object, self.index, self.first = object, index, first

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        style, first = self.object.style, self.first
        length, depth = 1, 1
        for key, value, required in self.object.members[self.index :]:
            if required:
                best = of(value)
                if best is None or best is UNKNOWN:
                    return best
                length += best[0] + len(key) + len(style.colon) + (0 if first else len(style.comma))
                depth, first = max(depth, best[1] + 1), False
        return (length, depth)

    def spell(self) -> bytes:
        style = self.object.style
        written = [m.key + style.colon + m.value.spell() for m in self.object.members[self.index :] if m.required]
        return (b"" if self.first or not written else style.comma) + style.comma.join(written) + b"}"

    def expand(self, k: State) -> View:
        obj = self.object
        comma = b"" if self.first else obj.style.comma
        entries: list[tuple[bytes, Node]] = []
        for index in range(self.index, len(obj.members)):
            key, value, required = obj.members[index]
            entries.append((comma + key + obj.style.colon, seq(value, obj.at(index + 1, False))))
            if required:
                break
        else:
            entries.append((b"}", lit(b"")))
        states = [cons(tree(entries), k)]
        if obj.extra is not None and entries[-1][0] == b"}":
            states.append(cons(seq(lit(comma + b'"'), intern(Extra, obj, obj.free()).name()), k))
        return union([s for s in states if s is not None]).view


class Extra(ExtraMembers):
    """An open object after its declared members, at least one free member to come; ``used``: names that are taken."""

    __slots__ = ("object",)
    opens = 1

    def __init__(self, object: Object, used: frozenset[bytes]) -> None:
        self.object, self.used = object, used

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        assert self.object.extra is not None
        best = of(self.object.extra)
        if best is None or best is UNKNOWN:
            return best
        return (len(self.object.style.colon) + best[0] + 1, best[1] + 1)

    def name(self) -> Node:
        """A free name (after its opening quote) and what follows."""
        return intern(KeyBody, b"", END, self)  # type: ignore[no-any-return]

    def after(self, name: bytes) -> Node:
        assert self.object.extra is not None
        return seq(lit(self.object.style.colon), self.object.extra, intern(ExtraAt, intern(Extra, self.object, self.used | {name})))


class ExtraAt(Node):
    """An open object after a free member: another one, or the end."""

    __slots__ = ("extra",)
    opens = 1

    def __init__(self, extra: Extra) -> None:
        self.extra = extra

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (1, 1)

    def spell(self) -> bytes:
        return b"}"

    def expand(self, k: State) -> View:
        more = cons(seq(lit(self.extra.object.style.comma + b'"'), self.extra.name()), k)
        return View({0x7D: k} if more is None else {0x7D: k, **more.view.edges}, (), False)


class Array(Node):
    """An array: ``prefix`` item nodes, then ``item`` (None: nothing more), ``low`` to ``high`` items in all (None: any number)."""

    __slots__ = ("high", "item", "low", "prefix", "style")

    def __init__(self, prefix: tuple[Node, ...], item: Node | None, low: int, high: int | None, style: Style) -> None:
        if item is None:
            high = len(prefix) if high is None else min(high, len(prefix))
        self.prefix, self.item, self.low, self.high, self.style = prefix, item, low, high, style

    def at(self, index: int) -> Node:
        """The rest of the array before item ``index``; beyond what is counted, all positions are one."""
        if self.high is None:
            index = min(index, max(self.low, len(self.prefix), 1))
        return intern(ItemsAt, self, index)  # type: ignore[no-any-return]

    def node(self, index: int) -> Node | None:
        """The node of item ``index``, or None where no such item may be."""
        if self.high is not None and index >= self.high:
            return None
        return self.prefix[index] if index < len(self.prefix) else self.item

    def rest(self, index: int, of: Callable[[Node], Least | None]) -> Least | None:
        """``least`` of the items that must still come from ``index`` on, and the bracket."""
        length, depth = 1, 1
        for i in range(index, min(self.low, len(self.prefix))):
            best = of(self.prefix[i])
            if best is None or best is UNKNOWN:
                return best
            length, depth = length + best[0] + (len(self.style.comma) if i else 0), max(depth, best[1] + 1)
        start = max(index, len(self.prefix))
        if start < self.low:
            best = None if self.item is None else of(self.item)
            if best is None or best is UNKNOWN:
                return best
            count = self.low - start
            length += count * best[0] + (count if start else count - 1) * len(self.style.comma)
            depth = max(depth, best[1] + 1)
        return (length, depth)

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        if self.high is not None and self.high < self.low:
            return None
        rest = self.rest(0, of)
        return rest if rest is None or rest is UNKNOWN else (rest[0] + 1, rest[1])

    def spell(self) -> bytes:
        return b"[" + self.at(0).spell()

    def expand(self, k: State) -> View:
        after = cons(self.at(0), k)
        return View({} if after is None else {0x5B: after}, (), False)


class ItemsAt(Node):
    """An open array before item ``index``."""

    __slots__ = ("array", "index")
    opens = 1

    def __init__(self, array: Array, index: int) -> None:
        self.array, self.index = array, index

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return self.array.rest(self.index, of)

    def spell(self) -> bytes:
        nodes = [self.array.node(i) for i in range(self.index, self.array.low)]
        items = [node.spell() for node in nodes if node is not None]
        return (self.array.style.comma if self.index and items else b"") + self.array.style.comma.join(items) + b"]"

    def expand(self, k: State) -> View:
        states = []
        node = self.array.node(self.index)
        if node is not None:
            comma = lit(self.array.style.comma if self.index else b"")
            states.append(cons(seq(comma, node, self.array.at(self.index + 1)), k))
        if self.index >= self.array.low:
            states.append(cons(lit(b"]"), k))
        return union([s for s in states if s is not None]).view


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
        open_object = intern(Object, (), self, frozenset(), self.style)
        return choice((CONSTANTS, number(), string(), open_object, intern(Array, (), self, 0, None, self.style))).expand(k)


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
        return [m.value for m in node.members] + ([] if node.extra is None else [node.extra])
    if isinstance(node, Array):
        return [*node.prefix] + ([] if node.item is None else [node.item])
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

