"""When to call a tool at all: a gate fitted per model and prompt.

Two margins tell a call from no call: how far the best tool is above the best terminal in plain log-probability, and how far in
prior-corrected log-probability (the score minus the score under a request without content). Neither is enough alone: the plain one
carries the model's prejudice, the corrected one its catalogue's size. The gate is a line in the plane of the two, fitted by
logistic regression on labelled requests (``benchmarks/fit_gates.py``); which score picks the tool is chosen on the same data. A
model without a fitted gate has none, and the router says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, NamedTuple


class Gate(NamedTuple):
    """Call a tool where ``plain * margin + corrected * prior-corrected margin + bias`` is positive (natural-log units).

    ``tool_by``: the score that picks the tool: ``"sum"`` (log-probability) or ``"corrected"`` (minus the prior).
    """

    plain: float
    corrected: float
    bias: float
    tool_by: Literal["sum", "corrected"] = "sum"

    def confidence(self, margins: Margins) -> float:
        """Fitted probability that a tool should be called."""
        value = self.plain * margins.plain + self.corrected * margins.corrected + self.bias
        return 1 / (1 + math.exp(-max(min(value, 500.0), -500.0)))


class Margins(NamedTuple):
    """How far the best tool is above the best terminal, in each score."""

    plain: float
    corrected: float


def margins(sums: Mapping[str, float], priors: Mapping[str, float], terminals: Iterable[str]) -> Margins:
    """Margins over names; at least one tool and one terminal must be among them."""
    ends = set(terminals)

    def margin(score: Mapping[str, float]) -> float:
        return max(v for n, v in score.items() if n not in ends) - max(v for n, v in score.items() if n in ends)

    return Margins(margin(sums), margin({name: value - priors[name] for name, value in sums.items()}))


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Any]:
    text = resources.files("toolroute.engine").joinpath("gates.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def shipped_gate(model_hash: str, prompt: str) -> Gate | None:
    """The gate that was fitted for a model file (its sha256) under a prompt form, or None."""
    entry = _shipped()["gates"].get(model_hash, {}).get(prompt)
    return None if entry is None else Gate(entry["plain"], entry["corrected"], entry["bias"], entry["tool_by"])
