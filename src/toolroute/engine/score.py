"""Scoring whole names: how likely is each choice, and how likely was it anyway?

A small model that writes a name token by token answers ``none``, or one favourite name, whatever it is asked. Scored as whole
names, and set against the scores under a request without content (the *prior*), the same model knows better. Every candidate text
is a sequence of its own over the shared prefix, all in one batch, so a decision costs one model step after the prompt's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .protocol import Engine


class NameScores(NamedTuple):
    """Sums of log-probabilities (natural log) by name, and what they cost. ``tokens``: scored beyond the prompt; ``seconds``: in
    the model."""

    sums: dict[str, float]
    reused: int
    tokens: int
    seconds_prompt: float
    seconds_score: float


def score_names(engine: Engine, prompt: Sequence[int], stems: Mapping[str, str]) -> NameScores:
    """The log-probability of each stem after ``prompt``.

    ``stems``: the text of the reply, by name, up to the point that tells it from every other. The history is left at the prompt and
    what all stems share. Raises ``EngineError`` where two stems have the same tokens.
    """
    branches = {name: engine.tokenize(text) for name, text in stems.items()}
    shortest = min(branches.values(), key=len)
    shared = 0
    while shared < len(shortest) - 1 and all(branch[shared] == shortest[shared] for branch in branches.values()):
        shared += 1
    whole = [*prompt, *shortest[:shared]]
    reused = engine.reuse(whole)
    started = time.perf_counter()
    row = engine.evaluate(whole[reused:])
    middle = time.perf_counter()
    tails = [branch[shared:] for branch in branches.values()]
    scored = engine.score(tails, row)
    finished = time.perf_counter()
    sums = {name: float(values.sum()) for name, values in zip(branches, scored, strict=True)}
    return NameScores(sums, reused, sum(map(len, tails)), middle - started, finished - middle)
