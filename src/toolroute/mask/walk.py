"""States against sorted texts: which of them keep a state live.

The texts are sorted, so those that share a prefix are a range, and a walk goes down only through bytes that are live in the state:
a literal state visits a handful of ranges however large the vocabulary is. Wide leaves (string bodies) would visit nearly
everything; they are handed to the caller, which has them ready (``strings``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from ..grammar.automaton import advance
from ..grammar.expr import Alt, Lit, State
from ..vocab import following

Wide = Callable[[State, int, int, int], None]
_ONE_BY_ONE = 4  # ranges up to this size are tried text by text: cheaper than bisecting them


def walk(texts: list[bytes], state: State, low: int, high: int, prefix: bytes, found: list[int], wide: Wide) -> None:
    """Append to ``found`` the positions in ``low``..``high`` whose text after ``prefix`` keeps ``state`` live (some perhaps twice).

    All those texts start with ``prefix`` and are longer. ``wide(leaf, low, high, depth)`` is called for every wide leaf instead of
    walking it.
    """
    while True:
        if high - low <= _ONE_BY_ONE:
            depth = len(prefix)
            found.extend(i for i in range(low, high) if advance(state, texts[i][depth:]) is not None)
            return
        node = state.node
        if node.__class__ is Alt:
            for member in node.states:
                walk(texts, member, low, high, prefix, found, wide)
            return
        if node.__class__ is not Lit:
            break
        for byte in node.text:
            prefix += bytes((byte,))
            low, high = _narrow(texts, prefix, low, high, found)
            if low == high:
                return
        state = state.k
    view = state.view
    if view.wide == (state,):
        wide(state, low, high, len(prefix))
        return
    for byte, after in view.edges.items():
        longer = prefix + bytes((byte,))
        first, last = _narrow(texts, longer, low, high, found)
        if first < last:
            walk(texts, after, first, last, longer, found, wide)
    for leaf in view.wide:
        wide(leaf, low, high, len(prefix))


def _narrow(texts: list[bytes], prefix: bytes, low: int, high: int, found: list[int]) -> tuple[int, int]:
    """The range of longer texts with ``prefix``; those equal to it go to ``found``."""
    low = bisect_left(texts, prefix, low, high)
    stop = following(prefix)
    high = high if stop is None else bisect_left(texts, stop, low, high)
    while low < high and len(texts[low]) == len(prefix):
        found.append(low)
        low += 1
    return low, high
