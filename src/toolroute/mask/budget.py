"""Which tokens leave room to finish.

The test is per state after the token: does its closing sequence fit in the tokens that will be left? A byte is at most a token
where the closing text can be spelled at all, so the byte length is tried first and settles nearly every case; only near the cap is
anything tokenised. Inside a string the thousands of tokens that stay there lead to the same few states (same continuation, so many
code points fewer), which are tested once each.
"""

from __future__ import annotations

import numpy as np

from ..grammar.expr import Alt, State, cons
from ..grammar.strings import Body
from ..grammar.text import Text
from .strings import Ints
from .table import Entry, MaskTable
from .token_mask import TokenMask, distinct

_REST_OF_CHARACTER = 11  # bytes that may be needed to finish a character: the longest is a surrogate pair's escape after its backslash


def fits(table: MaskTable, state: State, budget: int) -> bool:
    """Whether the reply can be completed from ``state`` with ``budget`` tokens."""
    if state.least > budget * table.vocabulary.longest:
        return False  # not even with the longest tokens
    closing = table.closing(table.entry(state)) if budget >= 0 else None
    return closing is not None and len(closing) <= budget


def worst(table: MaskTable, entry: Entry) -> int:
    """At least the bytes of the longest closing text that any allowed token leads to."""
    if entry.worst is None:
        most = 0
        state = entry.state
        for member in state.node.states if isinstance(state.node, Alt) else (state,):
            if member.view.wide:
                most = max(most, member.least + _REST_OF_CHARACTER)
        rest, grouped = _apart(table, entry)
        most = max([most, *(after.least for after, _ in grouped)])
        for token in rest:
            after = table.step(entry, token)
            if after is not None:
                most = max(most, after.least)
        entry.worst = most
    return entry.worst


def within(table: MaskTable, entry: Entry, budget: int, first: int | None) -> TokenMask:
    """The allowed tokens that can be followed by a completion of at most ``budget`` tokens; ``first`` is known to be one."""
    mask = table.mask(entry)
    state = entry.state
    keep = [] if first is None else [first]

    def test(tokens: list[int]) -> None:
        for token in tokens:
            after = table.step(entry, token)
            if token in table.vocabulary.eog or (after is not None and fits(table, after, budget)):
                keep.append(token)

    rest, grouped = _apart(table, entry)
    test(rest)
    arrays: list[Ints] = [np.array(keep, np.int32)]
    arrays.extend(tokens for after, tokens in grouped if fits(table, after, budget))
    if mask.dense:
        for member in state.node.states if isinstance(state.node, Alt) else (state,):
            if isinstance(member.node, Body):
                arrays.extend(_inside(table, member, budget))
        keep.clear()
        if not all(isinstance(member.node, Body) for member in _wide(state)):
            test(mask.ids().tolist())
            arrays.append(np.array(keep, np.int32))
    return TokenMask(table.vocabulary.size, distinct(arrays))


def _apart(table: MaskTable, entry: Entry) -> tuple[list[int], list[tuple[State, Ints]]]:
    """The sparse tokens of a mask: those to be looked at one by one, and those that are known to lead to the same state."""
    extra = table.mask(entry).extra
    state = entry.state
    if not isinstance(state.node, Text) or not state.view.wide:
        return extra.tolist(), []
    found = table.staying(state)
    grouped = [(after, table.vocabulary.ids[positions]) for after, positions in zip(found.states, found.positions, strict=True)]
    return np.setdiff1d(extra, np.concatenate([tokens for _, tokens in grouped] or [extra[:0]])).tolist(), grouped


def _wide(state: State) -> list[State]:
    return [m for m in (state.node.states if isinstance(state.node, Alt) else (state,)) if m.view.wide]


def _inside(table: MaskTable, state: State, budget: int) -> list[Ints]:
    """The tokens that stay inside the string of ``state`` and leave room to finish."""
    node = state.node
    assert isinstance(node, Body)
    strings = table.string_table(node.strict)
    whole = strings.reading(0, len(table.vocabulary.texts), 0)
    partial = table.vocabulary.ids[whole.partial]
    found: list[Ints] = []
    most = strings.longest if node.high is None else min(node.high, strings.longest)
    answer: dict[State, bool] = {}
    for need in range(most + 1):
        after = cons(node.shorter(need), state.k)
        if after is None:
            continue
        if after not in answer:
            answer[after] = fits(table, after, budget)
        if answer[after]:
            found.append(np.setdiff1d(strings.by_need[strings.starts[need] : strings.starts[need + 1]], partial))
    entry = table.entry(state)
    ends = [t for t in partial.tolist() if (after := table.step(entry, t)) is not None and fits(table, after, budget)]
    found.append(np.array(ends, np.int32))
    return found
