"""Decoding under llama.cpp's own grammar sampler.

Theory. llama.cpp says of a candidate token whether its grammar admits it, 4 µs for one and milliseconds for a whole vocabulary, and
aborts the process when it is told to accept a token that it does not admit. So the best token is tried alone first, as llama-server does,
and the whole vocabulary only on a miss; and nothing is accepted that was not tried just before. The grammar matches control tokens by
their name, so only tokens that write text, and end tokens, are ever offered to it.

The byte states run along: they know the closing sequence, hence the cap, and what llama.cpp's grammars cannot say (names that are used,
nesting). A reply is therefore in both languages, and has the same cap and the same stop reasons.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from toolroute.engine.model import LOG
from toolroute.errors import EngineError, TokenRejected
from toolroute.mask import Matcher, TokenMask
from toolroute.mask.matcher import HasStart
from toolroute.mask.table import Tokenize
from toolroute.vocab import Vocabulary

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Grammar:
    """One reply's state in a GBNF grammar. ``text``: the grammar. Raises ``EngineError`` where llama.cpp does not take it."""

    def __init__(self, lib: Any, vocab: Any, vocabulary: Vocabulary, text: str) -> None:
        if not text.strip():
            raise EngineError("an empty grammar constrains nothing")
        LOG.clear()
        self._lib = lib
        self._sampler = lib.llama_sampler_init_grammar(vocab, text.encode(), b"root")
        if not self._sampler:
            raise EngineError(f"llama.cpp does not take the grammar: {LOG.reason()}")
        self._size = vocabulary.size
        self._offered = np.union1d(vocabulary.ids, np.fromiter(vocabulary.eog, np.int32)).astype(np.int32)
        self._known = set(self._offered.tolist())

    def allowed(self, tokens: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Those of ``tokens`` that may come next."""
        if not self._sampler:
            raise EngineError("the grammar is closed")
        data = np.zeros(len(tokens), _CANDIDATE)
        data["id"] = tokens
        pointer = data.ctypes.data_as(ctypes.POINTER(self._lib.llama_token_data))
        array = self._lib.llama_token_data_array(data=pointer, size=len(data), selected=-1, sorted=False)
        self._lib.llama_sampler_apply(self._sampler, ctypes.byref(array))
        kept: npt.NDArray[np.bool_] = np.isfinite(data["logit"])
        return tokens[kept]

    def all_allowed(self) -> npt.NDArray[np.int32]:
        """Every token that may come next, sorted."""
        return self.allowed(self._offered)

    def allows(self, token: int) -> bool:
        """Whether ``token`` may come next."""
        return token in self._known and len(self.allowed(np.array([token], np.int32))) == 1

    def accept(self, token: int) -> None:
        """Take ``token``. Raises ``TokenRejected``, and changes nothing, where it is not allowed."""
        if not self.allows(token):
            raise TokenRejected(token, allowed=self.all_allowed()[:16].tolist(), reason="is not in the grammar here")
        self._lib.llama_sampler_accept(self._sampler, token)

    def close(self) -> None:
        """Free the grammar; it takes and says nothing any more."""
        if self._sampler:
            self._lib.llama_sampler_free(self._sampler)
            self._sampler = None


class GrammarMatcher(Matcher):
    """A matcher whose masks come from a ``Grammar``. It does not go back, because llama.cpp's grammars do not."""

    def __init__(
        self, route: HasStart, vocabulary: Vocabulary, cap: int | None, tokenize: Tokenize | None, *, grammar: Grammar
    ) -> None:
        super().__init__(route, vocabulary, cap, tokenize)
        self._grammar = grammar

    def language_mask(self) -> TokenMask:
        return TokenMask.of(self.vocabulary.size, () if self.is_terminated else self._grammar.all_allowed())

    def mask(self) -> TokenMask:
        ours = super().mask()
        if self.is_terminated:
            return ours
        return TokenMask.of(self.vocabulary.size, np.intersect1d(ours.ids(), self._grammar.all_allowed()))

    def allows(self, token: int) -> bool:
        return self._grammar.allows(token) and super().allows(token)

    def accept(self, token: int) -> None:
        if not self._grammar.allows(token):
            raise TokenRejected(token, allowed=self.mask().ids()[:16].tolist(), reason="is not in the grammar here")
        super().accept(token)
        if not self.is_terminated:
            self._grammar.accept(token)

    def rollback(self, count: int) -> None:
        raise EngineError("a reply under a GBNF grammar cannot be taken back")

    def copy(self) -> Matcher:
        raise EngineError("a reply under a GBNF grammar cannot be copied")
