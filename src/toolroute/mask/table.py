"""Masks, steps and forced runs of states over one vocabulary, each computed once.

Everything here is keyed by the state *object*. States are residuals shared by all routes that reach them, so what one request
computed serves the next, also when tools were added, dropped or narrowed in between; nothing is ever invalidated. Memory is bounded
by keeping two generations: a look-up moves an entry into the young one, and when that is full the old one is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ..errors import DeadEnd, VocabularyError
from ..grammar.automaton import advance, forced
from ..grammar.expr import Alt, Lit, State, cons
from ..grammar.strings import QUOTE, Body, KeyBody, body
from ..grammar.text import Name, Spelling
from ..vocab import Vocabulary
from .languages import Contents, Groups, groups
from .strings import Ints, Reading, StringTable
from .token_mask import TokenMask, distinct
from .walk import Texts, walk

Tokenize = Callable[[bytes], "list[int]"]

MAX_ENTRIES: Final = 4_096
"""States per generation (count). An entry holds the state's mask (mostly < 1 kB; within a string up to some 10 kB) and its steps."""

MAX_STEPS: Final = 1_024
"""Steps remembered per state (count, some 100 B each); beyond it they are forgotten and computed again."""

CHOP: Final = 4
"""Tokens at the end of a forced run that may be taken back, so that a longer token can be chosen there (count)."""

_UNLIMITED: Final = 0xFFFE
_UNKNOWN: Final = (-1,)  # a closing sequence that was not asked for yet


class Entry:
    """What is known of one state over one vocabulary."""

    __slots__ = ("closing", "forced", "mask", "next", "state", "worst")

    def __init__(self, state: State) -> None:
        self.state = state
        self.mask: TokenMask | None = None
        self.next: dict[int, State | None] = {}
        self.forced: dict[tuple[int | None, Tokenize | None], tuple[int, ...]] = {}
        self.closing: tuple[int, ...] | None = _UNKNOWN
        self.worst: int | None = None


class MaskTable:
    """The memo for one vocabulary. ``computed``: masks computed so far, for tests and reports."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.strings: dict[bool, StringTable] = {}
        self._contents: dict[tuple[int, int, int], Contents] = {}
        self._texts: Texts | None = None
        self._young: dict[State, Entry] = {}
        self._old: dict[State, Entry] = {}
        self._closings: dict[bytes, tuple[int, ...] | None] = {}
        self.computed = 0
        self._prepared = False

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> MaskTable:
        """The shared table of ``vocabulary``."""
        table: MaskTable = vocabulary.memo.get("masks") or vocabulary.memo.setdefault("masks", cls(vocabulary))
        return table

    def prepare(self) -> MaskTable:
        """Read the vocabulary's tokens as string text now (0.1–0.5 s) instead of at the first string."""
        if not self._prepared:
            ranges = list(self.texts.after(QUOTE))
            for strict in (False, True):
                table = self.string_table(strict)
                for low, high, depth in ranges:
                    table.reading(low, high, depth)
            self._prepared = True
        return self

    @property
    def texts(self) -> Texts:
        """The texts of the vocabulary, ready for walks."""
        if self._texts is None:
            self._texts = Texts(self.vocabulary.texts)
        return self._texts

    def string_table(self, strict: bool) -> StringTable:
        """The string readings of the vocabulary; ``strict``: for free member names."""
        table = self.strings.get(strict)
        if table is None:
            table = self.strings[strict] = StringTable(self.vocabulary, strict)
        return table

    def entry(self, state: State) -> Entry:
        """The entry of ``state``, made when first asked for."""
        found = self._young.get(state)
        if found is None:
            found = self._old.get(state) or Entry(state)
            if len(self._young) >= MAX_ENTRIES:
                self._old, self._young = self._young, {}
            self._young[state] = found
        return found

    # -- steps -----------------------------------------------------------------------------------------------------------------

    def step(self, entry: Entry, token: int) -> State | None:
        """The state after ``token`` (an id of the vocabulary; end tokens have no bytes and lead nowhere)."""
        try:
            return entry.next[token]
        except KeyError:
            piece = self.vocabulary.pieces[token]
            after = advance(entry.state, piece) if piece else None
            if len(entry.next) >= MAX_STEPS:
                entry.next.clear()
            entry.next[token] = after
            return after

    # -- masks -----------------------------------------------------------------------------------------------------------------

    def mask(self, entry: Entry) -> TokenMask:
        """Precisely the tokens that the language allows in this state; end tokens where the text may end here."""
        if entry.mask is None:
            entry.mask = self._mask(entry.state)
        return entry.mask

    def _mask(self, state: State) -> TokenMask:
        node = state.node
        if isinstance(node, Body):
            # Beyond the longest token the exact bounds make no difference: states with long bounds share their masks.
            longest = self.string_table(node.strict).reach + 1
            high = None if node.high is None or node.high >= longest else node.high
            low = min(node.low, longest)
            shared = cons(body(low, high, node.strict), state.k)
            if shared is not None and shared.node is not node:
                return self.mask(self.entry(shared))
        return self.fresh(state)

    def fresh(self, state: State) -> TokenMask:
        """``mask``, computed anew from the vocabulary."""
        self.computed += 1
        if isinstance(state.node, Alt):
            masks = [self.mask(self.entry(member)) for member in state.node.states]
            extra = distinct([mask.extra for mask in masks])
            limits: dict[StringTable, int] = {}
            for mask in masks:
                for table, limit in mask.dense:
                    limits[table] = max(limit, limits.get(table, 0))
            return TokenMask(self.vocabulary.size, extra, tuple(limits.items()))
        found: list[int] = []
        arrays: list[Ints] = []
        dense: list[tuple[StringTable, int]] = []
        count = len(self.vocabulary.texts)

        def wide(leaf: State, low: int, high: int, depth: int) -> None:
            node = leaf.node
            if isinstance(node, Spelling):
                inside, leaving = self._spelled(leaf, low, high, depth)
                arrays.extend([*inside.positions, *leaving])
                return
            table = self.string_table(isinstance(node, KeyBody) or node.strict)  # type: ignore[attr-defined]
            reading = table.reading(low, high, depth)
            limit = _UNLIMITED if isinstance(node, KeyBody) or node.high is None else node.high  # type: ignore[attr-defined]
            if depth == 0:
                dense.append((table, limit))
            else:
                arrays.append(reading.inside if limit == _UNLIMITED else reading.inside[reading.needs <= limit])
            arrays.extend(self._leaving(leaf, reading, depth))

        walk(self.texts, state, 0, count, b"", found, wide)
        ids = self.vocabulary.ids
        if found:
            arrays.append(np.array(list(set(found)), np.int32))
        parts = [ids[array] for array in arrays]
        if state.node.__class__ is not Lit and state.view.accepts:
            parts.append(np.fromiter(self.vocabulary.eog, np.int32))
        if len(parts) == 1:
            parts[0].sort()  # each of them lists a token once
        return TokenMask(self.vocabulary.size, parts[0] if len(parts) == 1 else distinct(parts), tuple(dense))

    def _leaving(self, leaf: State, reading: Reading, depth: int) -> list[Ints]:
        """Positions of the tokens that close the string of ``leaf`` and go on as its continuation allows."""
        node = leaf.node
        live = self._live_rests(leaf, reading)
        if isinstance(node, KeyBody):
            return [self._free_names(leaf, reading, i, reading.leaving[i], depth) for i in live]
        if node.low == 0 and node.high is None:  # type: ignore[attr-defined]
            return [reading.leaving[i] for i in live]
        low, high = node.low, _UNLIMITED if node.high is None else node.high  # type: ignore[attr-defined]
        return [reading.leaving[i][(reading.before[i] >= low) & (reading.before[i] <= high)] for i in live]

    def _live_rests(self, leaf: State, reading: Reading) -> list[int]:
        """The numbers of those of ``reading.rests`` that what follows the text of ``leaf`` admits."""
        rests = reading.rests.texts
        if not rests:
            return []
        node = leaf.node
        after = cons(node.members.after(node.prefix), leaf.k) if isinstance(node, KeyBody | Name) else leaf.k
        if after is None:
            return []
        live: list[int] = [] if rests[0] else [0]

        def wide(inner: State, low: int, high: int, at: int) -> None:
            live.extend(i for i in range(low, high) if advance(inner, rests[i][at:]) is not None)

        walk(reading.rests, after, len(live), len(rests), b"", live, wide)
        return live

    def _spelled(self, leaf: State, low: int, high: int, depth: int) -> tuple[Groups, list[Ints]]:
        """The tokens in a range that a text in a regular language admits: those that stay in it, and those that leave it."""
        strings = self.string_table(True)
        reading, texts = strings.reading(low, high, depth), self.vocabulary.texts
        key = (low, high, depth)
        contents = self._contents.get(key)
        if contents is None:
            contents = self._contents[key] = Contents(reading, texts, depth)
        found = groups(leaf, contents, reading, texts, depth)
        live = self._live_rests(leaf, reading)
        if isinstance(leaf.node, Name):
            return found, [self._free_names(leaf, reading, i, found.leaving[i], depth) for i in live]
        return found, [found.leaving[i] for i in live]

    def staying(self, leaf: State) -> Groups:
        """The tokens that stay within the text of ``leaf``, by the state after them."""
        return self._spelled(leaf, 0, len(self.vocabulary.texts), 0)[0]

    def _free_names(self, leaf: State, reading: Reading, i: int, leaving: Ints, depth: int) -> Ints:
        """Those of ``leaving``, which have ``reading.rests[i]`` after the quote, that do not close a name which is taken.

        A rest with another closed name in it depends on this one, so its tokens are tried one by one; else only the taken names are.
        """
        texts = self.vocabulary.texts
        node = leaf.node
        assert isinstance(node, KeyBody | Name)
        rest = reading.rests.texts[i]
        if rest.count(b'"') < 2:
            taken = {name[len(node.prefix) :] for name in node.members.used if name.startswith(node.prefix)}
            if not taken:
                return leaving
            size = len(rest) + 1
            return leaving[np.array([texts[t][depth:-size] not in taken for t in leaving], np.bool_)]
        return leaving[np.array([advance(leaf, texts[t][depth:]) is not None for t in leaving], np.bool_)]

    # -- the end of a reply ----------------------------------------------------------------------------------------------------

    def closing(self, entry: Entry) -> tuple[int, ...] | None:
        """Tokens that complete the reply from this state, as few as longest match finds; None where the vocabulary cannot spell them."""
        if entry.closing is _UNKNOWN:
            text = entry.state.closing()
            if text not in self._closings:
                if len(self._closings) >= MAX_ENTRIES:
                    self._closings.clear()
                try:
                    self._closings[text] = self.vocabulary.spell(text)
                except VocabularyError:
                    self._closings[text] = None
            entry.closing = self._closings[text]
        return entry.closing

    # -- forced runs -----------------------------------------------------------------------------------------------------------

    def forced(self, entry: Entry, left: int | None, tokenize: Tokenize | None) -> tuple[int, ...]:
        """The tokens that must come next, as the model's own tokenizer writes them after token ``left``; () where there is a choice.

        ``tokenize``: bytes to ids (None: longest match). A tokenizer that does not give the bytes back forces nothing.
        """
        key = (left, tokenize)
        run = entry.forced.get(key)
        if run is None:
            run = entry.forced[key] = self._forced(entry.state, left, tokenize)
        return run

    def _forced(self, state: State, left: int | None, tokenize: Tokenize | None) -> tuple[int, ...]:
        text, after = forced(state)
        if not text:
            return ()
        pieces = self.vocabulary.pieces
        try:
            if tokenize is None:
                run = list(self.vocabulary.spell(text))
            else:
                context = pieces[left] if left is not None else b""
                run = tokenize(context + text)
                if context and run and run[0] == left:
                    run = run[1:]
                elif context:
                    run = tokenize(text)
        except VocabularyError:  # then the place where no token goes on is the dead end, with what was written before it
            return ()
        written = [pieces[token] for token in run]
        if b"".join(written) != text or not all(written):  # a token without bytes (one that opens a text, say) is not forced
            return ()
        return tuple(self._chop(run, after))

    def _chop(self, run: list[int], after: State) -> list[int]:
        """``run`` without the tail that a longer token could span, so that the model chooses there and not the boundary."""
        if after.view.accepts:
            return run
        texts = self.vocabulary.texts
        tail = b""
        cut = len(run)
        for i in range(len(run) - 1, max(len(run) - 1 - CHOP, -1), -1):
            tail = self.vocabulary.pieces[run[i]] + tail
            low, high = self.vocabulary.range(tail)
            while low < high and len(texts[low]) == len(tail):
                low += 1
            if low < high and self._any(after, low, high, tail):
                cut = i
        return run[:cut]

    def _any(self, state: State, low: int, high: int, prefix: bytes) -> bool:
        """Whether a text in the range keeps ``state`` live after ``prefix``."""
        hits: list[int] = []

        def wide(leaf: State, low: int, high: int, depth: int) -> None:
            node = leaf.node
            if isinstance(node, Spelling):
                inside, leaving = self._spelled(leaf, low, high, depth)
                if inside.positions or any(len(array) for array in leaving):
                    hits.append(low)
                return
            reading = self.string_table(isinstance(node, KeyBody) or node.strict).reading(low, high, depth)  # type: ignore[attr-defined]
            limit = _UNLIMITED if isinstance(node, KeyBody) or node.high is None else node.high  # type: ignore[attr-defined]
            if bool((reading.needs <= limit).any()) or any(len(array) for array in self._leaving(leaf, reading, depth)):
                hits.append(low)

        walk(self.texts, state, low, high, prefix, hits, wide)
        return bool(hits)


def dead_end(state: State, vocabulary: Vocabulary, prefix: bytes) -> DeadEnd:
    """The error for a state that no token continues."""
    single = {piece[0] for piece in vocabulary.texts if len(piece) == 1}
    return DeadEnd("no token of the vocabulary is allowed", prefix=prefix, missing_bytes=set(state.view.edges) - single)
