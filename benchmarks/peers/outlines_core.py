"""outlines-core: the schema as one regular expression, and that as one automaton over tokens, in Rust.

Its texts may have a blank wherever JSON may have blanks.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.harness import Session, main

outlines_core: Any = importlib.import_module("outlines_core")
json_schema: Any = importlib.import_module("outlines_core.json_schema")


class OutlinesCore:
    """``Guide`` over an ``Index``. It knows one end token, and takes the first."""

    style = "compact"

    def versions(self) -> dict[str, str]:
        return {"outlines-core": version("outlines-core")}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        tokens: dict[bytes, list[int]] = {}
        for token, piece in enumerate(pieces):
            if piece:
                tokens.setdefault(piece, []).append(token)
        self.vocabulary = outlines_core.Vocabulary(eog[0], tokens)
        self.bits = np.zeros(-(-len(pieces) // 32), np.int32)

    def forget(self) -> None:
        """An index shares nothing with others."""

    def compile(self, row: dict[str, Any]) -> Any:
        return outlines_core.Index(json_schema.build_regex_from_schema(row["schema"]), self.vocabulary)

    def start(self, compiled: Any) -> Session:
        guide = outlines_core.Guide(compiled)
        pointer, size = self.bits.ctypes.data, self.bits.size

        def mask() -> None:
            guide.write_mask_into(pointer, size, 4)

        def accept(token: int) -> None:
            guide.advance(token, False)

        return Session(mask, accept, lambda: int(np.bitwise_count(self.bits.view(np.uint32)).sum()), guide.is_finished)


if __name__ == "__main__":
    main(OutlinesCore())
