"""Walking states: the automaton is lazy, and this is all there is to it."""

from __future__ import annotations

import re
from typing import Final

from .expr import END, Lit, State, Tree, cons, lit
from .strings import Body, KeyBody

_PLAIN_RUN: Final = re.compile(rb"[ !#-\[\]-\x7f]+")


def advance(state: State, data: bytes) -> State | None:
    """The state after ``data``, or None where no text continues so. Literals and plain string text are taken in one piece."""
    i, n = 0, len(data)
    while i < n:
        node = state.node
        if node.__class__ is Lit:
            text: bytes = node.text
            size = min(len(text), n - i)
            if data[i : i + size] != text[:size]:
                return None
            i += size
            after = state.k if size == len(text) else cons(lit(text[size:]), state.k)
        elif node.__class__ is Body and (run := _PLAIN_RUN.match(data, i)) is not None:
            count, high = run.end() - i, node.high
            if high is not None and count > high:
                return None
            i = run.end()
            after = cons(node.shorter(count), state.k)
        elif node.__class__ is KeyBody and node.inner is END and (run := _PLAIN_RUN.match(data, i)) is not None:
            i = run.end()
            after = node.longer(run.group(), END, state.k)
        elif node.__class__ is Tree and state._view is None:
            after = node.after(data[i], state.k)
            i += 1
        else:
            after = state.step(data[i])
            i += 1
        if after is None:
            return None
        state = after
    return state


def accepts(state: State, text: bytes) -> bool:
    """Whether ``text`` is a whole text of ``state``."""
    after = advance(state, text)
    return after is not None and after.view.accepts


def forced(state: State) -> tuple[bytes, State]:
    """The bytes that must come next, up to the first real decision or a place where the text may end, and the state there."""
    out = bytearray()
    while True:
        node = state.node
        if node.__class__ is Lit:
            out += node.text
            state = state.k
            continue
        view = state.view
        if len(view.edges) != 1 or view.wide or view.accepts:
            return bytes(out), state
        ((byte, state),) = view.edges.items()
        out.append(byte)
