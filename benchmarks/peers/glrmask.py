"""glrmask: a GLR parser, in Rust. With ``FAST_COMPILE=1`` masks walk the token trie instead of being compiled into automata.

Its JSON has blanks after commas and colons, so it gets the replies in that form; a reply then has a few tokens more or less.
"""

from __future__ import annotations

import importlib
import os
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.harness import Session, main

glrmask: Any = importlib.import_module("glrmask")


class Glrmask:
    """``ConstraintState`` over ``Constraint``."""

    style = "spaced"

    def __init__(self, fast_compile: bool) -> None:
        self.strategy = glrmask.MaskStrategy.FAST_COMPILE if fast_compile else glrmask.MaskStrategy.AUTO

    def versions(self) -> dict[str, str]:
        return {"glrmask": version("glrmask")}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        self.vocabulary = glrmask.Vocab.from_id_to_bytes({i: piece for i, piece in enumerate(pieces) if piece})
        self.bits = np.zeros(-(-len(pieces) // 32), np.int32)

    def forget(self) -> None:
        """A constraint shares nothing with others."""

    def compile(self, row: dict[str, Any]) -> Any:
        return glrmask.Grammar.from_json_schema(row["schema"]).compile(self.vocabulary, mask_strategy=self.strategy)

    def start(self, compiled: Any) -> Session:
        state = compiled.start()

        def count() -> int:
            return int(np.bitwise_count(self.bits.view(np.uint32)).sum())

        return Session(partial(state.fill_mask, self.bits), state.commit_token, count, state.is_accepting)


if __name__ == "__main__":
    main(Glrmask(bool(os.environ.get("FAST_COMPILE"))))
