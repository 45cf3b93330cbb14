"""String bodies against a whole vocabulary, prepared once.

Inside a string nearly every token is allowed, so walking the trie would touch all of it. Instead each token is read once, as if it
stood inside an unbounded string, and falls into one of three classes: it stays *inside* (with the number of code points it needs),
it *leaves* through the closing quote (with the bytes after it), or it cannot stand there. A body's mask is then: inside tokens that
its length bound admits, plus the leaving tokens whose rest the continuation accepts. The rests are a few hundred strings, sorted,
walked like a small vocabulary.

The same reading is needed for tokens that *enter* a string (``": "Os``): the part after the quote, for the range of tokens with that
beginning. Those tables are made when first asked for and kept.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..grammar.automaton import advance
from ..grammar.expr import END, State, cons
from ..grammar.strings import Body, body
from ..vocab import Vocabulary
from .walk import Texts

Ints = npt.NDArray[np.int32]
NOT_INSIDE: Final = 0xFFFF
_COUNTER: Final = 10_000  # a bound no token reaches, so that what is left of it tells how many code points were read
_SPECIAL = re.compile(rb'[\x00-\x1f"\\]')


class Reading(NamedTuple):
    """Tokens read as string text from some depth on. Positions are positions in ``Vocabulary.texts``.

    ``inside``, ``needs``: tokens that stay inside and the code points each needs (one under way counts); ``rests``: the distinct
    bytes after a closing quote, sorted; ``leaving[i]``, ``before[i]``: the tokens with ``rests[i]`` and their code points before
    the quote; ``partial``: those of ``inside`` that end within a character.
    """

    inside: Ints
    needs: Ints
    partial: Ints
    rests: Texts
    leaving: list[Ints]
    before: list[Ints]


class StringTable:
    """All readings of one vocabulary for one kind of string (``strict``: free member names, which have one spelling)."""

    def __init__(self, vocabulary: Vocabulary, strict: bool) -> None:
        self.vocabulary, self.strict = vocabulary, strict
        start = cons(body(0, _COUNTER, strict), END)
        assert start is not None
        self._start = start
        self._words: npt.NDArray[np.uint32] | None = None
        self._readings: dict[tuple[int, int, int], Reading] = {}
        whole = self.reading(0, len(vocabulary.texts), 0)
        ids = vocabulary.ids
        self.needs = np.full(vocabulary.size, NOT_INSIDE, np.uint16)
        """By token id: code points the token needs inside a string, or ``NOT_INSIDE``."""
        self.needs[ids[whole.inside]] = whole.needs
        by_need = np.argsort(self.needs, kind="stable").astype(np.int32)
        sorted_needs = self.needs[by_need]
        count = int(np.searchsorted(sorted_needs, NOT_INSIDE))
        self.by_need = by_need[:count]
        """The inside ids by what they need; ``starts[n]``: where those that need n or more begin."""
        self.longest = int(sorted_needs[count - 1]) if count else 0
        self.reach = max([self.longest, *(int(before.max()) for before in whole.before)])
        """Code points of a string that one token can hold, those that close it included."""
        self.starts = np.searchsorted(sorted_needs[:count], np.arange(self.longest + 2))
        self.outside = np.sort(by_need[count:])
        """The ids that do not stay inside."""

    def words(self, limit: int) -> npt.NDArray[np.uint32]:
        """The ids that stay inside and need at most ``limit`` code points, as a bit mask (see ``TokenMask.bitmask``)."""
        if self._words is not None and limit >= self.longest:
            return self._words
        flags = np.zeros(-(-len(self.needs) // 32) * 32, np.bool_)
        np.less_equal(self.needs, min(limit, self.longest), out=flags[: len(self.needs)])
        words: npt.NDArray[np.uint32] = np.packbits(flags, bitorder="little").view("<u4").astype(np.uint32, copy=False)
        if limit >= self.longest:
            self._words = words
        return words

    def reading(self, low: int, high: int, depth: int) -> Reading:
        """The tokens at positions ``low``..``high``, read as string text from byte ``depth`` on."""
        key = (low, high, depth)
        found = self._readings.get(key)
        if found is None:
            found = self._readings[key] = self._read(low, high, depth)
        return found

    def _read(self, low: int, high: int, depth: int) -> Reading:
        inside: list[int] = []
        needs: list[int] = []
        partial: list[int] = []
        groups: dict[bytes, tuple[list[int], list[int]]] = {}
        search = _SPECIAL.search
        for i, text in enumerate(self.vocabulary.texts[low:high], low):
            if depth:
                text = text[depth:]
            if search(text) is None:
                if text.isascii():
                    inside.append(i)
                    needs.append(len(text))
                    continue
                try:
                    count = len(text.decode())
                except UnicodeDecodeError:
                    pass
                else:
                    inside.append(i)
                    needs.append(count)
                    continue
            self._read_slowly(i, text, inside, needs, partial, groups)
        rests = sorted(groups)
        return Reading(
            np.array(inside, np.int32),
            np.array(needs, np.int32),
            np.array(partial, np.int32),
            Texts(rests),
            [np.array(groups[rest][0], np.int32) for rest in rests],
            [np.array(groups[rest][1], np.int32) for rest in rests],
        )

    def _read_slowly(
        self, i: int, text: bytes, inside: list[int], needs: list[int], partial: list[int], groups: dict[bytes, tuple[list[int], list[int]]]
    ) -> None:
        """A token with quotes, escapes, control characters or broken UTF-8: let the automaton read it."""
        state: State | None = self._start
        begin = 0
        while state is not None:
            quote = text.find(b'"', begin)
            state = advance(state, text[begin:] if quote < 0 else text[begin:quote])
            if state is None:
                return
            node = state.node
            if quote >= 0 and isinstance(node, Body):
                tokens, before = groups.setdefault(text[quote + 1 :], ([], []))
                tokens.append(i)
                before.append(_COUNTER - (node.high or 0))
                return
            if quote < 0:
                count = state
                while not isinstance(count.node, Body):
                    count = count.k  # within a character: the body after it is the continuation
                inside.append(i)
                needs.append(_COUNTER - (count.node.high or 0))
                if count is not state:
                    partial.append(i)
                return
            state = state.step(text[quote])  # an escaped quote
            begin = quote + 1
