"""The decode loop: the model is asked only where there is a decision.

Forced text is never sampled. It is tokenised, taken, and rides in the batch of the tokens before it; the first forced run rides in
the prompt's last batch. A token that was decided is evaluated only when another decision needs its logits, so nothing is evaluated
after the last decision, and a reply that is all forced costs no step beyond the prompt's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..mask import Matcher
from .protocol import Engine, Logits
from .sampler import Sampler, log_softmax


@dataclass
class Step:
    """One token of a reply, for ``--explain`` and streams. ``allowed``, ``probability``: of a decided token, where asked for;
    ``seconds``: its cost."""

    token: int
    text: bytes
    forced: bool
    allowed: int | None = None
    probability: float | None = None
    overridden: bool = False
    seconds: float = 0.0


@dataclass
class Tally:
    """What a reply has cost so far. Tokens and steps are counts; times are seconds."""

    forced: int = 0
    decided: int = 0
    overrides: int = 0
    decode: float = 0.0
    mask: float = 0.0
    choose: float = 0.0
    steps: list[Step] = field(default_factory=list)


class Decoder:
    """Writes one reply into an engine's history. ``pending``: tokens that are taken but not evaluated yet."""

    def __init__(
        self,
        engine: Engine,
        matcher: Matcher,
        sampler: Sampler,
        *,
        limit: int | None = None,
        detail: bool = False,
        on_step: Callable[[Step], None] | None = None,
    ) -> None:
        self.engine, self.matcher, self.sampler = engine, matcher, sampler
        self.limit, self.detail, self.on_step = limit, detail, on_step
        self.pending: list[int] = []
        self.tally = Tally()
        self._waited = 0.0

    @property
    def stopped(self) -> bool:
        """Whether the limit is used up (only without a cap in the matcher; with one the reply always completes)."""
        return self.limit is not None and len(self.matcher.tokens) >= self.limit

    def force(self, tokens: Sequence[int]) -> None:
        """Take tokens that need no decision."""
        for token in tokens:
            if self.stopped:
                return
            self.matcher.accept(token)
            self.pending.append(token)
            self.tally.forced += 1
            self._note(Step(token, self.matcher.vocabulary.pieces[token], True))

    def take_forced(self) -> None:
        """Take every token that must come next."""
        while not self.matcher.is_complete and not self.stopped:
            started = time.perf_counter()
            run = self.matcher.forced()
            self.tally.mask += time.perf_counter() - started
            if not run:
                return
            self.force(run)

    def evaluate(self) -> Logits:
        """Evaluate what is pending; the logits after it."""
        started = time.perf_counter()
        row = self.engine.evaluate(self.pending)
        self._waited = time.perf_counter() - started
        self.tally.decode += self._waited
        self.pending = []
        return row

    def run(self, row: Logits | None = None) -> None:
        """Write the reply to its end. ``row``: logits after what is evaluated, where nothing is pending."""
        matcher = self.matcher
        while True:
            self.take_forced()
            if matcher.is_complete or matcher.is_terminated or self.stopped:
                return
            if self.pending or row is None:
                row = self.evaluate()
            self._decide(row)
            row = None

    def _decide(self, row: Logits) -> None:
        matcher, tally = self.matcher, self.tally
        detail = (len(matcher.mask()), row.copy()) if self.detail else None
        started = time.perf_counter()
        choice = self.sampler.choose(matcher, row)
        if choice.capped:
            matcher.capped = True
        matcher.accept(choice.token)
        spent = time.perf_counter() - started
        tally.choose += spent
        tally.decided += 1
        tally.overrides += choice.overridden
        if not matcher.is_terminated:
            self.pending.append(choice.token)
        step = Step(choice.token, matcher.vocabulary.pieces[choice.token], False, overridden=choice.overridden)
        step.seconds, self._waited = spent + self._waited, 0.0
        if detail is not None:
            step.allowed, step.probability = detail[0], math.exp(log_softmax(detail[1], choice.token))
        self._note(step)

    def _note(self, step: Step) -> None:
        if self.detail:
            self.tally.steps.append(step)
        if self.on_step is not None:
            self.on_step(step)
