"""Strings and names in a regular language against a whole vocabulary.

Every token is read as string text once (``strings``); its characters, as one flat array, are what a language needs. A mask is one run of
the language's automaton over all tokens at the same time: column by column, each token in its state, with a transition table that is
filled where somebody steps. Tokens that end in the same state after the same number of characters share one answer to whether the text
can still be completed. Nothing loops over the vocabulary in Python, except over the tokens that end within a character, a few hundred.

Cost: per state some 10 ns a character of the vocabulary (about 2 ms at 49k tokens), once; the characters take 4 B each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..grammar.automaton import advance
from ..grammar.expr import State, cons
from ..grammar.regex import EVERYTHING, NOTHING, Regex
from ..grammar.text import Name, Spelling, Text, decoded
from .strings import Ints, Reading

Bools = npt.NDArray[np.bool_]


class Contents:
    """The characters of the tokens of a reading: ``codes``, one after the other; ``start``, ``length``: where those of each token are.

    Tokens: first the whole ones of ``reading.inside`` (positions ``whole``), then those of each ``reading.leaving[i]`` up to the quote.
    """

    def __init__(self, reading: Reading, texts: list[bytes], depth: int) -> None:
        self.partial = reading.partial
        whole = np.setdiff1d(reading.inside, reading.partial, assume_unique=True)
        parts = [_content(texts[i][depth:]) for i in whole.tolist()]
        self.bounds = [0, len(parts)]
        for rest, tokens in zip(reading.rests.texts, reading.leaving, strict=True):
            cut = len(rest) + 1
            parts += [_content(texts[i][depth:-cut]) for i in tokens.tolist()]
            self.bounds.append(len(parts))
        self.whole: Ints = whole.astype(np.int32)
        self.length: Ints = np.fromiter(map(len, parts), np.int32, len(parts))
        self.start: Ints = np.concatenate(([0], np.cumsum(self.length)))[:-1].astype(np.int32)
        self.codes: Ints = np.frombuffer("".join(parts).encode("utf-32-le"), np.int32)
        self._by_length = np.argsort(-self.length, kind="stable").astype(np.int32)
        self._classes: dict[tuple[int, ...], npt.NDArray[np.int32]] = {}

    def run(self, language: Regex) -> tuple[list[Regex], Ints]:
        """The states that tokens end in, and for each token the number of its state (0: none, no text begins so)."""
        alphabet = language.alphabet
        classes = self._classes.get(alphabet)
        if classes is None:
            if len(self._classes) >= 8:
                self._classes.clear()
            classes = self._classes[alphabet] = (np.searchsorted(alphabet, self.codes, side="right") - 1).astype(np.int32)
        states = [NOTHING, language]
        numbers = {NOTHING: 0, language: 1}
        table = np.full((2, len(alphabet)), -1, np.int32)
        table[0] = 0
        if language is EVERYTHING:
            table[1] = 1
        now = np.ones(len(self.length), np.int32)
        active = self._by_length
        column = 0
        while True:
            active = active[: np.searchsorted(-self.length[active], -column, side="left")]  # those longer than ``column``
            if not len(active):
                return states, now
            here, kinds = now[active], classes[self.start[active] + column]
            after = table[here, kinds]
            if (after < 0).any():
                keys = np.unique(here[after < 0] * len(alphabet) + kinds[after < 0])
                for key in keys.tolist():
                    state, kind = divmod(key, len(alphabet))
                    found = states[state].step(alphabet[kind])
                    number = numbers.get(found)
                    if number is None:
                        number = numbers[found] = len(states)
                        states.append(found)
                        row = np.full((1, len(alphabet)), number if found is EVERYTHING else -1, np.int32)
                        table = np.concatenate((table, row))
                    table[state, kind] = number
                after = table[here, kinds]
            now[active] = after
            active = active[after > 0]
            column += 1


def _content(text: bytes) -> str:
    return decoded(text) if b"\\" in text else text.decode()


class Groups(NamedTuple):
    """The tokens that stay within a text: ``positions[i]`` all lead to ``states[i]``; ``leaving[j]``: positions of the tokens that close it
    and have ``reading.rests[j]`` after the quote."""

    states: list[State]
    positions: list[Ints]
    leaving: list[Ints]


def groups(leaf: State, contents: Contents, reading: Reading, texts: list[bytes], depth: int) -> Groups:
    """The tokens of a reading that ``leaf`` admits as far as its own text goes; those that leave it must still suit what follows."""
    node = leaf.node
    assert isinstance(node, Spelling)
    states, ends = contents.run(node.language)
    count = contents.bounds[1]
    found: list[State] = []
    positions: list[Ints] = []
    if isinstance(node, Text):
        counted = node.low > 0 or node.high is not None
        keys = ends[:count].astype(np.int64) << 32 | (contents.length[:count] if counted else 0)
        for key, tokens in _grouped(keys, contents.whole):
            state, size = states[key >> 32], key & 0xFFFFFFFF
            if state is NOTHING or (node.high is not None and size > node.high):
                continue
            after = cons(node.moved(state, size), leaf.k)
            if after is not None:
                found.append(after)
                positions.append(tokens)
    else:
        assert isinstance(node, Name)
        taken = [name[len(node.prefix) :] for name in node.members.used if name.startswith(node.prefix)]
        # A name has a residual of its own for every spelling, but whether there is one depends on the language only; not near taken names.
        for key, tokens in _grouped(ends[:count].astype(np.int64), contents.whole):
            if states[key] is NOTHING or states[key].shortest() is None:
                continue
            kept = tokens
            if taken:
                near = np.array([any(name.startswith(texts[i][depth:]) for name in taken) for i in tokens.tolist()], np.bool_)
                live = [i for i in tokens[near].tolist() if advance(leaf, texts[i][depth:]) is not None]
                kept = np.concatenate((tokens[~near], np.array(live, np.int32)))
            if len(kept):
                found.append(leaf)
                positions.append(kept)
    for i in contents.partial.tolist():
        ended = advance(leaf, texts[i][depth:])
        if ended is not None:
            found.append(ended)
            positions.append(np.array([i], np.int32))
    nullable = np.array([state.nullable for state in states], np.bool_)
    fits: Bools = nullable[ends]
    if node.low or node.high is not None:
        fits &= (contents.length >= node.low) & (contents.length <= (node.high if node.high is not None else len(contents.codes)))
    leaving = [
        tokens[fits[contents.bounds[j + 1] : contents.bounds[j + 2]]] for j, tokens in enumerate(reading.leaving)
    ]
    return Groups(found, positions, leaving)


def _grouped(keys: npt.NDArray[np.int64], tokens: Ints) -> list[tuple[int, Ints]]:
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    cuts = np.flatnonzero(np.diff(ordered)) + 1
    firsts = ordered[np.concatenate(([0], cuts))].tolist()
    return list(zip(firsts, np.split(tokens[order], cuts), strict=True))

