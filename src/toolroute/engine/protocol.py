"""What the rest of the package may ask of a running model.

Theory: a router needs five things of a model and nothing else: its tokens, one growing sequence it can cut back, the logits after
that sequence, the probability of a few continuations, and a count of model steps. `Engine` is exactly that, so everything above
it runs unchanged on llama.cpp (`LlamaEngine`) and on a scripted stand-in (`ScriptedEngine`).

Sequence 0 is *the history*: `tokens` is what it holds, `evaluate` appends, `truncate` and `reuse` cut, `score` looks ahead
without changing it. Nothing is ever dropped from the front. A **model step** is one call into the model with a batch (one
`llama_decode`); `steps` counts them and only grows.

Logits belong to the engine: the row that `evaluate` returns is a view on the model's own memory and is overwritten or freed by the
next call of any method that runs the model (`evaluate`, `score`, `reserve`). Copy it to keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from toolroute.vocab import Vocabulary

Logits = npt.NDArray[np.float32]
"""One row of logits, a number per token id."""


class Engine(Protocol):
    """One model with one history. Safe to call from several threads (calls wait for each other), useful from one."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens as bytes."""

    @property
    def name(self) -> str:
        """A short name for reports."""

    @property
    def model_hash(self) -> str:
        """SHA-256 of the model file, in hex; computed on first use."""

    @property
    def n_ctx(self) -> int:
        """Tokens the context holds now."""

    @property
    def n_ctx_train(self) -> int:
        """Tokens the model was trained for."""

    @property
    def n_batch(self) -> int:
        """Most tokens of one model step."""

    @property
    def n_seq_max(self) -> int:
        """Sequences of the context, the history included."""

    @property
    def bos(self) -> int | None:
        """The token that opens a text, if the model has one."""

    @property
    def add_bos(self) -> bool:
        """Whether a prompt should open with `bos`."""

    @property
    def bos_text(self) -> str:
        """The text of `bos` for a chat template ("" when there is none)."""

    @property
    def eos_text(self) -> str:
        """The text of the end-of-sequence token for a chat template ("" when there is none)."""

    @property
    def chat_template(self) -> str | None:
        """The chat template the model came with (untrusted text)."""

    @property
    def tokens(self) -> Sequence[int]:
        """The history: what sequence 0 holds."""

    @property
    def steps(self) -> int:
        """Model steps made so far, by `evaluate` and `score`."""

    @property
    def settings(self) -> dict[str, object]:
        """What a report needs to repeat a run: build, threads, batch sizes, switches."""

    def tokenize(self, text: str | bytes, *, special: bool = False) -> list[int]:
        """Tokens of `text`: no token is added and no blank is added or removed. With `special`, control tokens named in the text
        become those tokens; without it they are plain text."""

    def reserve(self, n: int) -> int:
        """Make room for `n` tokens in all, where that is possible, keeping the history. Returns the capacity there is now."""

    def reuse(self, tokens: Sequence[int]) -> int:
        """Cut the history to its longest common prefix with `tokens`, at most ``len(tokens) - 1`` (the last token has to be
        evaluated to get logits). Returns the number of tokens kept; evaluate the rest."""

    def evaluate(self, tokens: Sequence[int]) -> Logits:
        """Append `tokens` (at least one) and return the logits after the last: a float32 view, valid until the next call."""

    def truncate(self, n: int) -> None:
        """Keep the first `n` tokens of the history."""

    def score(self, branches: Sequence[Sequence[int]], first: npt.NDArray[np.floating]) -> list[npt.NDArray[np.float64]]:
        """Log-probabilities of the tokens of each branch, each given the history and the branch before it. `first` is the row
        after the history. An empty branch has an empty array. The history does not change."""

    def close(self) -> None:
        """Free everything. Any later call raises `EngineError`."""
