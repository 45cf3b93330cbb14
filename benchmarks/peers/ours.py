"""toolroute. With ``BITMASK=1`` every mask is also written out as a bit mask, as the other engines give it; ``CAP=n``: at most n tokens."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.peers.harness import Session, main
from toolroute.grammar import expr, numbers
from toolroute.mask import MaskTable, Matcher
from toolroute.mask.strings import Reading
from toolroute.route.ecma import compile_pattern
from toolroute.route.validate import argument_validator
from toolroute.schema import Route, compile_route
from toolroute.schema import compile as compiling
from toolroute.vocab import Vocabulary


class Ours:
    """The engine under test."""

    style = "compact"

    def __init__(self, bitmask: bool = False, cap: int | None = None) -> None:
        self.bitmask, self.cap = bitmask, cap
        self.vocabulary = Vocabulary([], frozenset())
        self.readings: dict[bool, dict[tuple[int, int, int], Reading]] = {}

    def versions(self) -> dict[str, str]:
        import numpy

        import toolroute

        return {"toolroute": toolroute.__version__, "numpy": numpy.__version__}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        self.vocabulary = Vocabulary.from_tokens(pieces, eog)
        table = MaskTable.of(self.vocabulary).prepare()
        self.readings = {strict: dict(strings._readings) for strict, strings in table.strings.items()}

    def forget(self) -> None:
        """Leave what a fresh process has after ``prepare``: the vocabulary, its readings as string text, and the package's constants."""
        old = MaskTable.of(self.vocabulary)
        table = self.vocabulary.memo["masks"] = MaskTable(self.vocabulary)
        table.strings, table._texts = old.strings, old._texts
        for strict, strings in table.strings.items():
            strings._readings = dict(self.readings[strict])
        compiling._memo.clear()
        compile_pattern.cache_clear()
        argument_validator.cache_clear()
        expr._forget()
        for function in (numbers.integer, numbers.number):
            function.cache_clear()
            function()

    def compile(self, row: dict[str, Any]) -> Route:
        return compile_route(row["tools"], style="compact")

    def start(self, compiled: Route) -> Session:
        matcher = Matcher(compiled, self.vocabulary, self.cap)

        def count() -> int:
            return len(matcher.mask())

        def bitmask() -> object:
            return matcher.mask().bitmask()

        return Session(bitmask if self.bitmask else matcher.mask, matcher.accept, count, lambda: matcher.is_accepting)


if __name__ == "__main__":
    main(Ours(bool(os.environ.get("BITMASK")), int(os.environ["CAP"]) if "CAP" in os.environ else None))
