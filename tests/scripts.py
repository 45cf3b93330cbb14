"""Scripted models: an engine over single bytes whose logits follow a text that it wants to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from toolroute.engine import ScriptedEngine
from toolroute.vocab import Vocabulary

END = 256
BYTES = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), None], eog={END})


def writes(*texts: str | bytes, strength: float = 12.0) -> Callable[[Sequence[int]], np.ndarray]:
    """Logits that continue whichever of ``texts`` the tokens so far end with the longest beginning of (the first on a tie)."""
    wanted = [text.encode() if isinstance(text, str) else text for text in texts]

    def row(tokens: Sequence[int]) -> np.ndarray:
        said = bytes(token for token in tokens[-400:] if token < 256)
        values = np.zeros(257, np.float32)
        best = -1
        for text in wanted:
            size = next(n for n in range(min(len(text) - 1, len(said)), -1, -1) if said.endswith(text[:n]))
            if size > best:
                best = size
                values[:] = 0
                values[text[size]] = strength
        return values

    return row


def engine(*texts: str | bytes, **options: int) -> ScriptedEngine:
    """An engine that writes ``texts``."""
    return ScriptedEngine(BYTES, writes(*texts), **{"n_batch": 1 << 20, **options})
