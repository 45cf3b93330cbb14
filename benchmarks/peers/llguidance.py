"""llguidance: an Earley parser over derivative-based lexemes, in Rust; masks by one walk of the token trie."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.harness import Session, main

llguidance: Any = importlib.import_module("llguidance")


class _Tokenizer:
    """What ``llguidance.TokenizerWrapper`` asks for. Never canonical, so that a mask is the whole set of tokens and not one forced token."""

    def __init__(self, tokens: list[bytes], eos: int) -> None:
        self.tokens, self.eos_token_id, self.bos_token_id = tokens, eos, None
        self.special_token_ids: list[int] = []

    def __call__(self, text: bytes) -> list[int]:
        raise ValueError("not needed for masks")


class Llguidance:
    """``LLMatcher`` over the prepared ``LLTokenizer``."""

    def versions(self) -> dict[str, str]:
        return {"llguidance": version("llguidance")}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        # A leading 0xFF marks a token as special, never allowed by its text.
        tokens = [piece or b"\xff<%d>" % i for i, piece in enumerate(pieces)]
        wrapper = llguidance.TokenizerWrapper(_Tokenizer(tokens, eog[0]))
        self.tokenizer = llguidance.LLTokenizer(wrapper, eos_token=eog)
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
        compiled.reset()
        fill, (pointer, size) = compiled.unsafe_compute_mask_ptr, self.where

        def mask() -> None:
            fill(pointer, size)

        return Session(mask, compiled.consume_token, lambda: int(np.bitwise_count(self.bits.view(np.uint32)).sum()))


if __name__ == "__main__":
    main(Llguidance())
