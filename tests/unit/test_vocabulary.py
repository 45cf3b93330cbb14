"""A vocabulary small enough to check by hand.

    id  piece   id  piece     id  piece      id  piece
     0  <end>    7  "          14  "}        21  \\xc3
     1  (none)   8  :          15  ":        22  \\xa9
     2  {        9  a          16  {"        23  é
     3  }       10  b          17  a         24  <ctl>
     4  [       11  ab         18  true      25  \\xff\\xff
     5  ]       12  abc        19  (empty)
     6  ,       13  bc         20  \\xff

0 ends a generation, 24 is a control token, 17 repeats 9. In byte order, the ids that can be written:
``"`` 7, ``":`` 15, ``"}`` 14, ``,`` 6, ``:`` 8, ``[`` 4, ``]`` 5, ``a`` 9 17, ``ab`` 11, ``abc`` 12, ``b`` 10, ``bc`` 13, ``true`` 18,
``{`` 2, ``{"`` 16, ``}`` 3, ``\\xa9`` 22, ``\\xc3`` 21, ``é`` 23, ``\\xff`` 20, ``\\xff\\xff`` 25.
"""

from __future__ import annotations

import pytest

from toolroute.errors import VocabularyError
from toolroute.vocab import Vocabulary, following

PIECES: list[bytes | str | None] = [
    "<end>",
    None,
    "{",
    "}",
    "[",
    "]",
    ",",
    '"',
    ":",
    "a",
    "b",
    "ab",
    "abc",
    "bc",
    '"}',
    '":',
    '{"',
    "a",
    "true",
    "",
    b"\xff",
    b"\xc3",
    b"\xa9",
    "é",
    "<ctl>",
    b"\xff\xff",
]
SORTED = [7, 15, 14, 6, 8, 4, 5, 9, 17, 11, 12, 10, 13, 18, 2, 16, 3, 22, 21, 23, 20, 25]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens(PIECES, eog={0}, control={24})


def test_order(vocabulary: Vocabulary) -> None:
    assert len(PIECES) == vocabulary.size == 26
    assert vocabulary.ids.tolist() == SORTED and vocabulary.ids.dtype.name == "int32"
    assert vocabulary.texts == sorted(vocabulary.texts) == [vocabulary.pieces[i] for i in SORTED]
    assert vocabulary.longest == 4 and vocabulary.eog == {0}


def test_what_is_never_written_has_no_piece(vocabulary: Vocabulary) -> None:
    assert [i for i, piece in enumerate(vocabulary.pieces) if not piece] == [0, 1, 19, 24]
    assert vocabulary.pieces[23] == b"\xc3\xa9"


@pytest.mark.parametrize(
    ("prefix", "ids"),
    [
        (b"", SORTED),
        (b"a", [9, 17, 11, 12]),
        (b"ab", [11, 12]),
        (b"abc", [12]),
        (b"abcd", []),
        (b'"', [7, 15, 14]),
        (b"{", [2, 16]),
        (b"\xff", [20, 25]),
        (b"\xff\xff", [25]),
        (b"\xff\xff\xff", []),
        (b"\xc3", [21, 23]),
        (b"!", []),
        (b"t", [18]),
        (b"<", []),
    ],
)
def test_a_prefix_is_a_range(vocabulary: Vocabulary, prefix: bytes, ids: list[int]) -> None:
    low, high = vocabulary.range(prefix)
    assert vocabulary.ids[low:high].tolist() == ids


def test_ranges_within_ranges(vocabulary: Vocabulary) -> None:
    low, high = vocabulary.range(b"a")
    inner = vocabulary.range(b"ab", low, high)
    assert inner == vocabulary.range(b"ab") and vocabulary.range(b"b", low, high) == (high, high)


@pytest.mark.parametrize(
    ("prefix", "after"),
    [
        (b"a", b"b"),
        (b"ab", b"ac"),
        (b"", None),
        (b"\xff", None),
        (b"a\xff", b"b"),
        (b"\xfe\xff\xff", b"\xff"),
        (b"\xff\xff", None),
        (b"\x00", b"\x01"),
    ],
)
def test_following(prefix: bytes, after: bytes | None) -> None:
    assert following(prefix) == after


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (b"", ()),
        (b"abc", (12,)),
        (b"abab", (11, 11)),
        (b'{"ab":true}', (16, 11, 15, 18, 3)),
        ("é".encode(), (23,)),
        (b"\xc3\xc3", (21, 21)),
        (b"\xff\xff\xff", (25, 20)),
    ],
)
def test_spell(vocabulary: Vocabulary, text: bytes, ids: tuple[int, ...]) -> None:
    assert vocabulary.spell(text) == ids


def test_spelling_takes_one_of_equal_pieces(vocabulary: Vocabulary) -> None:
    assert vocabulary.spell(b"a") in ((9,), (17,))


def test_spelling_where_longest_match_gets_stuck() -> None:
    vocabulary = Vocabulary.from_tokens(["ab", "a", "bcd", "abc", "x"])
    assert vocabulary.spell(b"abcd") == (1, 2)  # abc leaves a d that nothing spells
    assert vocabulary.spell(b"xabcd") == (4, 1, 2)


def test_spelling_fails_with_the_missing_bytes(vocabulary: Vocabulary) -> None:
    with pytest.raises(VocabularyError) as caught:
        vocabulary.spell(b"a!t?")
    assert caught.value.missing_bytes == tuple(b"!?t")
    with pytest.raises(VocabularyError):
        vocabulary.spell(b"<end>")  # an end token is never text


@pytest.mark.parametrize("wrong", [{"eog": {26}}, {"control": {-1}}, {"eog": {0, 99}, "control": {3}}])
def test_ids_out_of_range(wrong: dict[str, set[int]]) -> None:
    with pytest.raises(VocabularyError, match=r"not in 0\.\.25"):
        Vocabulary.from_tokens(PIECES, **wrong)


def test_digest_tells_vocabularies_apart() -> None:
    digests = {
        Vocabulary.from_tokens(pieces, eog=eog).digest
        for pieces, eog in ((["a", "b"], ()), (["ab", ""], ()), (["b", "a"], ()), (["a", "b", "c"], {2}), (["a", "b", None], ()))
    }
    assert len(digests) == 5
    assert Vocabulary.from_tokens(["a", b"b"]).digest == Vocabulary.from_tokens(["a", "b"]).digest


def test_empty_vocabulary() -> None:
    empty = Vocabulary.from_tokens([])
    assert empty.size == 0 and empty.texts == [] and empty.spell(b"") == () and empty.range(b"a") == (0, 0)
