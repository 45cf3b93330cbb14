"""A set of allowed tokens, stored in the form that is cheapest for it.

Most states allow a handful of tokens: a sorted array of ids. A state within a string allows nearly all: then the mask is the
prepared table of the vocabulary's string tokens (shared, see ``strings``) cut at a length, plus a few ids of its own. A row of
logits is never copied: choosing gathers over a sparse mask, and writes −inf in place over the few tokens outside a dense one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from .strings import Ints, StringTable

Logits = npt.NDArray[np.float32]


def distinct(parts: list[Ints]) -> Ints:
    """All ids of ``parts``, sorted, each once. (``np.unique`` takes ten times as long for what a mask has.)"""
    ids = np.concatenate(parts) if parts else np.empty(0, np.int32)
    ids.sort()
    if len(ids) < 2:
        return ids
    first = np.empty(len(ids), np.bool_)
    first[0] = True
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    return ids[first]


class TokenMask:
    """The tokens allowed in one state; immutable.

    ``extra``: sorted int32 ids; ``dense``: (table, limit) pairs, each adding the table's tokens that need at most ``limit`` code points.
    """

    __slots__ = ("dense", "extra", "size")

    def __init__(self, size: int, extra: Ints, dense: tuple[tuple[StringTable, int], ...] = ()) -> None:
        self.size, self.extra, self.dense = size, extra, dense

    @classmethod
    def of(cls, size: int, ids: Iterable[int]) -> TokenMask:
        """A sparse mask of these ids."""
        return cls(size, distinct([np.fromiter(ids, np.int32)]))

    def allows(self, token: int) -> bool:
        """Whether ``token`` (an id) is allowed. False for an id outside the vocabulary."""
        if not 0 <= token < self.size:
            return False
        if any(table.needs[token] <= limit for table, limit in self.dense):
            return True
        at = int(np.searchsorted(self.extra, token))
        return at < len(self.extra) and int(self.extra[at]) == token

    def ids(self) -> Ints:
        """All allowed ids, int32, sorted."""
        if not self.dense:
            return self.extra
        return np.flatnonzero(self._flags()).astype(np.int32)

    def _flags(self) -> npt.NDArray[np.bool_]:
        """By token id, whether it is allowed."""
        flags = np.zeros(self.size, np.bool_)
        for table, limit in self.dense:
            flags |= table.needs <= limit
        flags[self.extra] = True
        return flags

    def __len__(self) -> int:
        if len(self.dense) == 1:
            table, limit = self.dense[0]
            return int(table.starts[min(limit, table.longest) + 1]) + int((table.needs[self.extra] > limit).sum())
        return len(self.ids())

    def bitmask(self) -> npt.NDArray[np.uint32]:
        """The mask as ceil(size / 32) uint32 words: token ``i`` is bit ``i % 32`` of word ``i // 32``."""
        words = np.zeros(-(-self.size // 32), np.uint32)
        for table, limit in self.dense:
            words |= table.words(limit)
        np.bitwise_or.at(words, self.extra >> 5, np.left_shift(np.uint32(1), (self.extra & 31).astype(np.uint32)))
        return words

    def apply(self, logits: Logits) -> None:
        """Write −inf over every token outside the mask, in place. ``logits``: float32, shape (size,)."""
        kept = logits[self.extra]
        if len(self.dense) == 1:
            table, limit = self.dense[0]
            logits[table.outside] = -np.inf
            if limit < table.longest:
                logits[table.by_need[table.starts[limit + 1] :]] = -np.inf
        elif self.dense:
            logits[~self._flags()] = -np.inf
        else:
            logits.fill(-np.inf)
        logits[self.extra] = kept

    def best(self, logits: Logits) -> int:
        """The allowed id with the highest logit (the lowest such id on a tie). A dense mask is written over ``logits``.

        The mask must not be empty.
        """
        if not self.dense:
            return int(self.extra[int(logits[self.extra].argmax())])
        self.apply(logits)
        return int(logits.argmax())
