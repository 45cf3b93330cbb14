"""One decoded choice, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from .engine.decode import Step


class Score(NamedTuple):
    """How a choice was scored. Natural-log units: ``logprob`` of the whole name, ``prior`` under a request without content (None:
    not taken).

    ``probability``: among the choices, by the score that picks (a softmax; not calibrated).
    """

    name: str
    logprob: float
    prior: float | None
    probability: float


@dataclass(frozen=True)
class Usage:
    """Counts. ``prompt_tokens``: of the final prompt; ``reused_tokens``: of those, not evaluated again; ``forced_tokens`` +
    ``decided_tokens``: the reply; ``scored_tokens``: rows spent on scoring names; ``model_steps``: calls of the model in all, of
    which ``prompt_steps`` read prompts; ``overrides``: decisions in which the model's own best token was not allowed."""

    prompt_tokens: int = 0
    reused_tokens: int = 0
    forced_tokens: int = 0
    decided_tokens: int = 0
    scored_tokens: int = 0
    prompt_steps: int = 0
    model_steps: int = 0
    overrides: int = 0

    @property
    def reply_tokens(self) -> int:
        return self.forced_tokens + self.decided_tokens


@dataclass(frozen=True)
class Timings:
    """Seconds. ``compile``: catalogue to route; ``prompt``: rendering, tokenising and evaluating prompts; ``score``: scoring names;
    ``decode``: model steps of the reply; ``mask``: forced runs; ``choose``: verifying, masks and choosing; ``parse``: reading and
    validating the reply; ``total``: all of it."""

    compile: float = 0.0
    prompt: float = 0.0
    score: float = 0.0
    decode: float = 0.0
    mask: float = 0.0
    choose: float = 0.0
    parse: float = 0.0
    total: float = 0.0


@dataclass(frozen=True)
class Action:
    """What the model chose.

    ``tool``: a tool's or a terminal's name; ``arguments``: valid for the tool's schema (None for a bare terminal, or a reply that
    was cut); ``text``: the reply; ``stop_reason``: ``"complete"`` or ``"cap"``; ``complete``: False where the cap changed the
    reply: such an action must not be executed; ``confidence``: fitted probability that a tool should be called (None without a
    fitted gate); ``steps``: token by token, where asked for.
    """

    tool: str | None
    arguments: dict[str, Any] | None
    text: str
    stop_reason: str
    complete: bool
    is_terminal: bool
    scores: tuple[Score, ...] = ()
    confidence: float | None = None
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    steps: tuple[Step, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The action as JSON values (without ``steps``)."""
        return {
            "tool": self.tool,
            "arguments": self.arguments,
            "text": self.text,
            "stop_reason": self.stop_reason,
            "complete": self.complete,
            "is_terminal": self.is_terminal,
            "confidence": self.confidence,
            "scores": [score._asdict() for score in self.scores],
            "usage": asdict(self.usage),
            "timings": asdict(self.timings),
        }


def softmax(values: Mapping[str, float]) -> dict[str, float]:
    """Probabilities that are proportional to the exponentials of ``values``."""
    top = max(values.values())
    weights = {name: math.exp(value - top) for name, value in values.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}
