"""Masks by hand over the vocabulary of ``test_vocabulary``, and the forms of a mask against one another."""

from __future__ import annotations

import numpy as np
import pytest
from test_vocabulary import PIECES

from toolroute.grammar import END, State
from toolroute.grammar.expr import Node, choice, cons, lit, seq, tree, union
from toolroute.grammar.objects import Free, Member, object_node
from toolroute.grammar.strings import string
from toolroute.grammar.style import COMPACT
from toolroute.mask import MaskTable, TokenMask
from toolroute.vocab import Vocabulary


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens(PIECES, eog={0}, control={24})


def start(node: Node, k: State = END) -> State:
    state = cons(node, k)
    assert state is not None
    return state


def allowed(vocabulary: Vocabulary, state: State) -> list[int]:
    table = MaskTable.of(vocabulary)
    return table.mask(table.entry(state)).ids().tolist()


AB = seq(lit(b"{"), tree(((b'"a"', lit(b":")), (b'"ab"', lit(b":")))), lit(b"true}"))


def at(state: State, text: bytes) -> State:
    for byte in text:
        state = state.step(byte)  # type: ignore[assignment]
    return state


@pytest.mark.parametrize(
    ("prefix", "ids"),
    [
        (b"", [2, 16]),
        (b"{", [7]),
        (b'{"', [9, 11, 17]),
        (b'{"a', [7, 10, 15]),
        (b'{"ab', [7, 15]),
        (b'{"ab":', [18]),
        (b'{"ab":true', [3]),
        (b'{"ab":true}', [0]),
    ],
)
def test_names(vocabulary: Vocabulary, prefix: bytes, ids: list[int]) -> None:
    assert allowed(vocabulary, at(start(AB), prefix)) == ids


INSIDE = [2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 17, 18, 21, 23]
CLOSED = [*INSIDE, 16]  # { is the last character, and the quote closes


@pytest.mark.parametrize(
    ("low", "high", "ids"),
    [
        (0, None, sorted([*CLOSED, 7])),
        (1, None, sorted(CLOSED)),
        (0, 1, [2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 21, 23]),
        (0, 2, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 17, 21, 23]),
        (0, 3, sorted({*CLOSED, 7} - {18})),
        (0, 0, [7]),
        (2, 2, [2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 17, 21, 23]),
    ],
)
def test_string_bodies(vocabulary: Vocabulary, low: int, high: int | None, ids: list[int]) -> None:
    assert allowed(vocabulary, at(start(string(low, high)), b'"')) == ids


def test_leaving_a_string(vocabulary: Vocabulary) -> None:
    inside = at(start(seq(string(), lit(b"}"))), b'"')
    assert allowed(vocabulary, inside) == sorted([*CLOSED, 7, 14])
    assert allowed(vocabulary, at(start(seq(string(), lit(b":"))), b'"')) == sorted([*CLOSED, 7, 15])
    assert allowed(vocabulary, at(start(seq(string(1), lit(b"}"))), b'"')) == sorted(CLOSED)


def test_within_a_character(vocabulary: Vocabulary) -> None:
    assert allowed(vocabulary, at(start(string()), b'"\xc3')) == [22]
    assert allowed(vocabulary, at(start(string()), b'"\xe2')) == [22]
    assert allowed(vocabulary, at(start(string()), b'"\xed')) == []  # a9 would make a surrogate
    assert allowed(vocabulary, at(start(string()), b'"\\')) == [7, 10, 13, 14, 15, 18]  # \" or \b or \t, and what may follow
    assert allowed(vocabulary, at(start(string()), b'"\\u')) == [9, 10, 11, 12, 13, 17]


def test_free_names(vocabulary: Vocabulary) -> None:
    members = (Member(b'"a"', lit(b"true"), False),)
    state = start(object_node(members, (Free(None, lit(b"true")),), COMPACT))
    assert allowed(vocabulary, at(state, b'{"a')) == sorted([*CLOSED, 7, 15])  # after the declared one, and in a free name that goes on
    assert allowed(vocabulary, at(state, b'{"a":true,"')) == sorted([*CLOSED, 7, 15])
    assert allowed(vocabulary, at(state, b'{"a":true,"a')) == sorted(CLOSED)  # taken: the name cannot end here
    assert allowed(vocabulary, at(state, b'{"a":true,"b":true,"b')) == sorted(CLOSED)
    assert allowed(vocabulary, at(state, b'{"b":true,"b')) == sorted(CLOSED)


def test_unions(vocabulary: Vocabulary) -> None:
    state = union((start(string(0, 1)), start(lit(b'"abc"')), start(lit(b"true"))))
    assert allowed(vocabulary, state) == [7, 14, 15, 18]
    assert allowed(vocabulary, at(state, b'"')) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 17, 21, 23]
    both = union((at(start(string(0, 1)), b'"'), at(start(seq(string(0, 2), lit(b"}"))), b'"')))
    assert allowed(vocabulary, both) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 21, 23]


def test_end_tokens_only_where_the_text_may_end(vocabulary: Vocabulary) -> None:
    several = Vocabulary.from_tokens(["a", "b", "<e>", "<f>", "ab"], eog={2, 3})
    state = start(seq(lit(b"a"), choice((lit(b""), lit(b"b")))))
    assert allowed(several, state) == [0, 4] and allowed(several, at(state, b"a")) == [1, 2, 3] and allowed(several, END) == [2, 3]


def test_masks_are_computed_once(vocabulary: Vocabulary) -> None:
    table = MaskTable(vocabulary)
    entry = table.entry(at(start(string()), b'"'))
    first = table.mask(entry)
    assert table.mask(table.entry(entry.state)) is first and table.computed == 1
    assert table.fresh(entry.state).ids().tolist() == first.ids().tolist()


# -- the forms of a mask -------------------------------------------------------------------------------------------------------


def masks(vocabulary: Vocabulary) -> list[TokenMask]:
    table = MaskTable.of(vocabulary)
    states = [
        start(AB),
        at(start(AB), b'{"a'),
        END,
        at(start(string()), b'"'),
        at(start(string(0, 2)), b'"'),
        at(start(string(1, 1)), b'"'),
    ]
    states += [at(start(string()), b'"\xed'), union((at(start(string(0, 1)), b'"'), at(start(seq(string(0, 2), lit(b"}"))), b'"')))]
    found = [table.mask(table.entry(state)) for state in states]
    return [*found, TokenMask.of(vocabulary.size, ()), TokenMask.of(vocabulary.size, range(26)), TokenMask.of(vocabulary.size, (25, 3, 3))]


def test_forms_agree(vocabulary: Vocabulary) -> None:
    random = np.random.default_rng(0)
    for mask in masks(vocabulary):
        ids = mask.ids().tolist()
        assert ids == sorted(set(ids)) and mask.ids().dtype == np.int32 and len(mask) == len(ids)
        assert [i for i in range(-3, 40) if mask.allows(i)] == ids
        words = mask.bitmask()
        assert words.dtype == np.uint32 and words.shape == (1,)
        assert [i for i in range(32) if words[i // 32] >> (i % 32) & 1] == ids
        for _ in range(20):
            row = random.normal(size=26).astype(np.float32)
            kept = row.copy()
            mask.apply(kept)
            assert [i for i in range(26) if np.isfinite(kept[i])] == ids
            assert all(kept[i] == row[i] for i in ids)
            if ids:
                assert mask.best(row.copy()) == max(ids, key=lambda i: (row[i], -i))


def test_ties_go_to_the_lowest_id(vocabulary: Vocabulary) -> None:
    for mask in masks(vocabulary):
        if len(mask):
            assert mask.best(np.zeros(26, np.float32)) == mask.ids()[0]


@pytest.mark.parametrize("size", [1, 31, 32, 33, 64, 100])
def test_bitmask_words(size: int) -> None:
    mask = TokenMask.of(size, {0, size - 1, size // 2})
    words = mask.bitmask()
    assert len(words) == -(-size // 32)
    assert {i for i in range(len(words) * 32) if int(words[i // 32]) >> (i % 32) & 1} == {0, size - 1, size // 2}
