"""The reply token by token: what was forced, what was decided, out of how many, how sure the model was, and how long it took."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from ..action import Action


def explain(action: Action) -> None:
    """Tables of scores, tokens and times on stderr."""
    console = Console(stderr=True)
    if action.scores:
        table = Table("choice", "log-probability", "prior", "corrected", "share", title="Choices", title_justify="left")
        for score in action.scores:
            prior = "" if score.prior is None else f"{score.prior:.2f}"
            corrected = "" if score.prior is None else f"{score.logprob - score.prior:.2f}"
            table.add_row(score.name, f"{score.logprob:.2f}", prior, corrected, f"{score.probability:.1%}")
        console.print(table)
        if action.confidence is not None:
            console.print(f"probability that a tool should be called: {action.confidence:.1%}")
    table = Table("#", "token", "", "allowed", "probability", "ms", title="Reply", title_justify="left")
    for number, step in enumerate(action.steps, 1):
        table.add_row(
            str(number),
            repr(step.text)[1:],
            "forced" if step.forced else "decided, overridden" if step.overridden else "decided",
            "" if step.allowed is None else str(step.allowed),
            "" if step.probability is None else f"{step.probability:.3f}",
            "" if step.forced else f"{step.seconds * 1e3:.2f}",
        )
    console.print(table)
    usage, times = action.usage, action.timings
    console.print(
        f"prompt {usage.prompt_tokens} tokens ({usage.reused_tokens} reused); reply {usage.reply_tokens} tokens: "
        f"{usage.forced_tokens} forced, {usage.decided_tokens} decided ({usage.overrides} overridden); {usage.model_steps} model steps"
    )
    console.print("seconds: " + ", ".join(f"{name} {seconds:.3f}" for name, seconds in asdict(times).items()))
