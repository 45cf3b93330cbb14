"""Expressions over bytes, and states that are what may still come.

Theory. A *node* is an immutable expression: a literal, a choice, a string body, an array. A *state* is a pair *node then continuation*,
where the continuation is a state again: the continuation chain is the parser stack, shared and immutable. A state is therefore the
residual language itself (Brzozowski's derivative), not a position in somebody's grammar: it never mentions what was not chosen, rollback
is keeping a reference, and recursion needs no special case. Nodes and states are hash-consed, so equal meaning is, up to the laws applied
by the constructors here, the same object; whatever is computed for a state (its view, a token mask) is valid wherever that object turns up.

A state's *view* says what its next byte may be: ``edges`` maps each narrow byte to the state after it, ``wide`` lists the leaves that
admit nearly every byte (string bodies; asked through ``Node.step``), ``accepts`` tells whether the text may end here. Views are computed
when first looked at; nothing is determinised, minimised or unrolled ahead of time. States that admit the same byte are stepped together
as a union.

Cost. Building is linear in the size of the schema; a view is built once per state and costs its number of edges.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

MAX_DEPTH: Final = 100
"""Open arrays and objects a reply may nest (count). The reply parser refuses deeper text, so no state opens a deeper one."""

MAX_INTERNED: Final = 150_000
"""Nodes plus states kept for sharing (count; some 250 B each). Beyond it the tables start anew: old objects stay valid, they are
only no longer shared with new ones, so this bounds memory and never changes meaning. Python's collector of cycles walks all of them
now and then, some 1 µs each."""

Least = tuple[int, int]
"""Length in bytes of the shortest text of a node, and the nesting depth which that text needs."""

UNKNOWN: Final[Least] = (-1, -1)
"""``Node.best`` of a node that contains a recursive reference which is not resolved yet."""


class View(NamedTuple):
    """What may come next in a state."""

    edges: dict[int, State]
    wide: tuple[State, ...]
    accepts: bool


NOTHING: Final = View({}, (), False)


class Node:
    """An expression. Subclasses define ``least``, ``spell`` and ``expand``; instances come from ``intern``.

    ``best`` is the node's ``Least``, None where no finite text exists, or ``UNKNOWN``.
    """

    __slots__ = ("best",)
    best: Least | None
    opens: int = 0  # arrays and objects that are open while this node is under way

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        """Shortest text, given that of the parts. ``UNKNOWN`` parts make it ``UNKNOWN``, unless ``of`` knows better."""
        raise NotImplementedError

    def spell(self) -> bytes:
        """The shortest text itself; only called where ``best`` is known."""
        raise NotImplementedError

    def expand(self, k: State) -> View:
        """The view of the state *self then k*."""
        raise NotImplementedError

    def step(self, byte: int, k: State) -> State | None:
        """Where a wide leaf goes on ``byte``; never asked for its narrow bytes."""
        raise NotImplementedError


class State:
    """*node then k*. ``depth``: containers open here; ``least``: bytes of the shortest completion."""

    __slots__ = ("_view", "depth", "k", "least", "node", "uid")

    def __init__(self, node: Node, k: State | None, depth: int, least: int) -> None:
        self.node = node
        self.k: State = self if k is None else k
        self.depth = depth
        self.least = least
        self.uid = next(_uids)
        self._view: View | None = None

    @property
    def view(self) -> View:
        view = self._view
        if view is None:
            view = self._view = self.node.expand(self.k)
        return view

    def step(self, byte: int) -> State | None:
        """The state after ``byte`` (0–255), or None where no text continues so."""
        view = self._view or self.view
        after = view.edges.get(byte)
        if view.wide:
            found = [s for leaf in view.wide if (s := leaf.node.step(byte, leaf.k)) is not None]
            if found:
                return union(found if after is None else [after, *found])
        return after

    def closing(self) -> bytes:
        """The shortest completion (bytes)."""
        parts, state = [], self
        while state.k is not state:
            parts.append(state.node.spell())
            state = state.k
        return b"".join(parts)

    def __repr__(self) -> str:
        return f"<State {self.uid} {type(self.node).__name__} closing={self.closing()[:40]!r}>"


_uids = itertools.count()
_table: dict[tuple[Any, ...], Any] = {}


def counters() -> dict[str, int]:
    """``interned``: live entries of the sharing tables; ``states``: states made since the process began."""
    made = next(_uids)
    return {"interned": len(_table), "states": made}


def intern(kind: type[Any], *args: Any) -> Any:
    """The one node of class ``kind`` with these (hashable) arguments."""
    key = (kind, *args)
    node = _table.get(key)
    if node is None:
        if len(_table) >= MAX_INTERNED:
            _forget()
        node = kind(*args)
        node.best = node.least(_best)
        node = _table.setdefault(key, node)
    return node


def _forget() -> None:
    _table.clear()
    _table.update({(Lit, b""): EMPTY, (Choice, ()): NEVER})  # their identity is public


def _best(node: Node) -> Least | None:
    return node.best


def cons(node: Node, k: State) -> State | None:
    """The state *node then k*; None where it admits no text, or none within ``MAX_DEPTH``."""
    best = node.best
    if best is None or best[1] + k.depth > MAX_DEPTH:
        return None
    if node.__class__ is Lit:
        if not node.text:
            return k
        if k.node.__class__ is Lit:
            return cons(intern(Lit, node.text + k.node.text), k.k)
    elif node.__class__ is Seq:
        state = k
        for part in reversed(node.nodes):
            before = cons(part, state)
            if before is None:
                return None
            state = before
        return state
    key = (node, k)
    found: State | None = _table.get(key)
    if found is None:
        if len(_table) >= MAX_INTERNED:
            _forget()
        found = _table.setdefault(key, State(node, k, k.depth + node.opens, best[0] + k.least))
    return found


def union(states: Iterable[State]) -> State:
    """One state that may go on like any of ``states`` (at least one)."""
    flat: dict[State, None] = {}
    for state in states:
        if state.node.__class__ is Alt:
            flat.update(dict.fromkeys(state.node.states))
        else:
            flat[state] = None
    if len(flat) == 1:
        return next(iter(flat))
    state = cons(intern(Alt, tuple(sorted(flat, key=lambda s: s.uid))), END)  # type: ignore[assignment]
    assert state is not None  # the members are live
    return state


def merge(views: Iterable[View]) -> View:
    """The view of a union, from the views of its members."""
    edges: dict[int, list[State]] = {}
    wide: list[State] = []
    accepts = False
    for view in views:
        for byte, state in view.edges.items():
            edges.setdefault(byte, []).append(state)
        wide += view.wide
        accepts |= view.accepts
    return View(
        {b: found[0] if len(found) == 1 else union(found) for b, found in edges.items()}, tuple(dict.fromkeys(wide)), accepts
    )


class End(Node):
    """The end of the text."""

    __slots__ = ()

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (0, 0)

    def spell(self) -> bytes:
        return b""

    def expand(self, k: State) -> View:
        return View({}, (), True)


class Alt(Node):
    """A union of states (not of nodes: each member carries its own continuation)."""

    __slots__ = ("states",)

    def __init__(self, states: tuple[State, ...]) -> None:
        self.states = states

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (min(state.least for state in self.states), 0)

    def spell(self) -> bytes:
        return min(self.states, key=lambda s: s.least).closing()

    def expand(self, k: State) -> View:
        return merge(state.view for state in self.states)


class Lit(Node):
    """A literal byte string. The empty one is the empty expression."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (len(self.text), 0)

    def spell(self) -> bytes:
        return self.text

    def expand(self, k: State) -> View:
        after = cons(intern(Lit, self.text[1:]), k)
        return NOTHING if after is None else View({self.text[0]: after}, (), False)


class Seq(Node):
    """Several nodes, one after the other; ``cons`` takes it apart, so it is never the node of a state."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        length = depth = opens = 0
        for node in reversed(self.nodes):
            best = of(node)
            if best is None or best is UNKNOWN:
                return best
            # What a later part keeps open is open while this one is spelled.
            length, depth, opens = length + best[0], max(depth, best[1] + opens), opens + node.opens
        return (length, depth)

    def spell(self) -> bytes:
        return b"".join(node.spell() for node in self.nodes)

    def expand(self, k: State) -> View:
        state = cons(self, k)
        return NOTHING if state is None else state.view


class Choice(Node):
    """Any one of several nodes."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        found = [of(node) for node in self.nodes]
        known = [best for best in found if best is not None]
        return UNKNOWN if UNKNOWN in known else min(known, default=None)

    def spell(self) -> bytes:
        return min((n for n in self.nodes if n.best is not None), key=lambda n: n.best or UNKNOWN).spell()

    def expand(self, k: State) -> View:
        return merge(state.view for node in self.nodes if (state := cons(node, k)) is not None)


class Bytes(Node):
    """One byte out of a set."""

    __slots__ = ("values",)

    def __init__(self, values: bytes) -> None:
        self.values = values

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        return (1, 0)

    def spell(self) -> bytes:
        return self.values[:1]

    def expand(self, k: State) -> View:
        return View(dict.fromkeys(self.values, k), (), False)


class Tree(Node):
    """Literal alternatives, each followed by a node of its own, as a prefix tree.

    ``entries``: (text, node) sorted by text, texts distinct. A thousand tool names cost one look-up per byte, not a thousand
    derivatives, and a branch that has become unique no longer knows its siblings.
    """

    __slots__ = ("_deepest", "entries")

    def __init__(self, entries: tuple[tuple[bytes, Node], ...]) -> None:
        self.entries = entries
        self._deepest: int | None = None

    @property
    def deepest(self) -> int:
        """The most nesting that the shortest text of any entry needs; more than ``MAX_DEPTH`` where an entry has no text."""
        if self._deepest is None:
            self._deepest = max([MAX_DEPTH + 1 if node.best is None else node.best[1] for _, node in self.entries])
        return self._deepest

    def least(self, of: Callable[[Node], Least | None]) -> Least | None:
        found: Least | None = None
        for text, node in self.entries:
            best = of(node)
            if best is UNKNOWN:
                return UNKNOWN
            if best is not None and (found is None or (best[0] + len(text), best[1]) < found):
                found = (best[0] + len(text), best[1])
        return found

    def spell(self) -> bytes:
        text, node = min(
            ((t, n) for t, n in self.entries if n.best is not None), key=lambda e: (e[1].best[0] + len(e[0]), e[1].best[1])  # type: ignore[index]
        )
        return text + node.spell()

    def expand(self, k: State) -> View:
        edges: dict[int, State] = {}
        ended: State | None = None
        entries = self.entries
        i, n = 0, len(entries)
        while i < n:
            text, node = entries[i]
            if not text:
                ended = cons(node, k)
                i += 1
                continue
            first, start = text[0], i
            while i < n and entries[i][0][0] == first:
                i += 1
            state = self._branch(start, i, k)
            if state is not None:
                edges[first] = state
        view = View(edges, (), False)
        return view if ended is None else merge((view, ended.view))

    def _branch(self, start: int, end: int, k: State) -> State | None:
        """The state after the first byte of these entries, which they share."""
        text, node = self.entries[start]
        if end - start == 1:
            state = cons(node, k)
            return None if state is None else cons(intern(Lit, text[1:]), state)
        last, cut = self.entries[end - 1][0], 1
        while cut < len(text) and cut < len(last) and text[cut] == last[cut]:
            cut += 1
        state = cons(intern(Tree, tuple([(t[cut:], m) for t, m in self.entries[start:end]])), k)
        return None if state is None else cons(intern(Lit, text[1:cut]), state)

    def after(self, byte: int, k: State) -> State | None:
        """``State.step`` of the state *self then k*, without its other edges."""
        entries = self.entries
        if not entries[0][0]:
            state = cons(self, k)
            return None if state is None else state.step(byte)
        start = bisect_left(entries, (bytes((byte,)),))
        end = len(entries) if byte == 0xFF else bisect_left(entries, (bytes((byte + 1,)),), start)
        return None if start == end else self._branch(start, end, k)


END: Final = State(End(), None, 0, 0)
EMPTY: Final[Node] = intern(Lit, b"")


def lit(text: bytes) -> Node:
    """The literal ``text``."""
    return intern(Lit, text)  # type: ignore[no-any-return]


def seq(*nodes: Node) -> Node:
    """``nodes`` in order; neighbouring literals are joined and the empty expression vanishes."""
    flat: list[Node] = []
    for node in nodes:
        for part in node.nodes if isinstance(node, Seq) else (node,):
            if isinstance(part, Lit) and flat and isinstance(flat[-1], Lit):
                flat[-1] = lit(flat[-1].text + part.text)
            elif not (isinstance(part, Lit) and not part.text):
                flat.append(part)
    return EMPTY if not flat else flat[0] if len(flat) == 1 else intern(Seq, tuple(flat))


def choice(nodes: Iterable[Node]) -> Node:
    """Any of ``nodes``; nested choices are flattened, repeated and impossible ones dropped. Of no nodes: admits nothing."""
    flat: dict[Node, None] = {}
    for node in nodes:
        flat.update(dict.fromkeys(node.nodes if isinstance(node, Choice) else (node,)))
    live = tuple(node for node in flat if node.best is not None)
    return live[0] if len(live) == 1 else intern(Choice, live)


def tree(entries: Iterable[tuple[bytes, Node]]) -> Node:
    """Literal alternatives with what follows each; entries that share a text become a choice after it."""
    table: dict[bytes, Node] = {}
    for text, node in entries:
        table[text] = node if text not in table or table[text] is node else choice((table[text], node))
    if len(table) == 1:
        ((text, node),) = table.items()
        return seq(lit(text), node)
    return intern(Tree, tuple(sorted(table.items(), key=lambda e: e[0])))  # type: ignore[no-any-return]


NEVER: Final[Node] = choice(())
"""The expression that admits no text."""
