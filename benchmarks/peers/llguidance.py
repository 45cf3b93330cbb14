"""llguidance: an Earley parser over derivative-based lexemes, in Rust; masks by one walk of the token trie.

It gets the model's own tokenizer through its bridge to llama.cpp, as its users have it. Where only one token can come, its mask is
that token. A matcher that refused a token stays in error, also after a reset: with ``COPY=1`` each reply gets a fresh copy.
"""

from __future__ import annotations

import importlib
import os
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.harness import Session, main

llguidance: Any = importlib.import_module("llguidance")
bridge: Any = importlib.import_module("llguidance.llamacpp")
lib: Any = importlib.import_module("llama_cpp")


class Llguidance:
    """``LLMatcher`` over the prepared ``LLTokenizer``."""

    style = "compact"

    def __init__(self, copy: bool) -> None:
        self.copy = copy

    def versions(self) -> dict[str, str]:
        return {"llguidance": version("llguidance"), "llama-cpp-python": version("llama-cpp-python")}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        self.log = lib.llama_log_callback(lambda level, text, data: None)
        lib.llama_log_set(self.log, None)
        params = lib.llama_model_default_params()
        params.vocab_only = True
        self.model = lib.llama_model_load_from_file(model.encode(), params)
        self.tokenizer = bridge.lltokenizer_from_vocab(lib.llama_model_get_vocab(self.model), eos_token=eog)
        self.bits = np.zeros(-(-len(pieces) // 32), np.int32)
        self.where = (self.bits.ctypes.data, self.bits.nbytes)

    def forget(self) -> None:
        """A matcher shares nothing with others."""

    def compile(self, row: dict[str, Any]) -> Any:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(row["schema"], overrides={"whitespace_flexible": False})
        matcher = llguidance.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, compiled: Any) -> Session:
        if self.copy:
            compiled = compiled.deep_copy()
        else:
            compiled.reset()
        fill, (pointer, size) = compiled.unsafe_compute_mask_ptr, self.where

        def mask() -> None:
            fill(pointer, size)

        def count() -> int:
            return int(np.bitwise_count(self.bits.view(np.uint32)).sum())

        return Session(mask, compiled.consume_token, count, compiled.is_accepting)


if __name__ == "__main__":
    main(Llguidance(bool(os.environ.get("COPY"))))
