"""Choosing the next token from a row of logits and what the reply allows.

Greedy verifies first: the best token of the row is tried, and only where the reply refuses it is a mask built. Sampling has one
order: mask, temperature, top-k, top-p, draw. The mask comes first, so ``top_k=1`` is the best *allowed* token and no filter can
leave nothing. There is no repetition penalty: it would fall on structure, where repeating is right.

A row with NaN or +inf is refused: an argmax over it would mean nothing, and must not be acted on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import DeadEnd, EngineError
from ..mask import Matcher, TokenMask
from .protocol import Logits


class Choice(NamedTuple):
    """A chosen token. ``overridden``: the model's own best token was not allowed; ``capped``: the cap refused what the language allows."""

    token: int
    overridden: bool
    capped: bool


class Sampler:
    """How tokens are chosen. ``temperature`` 0: greedy; ``top_k`` 0 and ``top_p`` 1: no filter; ``seed``: of the draws (None: not
    repeatable)."""

    def __init__(self, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, seed: int | None = None) -> None:
        if temperature < 0 or top_k < 0 or not 0 < top_p <= 1:
            raise ValueError(f"temperature {temperature} ≥ 0, top_k {top_k} ≥ 0 and 0 < top_p {top_p} ≤ 1 must hold")
        self.temperature, self.top_k, self.top_p, self.seed = temperature, top_k, top_p, seed
        self._random = np.random.default_rng(seed)

    def restart(self) -> None:
        """Begin the draws anew, so that equal requests get equal replies."""
        self._random = np.random.default_rng(self.seed)

    def choose(self, matcher: Matcher, logits: Logits) -> Choice:
        """The next token. ``logits``: float32, a number per token id (what stands beyond the vocabulary is padding), may be written to.

        Raises ``EngineError`` for a row that is not finite, is too short or rules out every allowed token, and ``DeadEnd`` where no token
        of the vocabulary may come.
        """
        size = matcher.vocabulary.size
        if len(logits) < size:
            raise EngineError(f"the row has {len(logits)} logits, the vocabulary {size} tokens")
        logits = logits[:size]
        best = int(logits.argmax())
        if not np.isfinite(logits[best]):
            raise EngineError(f"the row of logits is not finite ({logits[best]} at token {best})")
        allowed = matcher.allows(best)
        capped = not allowed and matcher.refused_by_cap(best)
        if self.temperature == 0 and allowed:
            return Choice(best, False, False)
        language = matcher.language_mask()
        choose = self._best if self.temperature == 0 else self._draw
        token = choose(matcher, language, logits)
        if not matcher.allows(token):
            # The cap refuses it (or, under GBNF, our own states): now the exact mask is worth its cost.
            capped = capped or matcher.refused_by_cap(token)
            token = choose(matcher, matcher.mask(), logits)
        return Choice(token, not allowed and not capped, capped)

    @staticmethod
    def _best(matcher: Matcher, mask: TokenMask, logits: Logits) -> int:
        token = mask.best(logits) if mask.dense or len(mask.extra) else -1
        if token < 0 or logits[token] == -np.inf:
            raise _nothing(matcher, mask)
        return token

    def _draw(self, matcher: Matcher, mask: TokenMask, logits: Logits) -> int:
        """Draw from the allowed tokens. Double precision; ties at the top-k boundary are kept by lowest id."""
        ids = mask.ids()
        scores = logits[ids].astype(np.float64) / self.temperature
        if not len(ids) or scores.max() == -np.inf:
            raise _nothing(matcher, mask)
        if self.top_k and self.top_k < len(ids):
            keep = np.argsort(-scores, kind="stable")[: self.top_k]
            ids, scores = ids[keep], scores[keep]
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        if self.top_p < 1:
            order = np.argsort(-weights, kind="stable")
            count = int(np.searchsorted(np.cumsum(weights[order]), self.top_p)) + 1
            order = order[:count]
            ids, weights = ids[order], weights[order] / weights[order].sum()
        return int(ids[min(int(np.searchsorted(np.cumsum(weights), self._random.random())), len(ids) - 1)])


def _nothing(matcher: Matcher, mask: TokenMask) -> DeadEnd | EngineError:
    """Why there is nothing to choose: no token is allowed, or the row rules out each that is."""
    return EngineError("the row of logits rules out every allowed token") if len(mask) else matcher.dead_end()


def log_softmax(logits: Logits, token: int) -> float:
    """The log-probability of ``token`` over the whole row."""
    row = logits.astype(np.float64)
    top = row.max()
    return float(row[token] - top - np.log(np.exp(row - top).sum()))
