"""An engine without a model: logits come from a function. For tests, demonstrations and measuring everything but the model.

Same contract as the real one, without its limits: any context size, any batch. Text is tokenised by longest match over the
vocabulary's pieces, which is not how models tokenise, but spells the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from types import TracebackType

import numpy as np
import numpy.typing as npt

from toolroute.engine.protocol import Logits
from toolroute.engine.scoring import log_normaliser
from toolroute.errors import EngineError, VocabularyError
from toolroute.vocab import Vocabulary


class ScriptedEngine:
    """``logits(tokens)``: the row after `tokens`, a number per token of `vocabulary`."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        logits: Callable[[Sequence[int]], npt.NDArray[np.floating]],
        *,
        name: str = "scripted",
        n_ctx: int = 1 << 20,
        n_batch: int = 512,
        n_seq_max: int = 64,
        bos: int | None = None,
        chat_template: str | None = None,
    ) -> None:
        self.vocabulary, self.name, self._logits = vocabulary, name, logits
        self.n_ctx = self.n_ctx_train = n_ctx
        self.n_batch, self.n_seq_max = n_batch, n_seq_max
        self.bos, self.add_bos = bos, bos is not None
        self.bos_text = self.eos_text = ""
        self.chat_template = chat_template
        self.steps = 0
        self._tokens: list[int] = []
        self._closed = False
        self._ids: dict[bytes, int] = {}
        for token, piece in enumerate(vocabulary.pieces):
            if piece:
                self._ids.setdefault(piece, token)
        self._longest = max(map(len, self._ids), default=0)

    @property
    def model_hash(self) -> str:
        """A hash of the vocabulary, there being no model file."""
        return hashlib.sha256(b"\0".join(self.vocabulary.pieces)).hexdigest()

    @property
    def tokens(self) -> Sequence[int]:
        return tuple(self._tokens)

    @property
    def settings(self) -> dict[str, object]:
        return {"engine": "scripted", "n_ctx": self.n_ctx, "n_batch": self.n_batch, "n_seq_max": self.n_seq_max}

    def tokenize(self, text: str | bytes, *, special: bool = False) -> list[int]:
        data = text.encode("utf-8", "replace") if isinstance(text, str) else bytes(text)
        found, at = [], 0
        while at < len(data):
            for length in range(min(self._longest, len(data) - at), 0, -1):
                token = self._ids.get(data[at : at + length])
                if token is not None:
                    break
            else:
                raise VocabularyError("no token spells the text", missing_bytes=data[at : at + 1])
            found.append(token)
            at += length
        return found

    def reserve(self, n: int) -> int:
        return self.n_ctx

    def reuse(self, tokens: Sequence[int]) -> int:
        self._check(())
        most = min(len(self._tokens), max(0, len(tokens) - 1))
        kept = next((i for i in range(most) if self._tokens[i] != tokens[i]), most)
        del self._tokens[kept:]
        return kept

    def evaluate(self, tokens: Sequence[int]) -> Logits:
        self._check(tokens)
        if not tokens:
            raise EngineError("nothing to evaluate: no token given")
        if len(self._tokens) + len(tokens) > self.n_ctx:
            raise EngineError(f"the context holds {self.n_ctx} tokens, {len(self._tokens)} + {len(tokens)} do not fit", code=1)
        self.steps += -(-len(tokens) // self.n_batch)
        self._tokens += tokens
        return self._row(self._tokens)

    def truncate(self, n: int) -> None:
        self._check(())
        if n < 0:
            raise EngineError(f"cannot keep {n} tokens")
        del self._tokens[n:]

    def score(self, branches: Sequence[Sequence[int]], first: npt.NDArray[np.floating]) -> list[npt.NDArray[np.float64]]:
        found = []
        self.steps += any(len(branch) > 1 for branch in branches)
        for branch in branches:
            self._check(branch)
            values = np.empty(len(branch))
            for index, token in enumerate(branch):
                row = self._row([*self._tokens, *branch[:index]]) if index else first
                values[index] = float(row[token]) - log_normaliser(row)
            found.append(values)
        return found

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> ScriptedEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _row(self, tokens: Sequence[int]) -> Logits:
        row = np.asarray(self._logits(tuple(tokens)), np.float32)
        if row.shape != (self.vocabulary.size,):
            raise EngineError(f"a row of logits has shape {row.shape}, the vocabulary {self.vocabulary.size} tokens")
        return row

    def _check(self, tokens: Sequence[int]) -> None:
        if self._closed:
            raise EngineError("the engine is closed")
        for token in tokens:
            if not 0 <= token < self.vocabulary.size:
                raise EngineError(f"token {token} is not below {self.vocabulary.size}")
