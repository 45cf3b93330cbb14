"""String bodies and free names: RFC 8259 and UTF-8, judged by Python's own codecs."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from toolroute.grammar import END, State, accepts, advance
from toolroute.grammar.expr import cons
from toolroute.grammar.numbers import integer
from toolroute.grammar.objects import Free, Member, object_node
from toolroute.grammar.strings import string
from toolroute.grammar.style import COMPACT, SPACED, Style


def start(low: int = 0, high: int | None = None) -> State:
    state = cons(string(low, high), END)
    assert state is not None
    return state


def decodes(body: bytes) -> bool:
    try:
        return b'"' not in body and json.loads(b'"' + body + b'"', strict=True) is not None
    except ValueError:
        return False


def utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_byte_alone() -> None:
    for byte in range(256):
        body = bytes((byte,))
        good = byte >= 0x20 and byte not in b'"\\' and utf8(body)
        assert accepts(start(), b'"' + body + b'"') is good, body
        assert (advance(start(), b'"' + body) is not None) == (good or byte in b'"\\' or 0xC2 <= byte <= 0xF4), body


def test_every_pair_of_bytes() -> None:
    inside = advance(start(), b'"')
    assert inside is not None
    for pair in itertools.product(range(0x80, 0x100), (0x20, *range(0x7F, 0x100))):
        body = bytes(pair)
        assert accepts(inside, body + b'"') is utf8(body), body


def test_longer_utf8_sequences() -> None:
    edges = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    for lead in (0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF):
        for tail in itertools.product(edges, repeat=2):
            body = bytes((lead, *tail))
            assert accepts(start(), b'"' + body + b'"') is utf8(body), body
    for lead in (0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8):
        for tail in itertools.product(edges, repeat=3):
            body = bytes((lead, *tail))
            assert accepts(start(), b'"' + body + b'"') is utf8(body), body


def test_every_short_escape() -> None:
    for byte in range(256):
        body = b"\\" + bytes((byte,))
        assert accepts(start(), b'"' + body + b'"') is (byte in b'"\\/bfnrt'), body


@pytest.mark.parametrize(
    ("body", "good"),
    [
        (r"\u0041", True), (r"\u00e9", True), (r"\uFFFF", True), (r"\ud7ff", True), (r"\ue000", True), (r"\u0000", True),
        (r"\uD83D\uDE00", True), (r"\ud800\udc00", True), (r"\udbff\udfff", True), (r"\uDbFf\uDfFf", True),
        (r"\ud83d", False), (r"\ud83dx", False), (r"\ud83d\n", False), (r"\ud83d\u0041", False), (r"\ud83d\ud83d", False),
        (r"\ude00", False), (r"\udfff\ud800", False), (r"\u41", False),
        (r"\u004g", False), (r"\U0041", False), (r"\x41", False), ("\\'", False),
    ],
)  # fmt: skip
def test_unicode_escapes(body: str, good: bool) -> None:
    assert accepts(start(), f'"{body}"'.encode()) is good
    assert accepts(start(1, 1), f'"{body}"'.encode()) is good  # each is one code point
    if good:
        json.loads(f'"{body}"').encode()  # no lone surrogate


@pytest.mark.parametrize("text", ["", "a", "ab", "é", "日本", "😀", "a😀é", "\n", '"', "\\", "\u0000x", "\x7f"])
def test_lengths_count_code_points(text: str) -> None:
    forms = {json.dumps(text), json.dumps(text, ensure_ascii=False)}
    for low, high in itertools.product(range(4), (None, *range(4))):
        good = low <= len(text) and (high is None or len(text) <= high)
        for form in forms:
            state = cons(string(low, high), END)
            assert (state is not None and accepts(state, form.encode())) is good, (form, low, high)


def test_impossible_lengths() -> None:
    assert string(3, 2).best is None and cons(string(3, 2), END) is None
    assert accepts(start(0, 0), b'""') and not accepts(start(0, 0), b'"a"')


def test_a_long_bound_costs_nothing_until_walked() -> None:
    began = time.perf_counter()
    state = start(100_000, 200_000)
    assert state.least == 100_002
    assert accepts(state, b'"' + b"x" * 150_000 + b'"')
    assert not accepts(state, b'"' + b"x" * 99_999 + b'"') and not accepts(state, b'"' + b"x" * 200_001 + b'"')
    assert time.perf_counter() - began < 1


def test_closing_within_a_character() -> None:
    for prefix in ('"', '"\\', '"\\u', '"\\ud83', '"\\ud83d', '"\\ud83d\\', '"a\\u12', '"é'):
        for low in (0, 1, 2, 5):
            state = advance(start(low), prefix.encode())
            assert state is not None
            json.loads(prefix.encode() + state.closing()).encode()
            assert state.least == len(state.closing()) and accepts(state, state.closing())
    for prefix in (b'"\xc3', b'"\xe2\x82', b'"\xf0', b'"\xf4\x8f', b'"\xed'):
        state = advance(start(), prefix)
        assert state is not None
        json.loads(prefix + state.closing())


# -- free names ----------------------------------------------------------------------------------------------------------------


def mapping(members: tuple[Member, ...] = (), taken: frozenset[bytes] = frozenset(), style: Style = SPACED) -> State:
    state = cons(object_node(members, (Free(None, integer(0, 9)),), style, taken=taken), END)
    assert state is not None
    return state


def test_free_names_are_unique() -> None:
    state = mapping()
    assert accepts(state, b'{"a": 1, "b": 2, "ab": 3, "": 4}')
    assert (
        not accepts(state, b'{"a": 1, "a": 2}')
        and not accepts(state, b'{"a": 1, "b": 2, "a": 3}')
        and not accepts(state, b'{"": 1, "": 2}')
    )
    assert accepts(state, '{"é": 1, "e": 2, "\u00e9\u0301": 3}'.encode())


def test_free_names_differ_from_declared_ones() -> None:
    state = mapping((Member(b'"a"', integer(5, 5), False), Member(b'"b"', integer(6, 6), True)), frozenset((b"no",)), COMPACT)
    assert accepts(state, b'{"a":5,"b":6,"c":1}') and accepts(state, b'{"b":6}') and accepts(state, b'{"b":6,"c":1,"d":2}')
    for bad in (b'{"b":6,"a":1}', b'{"b":6,"b":1}', b'{"b":6,"no":1}', b'{"c":1,"b":6}', b'{"a":5}', b'{"b":6,"c":1,"c":2}'):
        assert not accepts(state, bad), bad
    assert accepts(state, b'{"b":6,"n":1,"noo":2}')


@pytest.mark.parametrize("name", ["a", "é", "\n", "\x1f", "\x7f", '"', "\\", "/", "😀", "\u2028", ""])
def test_a_free_name_has_one_spelling(name: str) -> None:
    state = mapping()
    own = json.dumps(name, ensure_ascii=False)
    assert accepts(state, f"{{{own}: 1}}".encode())
    forms = {
        json.dumps(name),
        "".join(f"\\u{ord(c):04x}" for c in name if ord(c) < 0x10000).join('""'),
        json.dumps(name).replace("/", "\\/"),
    }
    for form in forms - {own}:
        assert not accepts(state, f"{{{form}: 1}}".encode()) or json.loads(form) != name, form
    assert not accepts(state, f"{{{own}: 1, {own}: 2}}".encode())


def test_closing_never_repeats_a_name() -> None:
    state = advance(mapping(), b'{"": 1, "a": 2, "b": 3, "')
    assert state is not None
    text = b'{"": 1, "a": 2, "b": 3, "' + state.closing()
    assert len(json.loads(text)) == 4 and accepts(mapping(), text)
    used = "".join(f'"{chr(c)}": 1, ' for c in range(0x61, 0x7B))
    text = f'{{"": 1, {used}"'.encode()
    state = advance(mapping(), text)
    assert state is not None
    assert len(json.loads(text + state.closing())) == 28 and state.least >= 1
    within = advance(mapping(), b'{"\\n": 1, "\\')
    assert within is not None
    assert len(json.loads(b'{"\\n": 1, "\\' + within.closing())) == 2


def test_a_name_that_may_not_be_used_twice_does_not_end() -> None:
    state = advance(mapping(), b'{"ab": 1, "ab')
    assert state is not None and 0x22 not in state.view.edges
    assert advance(state, b'c": 2}') is END
