"""ScriptedEngine keeps the contract of `Engine`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from toolroute.engine import Engine, ScriptedEngine
from toolroute.errors import EngineError, VocabularyError
from toolroute.vocab import Vocabulary

PIECES = ["a", "b", "ab", "abc", None, "é"]


def row(tokens: Sequence[int]) -> np.ndarray:
    return np.sin(np.arange(6.0) * (1 + sum(tokens)))


def make(**options: int) -> ScriptedEngine:
    return ScriptedEngine(Vocabulary.from_tokens(PIECES, eog={4}), row, **options)


def test_contract() -> None:
    scripted = make(n_ctx=8, n_batch=2)
    engine: Engine = scripted
    assert engine.reserve(100) == 8 and engine.settings["engine"] == "scripted" and len(engine.model_hash) == 64
    np.testing.assert_allclose(engine.evaluate([0, 1, 2]), row([0, 1, 2]), rtol=1e-6)
    assert engine.tokens == (0, 1, 2) and engine.steps == 2
    assert engine.reuse([0, 1, 2]) == 2 and engine.reuse([0, 5, 1]) == 1
    engine.evaluate([1])
    engine.truncate(1)
    assert engine.tokens == (0,)
    first = row([0])
    steps = engine.steps
    one, two, none = engine.score([[2], [2, 3], []], first)
    assert engine.tokens == (0,) and engine.steps == steps + 1 and none.shape == (0,)
    assert one[0] == two[0] == pytest.approx(first[2] - np.log(np.exp(first).sum()))
    assert two[1] == pytest.approx(row([0, 2])[3] - np.log(np.exp(row([0, 2])).sum()), abs=1e-6)


def test_tokenize_by_longest_match() -> None:
    engine = make()
    assert engine.tokenize("abcabb") == [3, 2, 1]
    assert engine.tokenize("é".encode()) == [5]
    with pytest.raises(VocabularyError, match="78"):
        engine.tokenize("ax")


def test_errors() -> None:
    engine = make(n_ctx=4)
    for tokens, reason in (([], "no token"), ([6], "token 6"), ([-1], "token -1"), ([0] * 5, "do not fit")):
        with pytest.raises(EngineError, match=reason):
            engine.evaluate(tokens)
    with pytest.raises(EngineError, match="shape"):
        ScriptedEngine(engine.vocabulary, lambda tokens: np.zeros(3)).evaluate([0])
    with engine:
        pass
    with pytest.raises(EngineError, match="closed"):
        engine.evaluate([0])
