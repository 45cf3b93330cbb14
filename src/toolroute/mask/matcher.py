"""One reply under way: a route, a vocabulary and a cap. No model, no clock, no I/O.

The cap is hard, and the reply is complete within it. For every state a *closing sequence* is known, the tokens of its shortest
completion. With ``r`` tokens left, a token is allowed only if the closing sequence after it fits in ``r − 1``. That holds at the
start (or ``CapTooSmall``), and the first token of the current closing sequence always keeps it, so there is always an allowed token
and every reply ends complete. A fresh closing sequence may be longer than what is left of the one before; the shorter of the two is
kept, which is what makes the invariant hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from ..errors import CapTooSmall, DeadEnd, TokenRejected
from ..grammar import State
from ..vocab import Vocabulary
from .budget import fits, within, worst
from .table import MaskTable, Tokenize, dead_end
from .token_mask import TokenMask

StopReason = Literal["complete", "cap"]


class HasStart(Protocol):
    """What a matcher needs of a route."""

    @property
    def start(self) -> State: ...


class Matcher:
    """The state of one reply.

    ``cap``: tokens the reply may have, forced ones included, its end token not (None: no cap); ``tokenize``: the model's own
    tokenizer (bytes → ids), used for forced runs. Raises ``CapTooSmall`` with the number needed, and ``VocabularyError`` where the
    vocabulary cannot spell the shortest reply.
    """

    def __init__(self, route: HasStart, vocabulary: Vocabulary, cap: int | None = None, tokenize: Tokenize | None = None) -> None:
        self.route, self.vocabulary, self.cap = route, vocabulary, cap
        self.table = MaskTable.of(vocabulary)
        self._tokenize = tokenize
        self._entry = self.table.entry(route.start)
        self._closing: tuple[int, ...] = ()
        self._history: list[tuple[int, State, tuple[int, ...], bool]] = []
        self._ended = False
        self.capped = False
        """Whether the cap has changed a choice; set by whoever chooses, see ``refused_by_cap``."""
        if cap is not None:
            self._closing = vocabulary.spell(route.start.closing())
            if len(self._closing) > cap:
                raise CapTooSmall(needed=len(self._closing), given=cap)

    # -- where the reply stands ------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._entry.state

    @property
    def tokens(self) -> list[int]:
        """The tokens accepted so far."""
        return [token for token, _, _, _ in self._history]

    @property
    def text(self) -> bytes:
        """The bytes accepted so far."""
        pieces = self.vocabulary.pieces
        return b"".join(pieces[token] for token, _, _, _ in self._history)

    @property
    def is_accepting(self) -> bool:
        """Whether the reply may end here."""
        return self._entry.state.view.accepts

    @property
    def is_complete(self) -> bool:
        """Whether the reply must end here: it may, and nothing may follow."""
        view = self._entry.state.view
        return view.accepts and not view.edges and not view.wide

    @property
    def is_terminated(self) -> bool:
        """Whether an end token was accepted."""
        return self._ended

    @property
    def tokens_left(self) -> int | None:
        """Tokens the cap still allows (None: no cap)."""
        return None if self.cap is None else self.cap - len(self._history)

    @property
    def stop_reason(self) -> StopReason | None:
        """None while the reply is under way; then ``"cap"`` where the cap changed a choice, else ``"complete"``."""
        if not (self._ended or self.is_complete):
            return None
        return "cap" if self.capped else "complete"

    # -- what may come next ----------------------------------------------------------------------------------------------------

    def mask(self) -> TokenMask:
        """Exactly the tokens that may come next, under the language and the cap. Empty once terminated.

        An empty mask before that means that the vocabulary cannot spell what must come (see ``dead_end``).
        """
        if self._ended:
            return TokenMask.of(self.vocabulary.size, ())
        if self.cap is None:
            known = self._entry.mask
            return self.table.mask(self._entry) if known is None else known
        left = self.cap - len(self._history)
        if worst(self.table, self._entry) <= left - 1:
            return self.table.mask(self._entry)
        return within(self.table, self._entry, left - 1, self._closing[0] if self._closing else None)

    def language_mask(self) -> TokenMask:
        """The tokens that the language allows, whatever the cap says (shared; the matcher's state decides which)."""
        return TokenMask.of(self.vocabulary.size, ()) if self._ended else self.table.mask(self._entry)

    def allows(self, token: int) -> bool:
        """Whether ``token`` may come next; the same answer as ``mask().allows(token)``, without a mask."""
        return self._next(token) is not None

    def refused_by_cap(self, token: int) -> bool:
        """Whether the language allows ``token`` here and only the cap does not."""
        if self._ended or not 0 <= token < self.vocabulary.size:
            return False
        return self.table.step(self._entry, token) is not None and self._next(token) is None

    def forced(self) -> tuple[int, ...]:
        """The tokens that must come next, as the model's own tokenizer writes them; () where there is a choice, or at the end."""
        if self._ended:
            return ()
        left = self._history[-1][0] if self._history else None
        run = self.table.forced(self._entry, left, self._tokenize)
        budget = self.tokens_left
        if budget is None or not run:
            return run
        state: State | None = self.state
        for token in run:
            state = None if state is None else self.table.step(self.table.entry(state), token)
        if state is not None and fits(self.table, state, budget - len(run)):
            return run
        # Near the cap the forced text still has to come, in fewer tokens.
        size = sum(len(self.vocabulary.pieces[token]) for token in run)
        return self._prefix(self._closing, size)

    def _prefix(self, tokens: Sequence[int], size: int) -> tuple[int, ...]:
        """As many of ``tokens`` as stay within the first ``size`` bytes."""
        count = 0
        for token in tokens:
            size -= len(self.vocabulary.pieces[token])
            if size < 0:
                break
            count += 1
        return tuple(tokens[:count])

    def _next(self, token: int) -> tuple[State, tuple[int, ...], bool] | None:
        """State, closing sequence and end flag after ``token``; None where it is not allowed."""
        if self._ended or not 0 <= token < self.vocabulary.size:
            return None
        if token in self.vocabulary.eog:
            return (self.state, (), True) if self.is_accepting else None
        state = self.table.step(self._entry, token)
        if state is None:
            return None
        left = self.tokens_left
        if left is None:
            return state, (), False
        inherited = self._closing[1:] if self._closing and self._closing[0] == token else None
        if inherited is None and state.least > (left - 1) * self.vocabulary.longest:
            return None  # not even with the longest tokens
        fresh = self.table.closing(self.table.entry(state))
        best = inherited if fresh is None or (inherited is not None and len(inherited) < len(fresh)) else fresh
        return None if best is None or len(best) > left - 1 else (state, best, False)

    # -- moving ----------------------------------------------------------------------------------------------------------------

    def accept(self, token: int) -> None:
        """Take ``token``. Raises ``TokenRejected``, and changes nothing, where it is not allowed."""
        if self.cap is None and not self._ended and (known := self._entry.next.get(token)) is not None:
            self._history.append((token, self._entry.state, self._closing, self.capped))
            self._entry = self.table.entry(known)
            return
        after = self._next(token)
        if after is None:
            reason = "would not leave room to finish within the cap" if self.refused_by_cap(token) else "is not allowed here"
            raise TokenRejected(token, allowed=self.mask().ids()[:16].tolist(), reason=reason)
        state, closing, ended = after
        self._history.append((token, self.state, self._closing, self.capped))
        if ended:
            self._history.pop()
            self._ended = True
            return
        self._closing = closing
        self._entry = self.table.entry(state)

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens (an accepted end token is one). Raises ``ValueError`` for more than there are."""
        if not 0 <= count <= len(self._history) + self._ended:
            raise ValueError(f"cannot take back {count} of {len(self._history) + self._ended} tokens")
        if count and self._ended:
            self._ended = False
            count -= 1
        for _ in range(count):
            _, state, self._closing, self.capped = self._history.pop()
            self._entry = self.table.entry(state)

    def copy(self) -> Matcher:
        """An independent matcher in the same state."""
        twin = object.__new__(Matcher)
        twin.__dict__.update(self.__dict__)
        twin._history = self._history.copy()
        return twin

    def dead_end(self) -> DeadEnd:
        """The error for a place where ``mask()`` is empty."""
        return dead_end(self.state, self.vocabulary, self.text)
