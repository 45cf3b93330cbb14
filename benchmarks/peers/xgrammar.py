"""xgrammar: rules as automata with token masks per automaton state, in C++. With ``DYNAMIC=1`` the masks are made when first needed.

With ``STRICT=0`` a schema means what JSON Schema says: objects that do not say otherwise are open, and members come in any order.
"""

from __future__ import annotations

import importlib
import os
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.harness import Session, main

xgrammar: Any = importlib.import_module("xgrammar")


class Xgrammar:
    """``GrammarMatcher`` over a ``GrammarCompiler`` of one thread."""

    style = "compact"

    def __init__(self, dynamic: bool, strict: bool) -> None:
        self.dynamic, self.strict = dynamic, strict

    def versions(self) -> dict[str, str]:
        return {"xgrammar": version("xgrammar"), "torch": version("torch")}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        self.tokenizer = xgrammar.TokenizerInfo(pieces, xgrammar.VocabType.RAW, vocab_size=len(pieces), stop_token_ids=eog)
        self.bits = xgrammar.allocate_token_bitmask(1, len(pieces))
        self.forget()

    def forget(self) -> None:
        self.compiler = xgrammar.GrammarCompiler(self.tokenizer, max_threads=1, enable_dynamic_compilation=self.dynamic)

    def compile(self, row: dict[str, Any]) -> Any:
        return self.compiler.compile_json_schema(
            row["schema"], any_whitespace=False, separators=(",", ":"), strict_mode=self.strict, any_order=not self.strict
        )

    def start(self, compiled: Any) -> Session:
        matcher = xgrammar.GrammarMatcher(compiled)

        def count() -> int:
            return int(np.bitwise_count(self.bits.numpy().view(np.uint32)).sum())

        return Session(partial(matcher.fill_next_token_bitmask, self.bits), matcher.accept_token, count, matcher.is_completed)


if __name__ == "__main__":
    main(Xgrammar(bool(os.environ.get("DYNAMIC")), os.environ.get("STRICT") != "0"))
