"""What a model can say: its tokens as bytes.

The sorted vocabulary *is* the trie: with tokens sorted by their bytes, a trie node is a range ``(low, high, depth)`` of that order and its
children are found by bisection. Nothing is built but one sort. Byte strings that several ids share keep all their ids.

Tokens that must never be generated (control, unused, unknown, empty pieces) do not enter the order, whatever text they render to;
end-of-generation tokens are a set of ids of their own, allowed where the reply is complete. Knows nothing of grammars.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VocabularyError


class Vocabulary:
    """The tokens of a model; immutable.

    ``pieces``: bytes by id, ``b""`` for an id that is never allowed by its bytes; ``size``: number of ids (the width of a row of
    logits); ``eog``: ids that end a generation; ``texts``: the distinct-or-equal pieces in byte order; ``ids``: int32 array, the id
    of each of ``texts``.
    """

    def __init__(self, pieces: Sequence[bytes], eog: frozenset[int]) -> None:
        self.pieces = list(pieces)
        self.size = len(self.pieces)
        self.eog = eog
        order = sorted((i for i, piece in enumerate(self.pieces) if piece), key=self.pieces.__getitem__)
        self.texts: list[bytes] = [self.pieces[i] for i in order]
        self.ids: npt.NDArray[np.int32] = np.array(order, np.int32)
        self.longest = max(map(len, self.texts), default=0)
        self.memo: dict[str, Any] = {}
        """Room for what others compute over this vocabulary; it lives as long as the vocabulary."""
        self._digest: str | None = None

    @classmethod
    def from_tokens(
        cls, pieces: Sequence[bytes | str | None], eog: Iterable[int] = (), control: Iterable[int] = ()
    ) -> Vocabulary:
        """A vocabulary from pieces by id (str: its UTF-8; None or empty: never allowed).

        ``eog``: end-of-generation ids; ``control``: ids that are never allowed by their text (``eog`` ids never are).
        Raises ``VocabularyError`` for an id out of range.
        """
        ends, hidden = frozenset(eog), frozenset(control)
        wrong = sorted(i for i in ends | hidden if not 0 <= i < len(pieces))
        if wrong:
            raise VocabularyError(f"token id {wrong[0]} is not in 0..{len(pieces) - 1}")
        hidden |= ends
        table = [b"" if piece is None else piece.encode() if isinstance(piece, str) else bytes(piece) for piece in pieces]
        for i in hidden:
            table[i] = b""
        return cls(table, ends)

    @property
    def digest(self) -> str:
        """A hash of all pieces and the end set."""
        if self._digest is None:
            sha = hashlib.sha256(repr(sorted(self.eog)).encode())
            for piece in self.pieces:
                sha.update(len(piece).to_bytes(4, "big") + piece)
            self._digest = sha.hexdigest()
        return self._digest

    def range(self, prefix: bytes, low: int = 0, high: int | None = None) -> tuple[int, int]:
        """The positions in ``texts`` (within ``low``..``high``) whose text starts with ``prefix``."""
        high = len(self.texts) if high is None else high
        low = bisect_left(self.texts, prefix, low, high)
        stop = following(prefix)
        return low, high if stop is None else bisect_left(self.texts, stop, low, high)

    def spell(self, text: bytes) -> tuple[int, ...]:
        """Ids whose pieces are ``text``, by longest match, or with fewest tokens where longest match gets stuck.

        Raises ``VocabularyError`` naming the bytes that no token has.
        """
        ids: list[int] = []
        start = 0
        while start < len(text):
            found = self._matches(text, start)
            if not found:
                return self._spell_any(text)
            end, token = found[-1]
            ids.append(token)
            start = end
        return tuple(ids)

    def _matches(self, text: bytes, start: int) -> list[tuple[int, int]]:
        """The tokens that ``text`` continues with at ``start``, as (end, id), shortest first."""
        found = []
        low, high = 0, len(self.texts)
        for end in range(start + 1, min(len(text), start + self.longest) + 1):
            prefix = text[start:end]
            low, high = self.range(prefix, low, high)
            if low == high:
                break
            if self.texts[low] == prefix:
                found.append((end, int(self.ids[low])))
        return found

    def _spell_any(self, text: bytes) -> tuple[int, ...]:
        """Fewest tokens, by dynamic programming from the end."""
        best: list[tuple[int, tuple[int, ...]] | None] = [None] * len(text) + [(0, ())]
        for start in range(len(text) - 1, -1, -1):
            for end, token in self._matches(text, start):
                tail = best[end]
                if tail is not None and (best[start] is None or tail[0] + 1 < best[start][0]):  # type: ignore[index]
                    best[start] = (tail[0] + 1, (token, *tail[1]))
        whole = best[0]
        if whole is None:
            single = {piece[0] for piece in self.texts if len(piece) == 1}
            raise VocabularyError(f"no sequence of tokens spells {text[:64]!r}", missing_bytes=set(text) - single)
        return whole[1]


def following(prefix: bytes) -> bytes | None:
    """The first byte string after all those that start with ``prefix``; None where there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else None
