"""Objects. They unfold when a state is first looked at.

``MembersAt`` is a position *inside* an open object: which declared members may and which must still come (bit sets), which free names have
been written, and how many members there are as far as that matters. A value that is written there has the position after it as its
continuation, so the chain of continuations is the stack of open containers. What may come at a position is one prefix tree: the names of
the members that may be next, each with its separator, or the closing bracket; an object with ``n`` optional members costs O(n) per position
visited and nothing else.

In declared order, a member that is passed over is gone: the next ones are those up to the first required one, and free members come
last. In any order, every member that is left may be next, and free members anywhere; the positions are then sets of written members, which
is 2^n on paper and what is visited in practice.

Free members come in *kinds*: a language of names (None: all), and the node of their values. Kinds exclude one another and the
declared names; names have one spelling and are never repeated (see ``text``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .expr import EMPTY, END, NOTHING, UNKNOWN, Least, Node, State, View, cons, intern, lit, seq, tree, union
from .regex import Regex
from .strings import ExtraMembers, KeyBody
from .style import Style
from .text import Name, free_names


class Member(NamedTuple):
    """A declared member: its name as JSON text with quotes, the node of its value, and whether it must be there."""

    key: bytes
    value: Node
    required: bool


class Free(NamedTuple):
    """A kind of free member. ``names``: the language of its names, decoded (None: any name that is not declared)."""

    names: Regex | None
    value: Node


class Object(Node):
    """``members``, then or among them members of the kinds ``free``; ``low`` to ``high`` (None: any number) members in all.

    ``taken``: names, as JSON text without quotes, that a free member must not have although they are not among ``members``;
    ``ordered``: members come in the order given, free ones last; ``implies``: (member, bit set of the members that it asks for), by index.
    """

    __slots__ = ("asked", "free", "high", "implies", "low", "members", "ordered", "required", "reserved", "style", "taken")

    def __init__(
        self,
        members: tuple[Member, ...],
        free: tuple[Free, ...],
        taken: frozenset[bytes],
        low: int,
        high: int | None,
        ordered: bool,
        implies: tuple[tuple[int, int], ...],
        style: Style,
    ) -> None:
        self.members, self.free, self.taken, self.style = members, free, taken, style
        self.low, self.high, self.ordered, self.implies = low, high, ordered, implies
        self.required = sum([1 << i for i, member in enumerate(members) if member.required])
        self.asked = 0  # those that some other member asks for
        for _, others in implies:
            self.asked |= others
        # Names that no free member may have.
        self.reserved = taken | {member.key[1:-1] for member in members} if free else taken

    @property
    def start(self) -> MembersAt:
        """The position after the opening bracket."""
        return intern(MembersAt, self, (1 << len(self.members)) - 1, self.due(self.required, 0), 0, frozenset(), 0)  # type: ignore[no-any-return]

    def due(self, members: int, seen: int) -> int:
        """``members``, and what they ask for, without those that are ``seen``."""
        if self.implies:
            before = -1
            while members != before:
                before = members
                for index, others in self.implies:
                    if members >> index & 1:
                        members |= others
        return members & ~seen

    def counted(self, count: int) -> int:
        """``count`` as far as it matters."""
        return min(count, max(self.low, 1) if self.high is None else max(self.high, 1))

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        due = self.due(self.required, 0)
        if self.low == 0 and self.high is None:  # nearly always, and then only what is due counts
            return _plain(self, due, True, 2, of)
        inner, _ = _ending(self, (1 << len(self.members)) - 1, due, frozenset(), 0, of)
        return inner if inner is None or inner is UNKNOWN else (inner[0] + 1, inner[1])

    def spell(self) -> bytes:
        return b"{" + self.start.spell()

    def expand(self, k: State) -> View:
        after = cons(self.start, k)
        return View({} if after is None else {0x7B: after}, (), False)


def _bits(members: int) -> Iterator[int]:
    """The members of a bit set, in their order."""
    while members:
        low = members & -members
        yield low.bit_length() - 1
        members ^= low


def _plain(obj: Object, due: int, first: bool, length: int, of: Callable[[Node], Least | None]) -> Least | None:
    """``least`` of the members that are ``due``; ``length``: of the brackets."""
    depth = 1
    colon, comma = len(obj.style.colon), len(obj.style.comma)
    for index in _bits(due):
        key, value, _ = obj.members[index]
        best = of(value)
        if best is None or best is UNKNOWN:
            return best
        length += best[0] + len(key) + colon + (0 if first else comma)
        depth, first = max(depth, best[1] + 1), False
    return (length, depth)


def _ending(
    obj: Object, left: int, due: int, used: frozenset[bytes], count: int, of: Callable[[Node], Least | None]
) -> tuple[Least | None, list[tuple[bytes, Node]]]:
    """A shortest way to the end of an open object: its ``least``, and the names and values of the members that it writes."""
    must = list(_bits(due))
    missing = max(obj.low - count - len(must), 0)
    if obj.high is not None and count + len(must) + missing > obj.high:
        return None, []
    more: list[tuple[int, int, bytes, Node]] = []  # length, rank in the order of members, name, value
    if missing:
        asking = {index for index, _ in obj.implies}  # one of these would bring others along
        listed = [(i, *obj.members[i][:2]) for i in _bits(left & ~due) if i not in asking]
        if obj.free:
            reserved = obj.reserved | used
            for names, value in obj.free:
                listed += [(len(obj.members), b'"%s"' % name, value) for name in free_names(names, reserved, missing)]
        for rank, key, value in listed:
            best = of(value)
            if best is UNKNOWN:
                return UNKNOWN, []
            if best is not None:
                more.append((best[0] + len(key), rank, key, value))
        if len(more) < missing:
            return None, []
        more = sorted(more, key=lambda found: found[0])[:missing]
    chosen = [(0, i, obj.members[i].key, obj.members[i].value) for i in must] + more
    if obj.ordered:
        chosen.sort(key=lambda found: found[1])
    length, depth, first = 1, 1, count == 0
    for _, _, key, value in chosen:
        best = of(value)
        if best is None or best is UNKNOWN:
            return best, []
        length += best[0] + len(key) + len(obj.style.colon) + (0 if first else len(obj.style.comma))
        depth, first = max(depth, best[1] + 1), False
    return (length, depth), [(key, value) for _, _, key, value in chosen]


class MembersAt(Node):
    """An open object. ``left``: bit set of the members that may still come; ``due``: of those that must; ``seen``: of those that were
    written and that others ask for; ``used``: free names written; ``count``: members written."""

    __slots__ = ("count", "due", "left", "object", "seen", "used")
    opens = 1

    def __init__(self, object: Object, left: int, due: int, seen: int, used: frozenset[bytes], count: int) -> None:
        self.object, self.left, self.due, self.seen, self.used, self.count = object, left, due, seen, used, count

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        obj = self.object
        if self.due & ~self.left:
            return None  # it was passed over
        if obj.low == 0 and obj.high is None:
            return _plain(obj, self.due, self.count == 0, 1, of)
        return _ending(obj, self.left, self.due, self.used, self.count, of)[0]

    def spell(self) -> bytes:
        style = self.object.style
        members = _ending(self.object, self.left, self.due, self.used, self.count, lambda node: node.best)[1]
        written = [key + style.colon + value.spell() for key, value in members]
        return (b"" if self.count == 0 or not written else style.comma) + style.comma.join(written) + b"}"

    def after(self, index: int) -> MembersAt:
        """The position after member ``index``."""
        obj, bit = self.object, 1 << index
        left = self.left >> (index + 1) << (index + 1) if obj.ordered else self.left & ~bit
        seen = self.seen | (bit & obj.asked)
        due = self.due & ~bit
        if obj.implies:
            due = obj.due(self.due | bit, seen | bit)
        return intern(MembersAt, obj, left, due, seen, self.used, obj.counted(self.count + 1))  # type: ignore[no-any-return]

    def after_free(self, name: bytes) -> MembersAt:
        """The position after a free member of this name."""
        obj = self.object
        left = 0 if obj.ordered else self.left
        return intern(MembersAt, obj, left, self.due, self.seen, self.used | {name}, obj.counted(self.count + 1))  # type: ignore[no-any-return]

    def next_members(self) -> Iterator[int]:
        """The indexes of the declared members that may come next."""
        obj = self.object
        if obj.high is None or self.count < obj.high:
            for index in _bits(self.left):
                yield index
                if obj.ordered and self.due >> index & 1:
                    return

    @property
    def may_close(self) -> bool:
        """Whether the closing bracket may come."""
        return not self.due and self.count >= self.object.low

    @property
    def may_extend(self) -> bool:
        """Whether a free member may come."""
        obj = self.object
        return (obj.high is None or self.count < obj.high) and not (self.due and obj.ordered)

    def expand(self, k: State) -> View:
        obj = self.object
        comma = b"" if self.count == 0 else obj.style.comma
        entries: list[tuple[bytes, Node]] = []
        for index in self.next_members():
            key, value, _ = obj.members[index]
            entries.append((comma + key + obj.style.colon, seq(value, self.after(index))))
        if self.may_close:
            entries.append((b"}", EMPTY))
        states = [cons(tree(entries), k)] if entries else []
        if self.may_extend:
            for kind in range(len(obj.free)):
                states.append(cons(seq(lit(comma + b'"'), intern(Extra, self, kind).name()), k))
        found = [s for s in states if s is not None]
        return union(found).view if found else NOTHING


class Extra(ExtraMembers):
    """A free member of one kind that is to be written at a position."""

    __slots__ = ("at", "kind")
    opens = 1

    def __init__(self, at: MembersAt, kind: int) -> None:
        self.at, self.kind = at, kind
        self.used = at.object.reserved | at.used

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (0, 0)  # never an expression by itself

    def name(self) -> Node:
        """A free name (after its opening quote) and what follows."""
        names = self.at.object.free[self.kind].names
        if names is None:
            return intern(KeyBody, b"", END, self)  # type: ignore[no-any-return]
        return intern(Name, names, b"", b"", self)  # type: ignore[no-any-return]

    def after(self, name: bytes) -> Node:
        obj = self.at.object
        return seq(lit(obj.style.colon), obj.free[self.kind].value, self.at.after_free(name))


def object_node(
    members: tuple[Member, ...],
    free: tuple[Free, ...],
    style: Style,
    *,
    taken: frozenset[bytes] = frozenset(),
    low: int = 0,
    high: int | None = None,
    ordered: bool = True,
    implies: tuple[tuple[int, int], ...] = (),
) -> Node:
    """The node of such objects; see ``Object``."""
    return intern(Object, members, free, taken, low, high, ordered, implies, style)  # type: ignore[no-any-return]
