"""maskforge: byte automata and a structured matcher, in Rust. Its texts may have blanks wherever JSON may."""

from __future__ import annotations

import importlib
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.harness import Session, main

maskforge: Any = importlib.import_module("maskforge")


class Maskforge:
    """``Session`` over a ``BoundSchema``. It knows one end token, and takes the first."""

    style = "compact"

    def versions(self) -> dict[str, str]:
        return {"maskforge": version("maskforge")}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        self.vocabulary = maskforge.Vocabulary.from_id_ordered_tokens([piece or None for piece in pieces], eos_token_id=eog[0])

    def forget(self) -> None:
        """The compiler keeps nothing."""

    def compile(self, row: dict[str, Any]) -> Any:
        return maskforge.Compiler.without_cache().compile(row["schema"]).bind(self.vocabulary)

    def start(self, compiled: Any) -> Session:
        session = compiled.start_session()
        bits = bytearray(4 * compiled.mask_word_count)

        def count() -> int:
            return int(np.bitwise_count(np.frombuffer(bits, np.uint8)).sum())

        return Session(partial(session.write_mask, bits), session.advance, count, lambda: bool(session.is_accepting))


if __name__ == "__main__":
    main(Maskforge())
