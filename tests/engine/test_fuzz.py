"""The short version of ``benchmarks.fuzz``: the states, ``jsonschema`` and llama.cpp's grammar sampler agree."""

from __future__ import annotations

import collections
from collections.abc import Callable
from random import Random

from toolroute.engine import LlamaEngine


def test_three_judges_agree(load: Callable[..., LlamaEngine]) -> None:
    from benchmarks.fuzz import judge

    engine, counts = load(), collections.Counter[str]()
    for seed in range(10**9, 10**9 + 400):
        fault = judge(Random(seed), engine, counts)
        assert fault is None, f"seed {seed}: {fault}"
    assert counts["exact"] > 250
