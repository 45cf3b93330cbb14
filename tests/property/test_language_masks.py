"""Masks of strings and names in a regular language: a fresh walk over every token agrees, closings close, caps hold."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from toolroute.grammar.automaton import advance
from toolroute.grammar.expr import State
from toolroute.mask import MaskTable, Matcher
from toolroute.schema import compile_schema
from toolroute.vocab import Vocabulary

SCHEMAS: list[Any] = [
    *({"type": "string", "pattern": pattern} for pattern in (
        "^[a-z]+$", r"^\d{3}-\d{4}$", "foo", "^(?!x).*$", "^[a-f]{2,5}$", "é|ü", "^.{2,4}$", r"^[^\n]*$", '"', r"\\",
    )),
    {"type": "string", "pattern": "^[a-z ]*$", "maxLength": 5, "minLength": 2},
    {"type": "string", "not": {"enum": ["a", "ab", "\n"]}},
    {"type": "string", "minLength": 30, "maxLength": 31},
    {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "integer"}}, "additionalProperties": False},
    {"type": "object", "properties": {"ab": {}}, "patternProperties": {"^a": {"type": "integer"}, "b$": {"type": "null"}}},
    {"type": "object", "propertyNames": {"pattern": "^(a|b|ab)$"}, "minProperties": 2},
    {"type": "object", "propertyNames": {"maxLength": 2}, "additionalProperties": {"type": "string", "pattern": "^[xy]*$"}},
]  # fmt: skip
FRAGMENTS = ['"', "a", "b", "ab", "abc", "foo", "o", "f", "-", "12", "123", "\\n", "\\", "\\\\", "é", "ü", "x", "y", '": ', '": 1', ', "',
             '"}', 'xy"', 'a"', 'ab"', 'ab": ', "\\u00", "\\u000", "1f", 'é"', "日本", "\n", "  ", "a" * 29 + '"', "a" * 12]  # fmt: skip


def vocabulary(random: Random) -> Vocabulary:
    pieces = [bytes((byte,)) for byte in range(256)]
    pieces += ["".join(random.choice(FRAGMENTS) for _ in range(random.randint(1, 4))).encode() for _ in range(300)]
    for _ in range(60):  # cut within characters and escapes
        text = "".join(random.choice(FRAGMENTS) for _ in range(3)).encode()
        pieces.append(text[: random.randint(1, len(text))])
    pieces = [*dict.fromkeys(pieces), b"</s>"]
    return Vocabulary.from_tokens(pieces, eog={len(pieces) - 1})


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_masks_of_languages(number: int) -> None:
    random = Random(number)
    vocab = vocabulary(random)
    end = len(vocab.pieces) - 1
    table, route = MaskTable.of(vocab), compile_schema(SCHEMAS[number])
    assert route.report.exact
    for _ in range(4):
        state: State = route.start
        for _ in range(8):
            wanted = {token for token in range(end) if advance(state, vocab.pieces[token]) is not None}
            assert set(table.mask(table.entry(state)).ids().tolist()) == wanted | ({end} if state.view.accepts else set())
            if not wanted:
                break
            for token in random.sample(sorted(wanted), min(4, len(wanted))):
                after = advance(state, vocab.pieces[token])
                assert after is not None and len(after.closing()) == after.least
                closed = advance(after, after.closing())
                assert closed is not None and closed.view.accepts
            following = advance(state, vocab.pieces[random.choice(sorted(wanted))])
            assert following is not None
            state = following
    least = len(vocab.spell(route.shortest))
    for cap in range(least, least + 12):
        matcher = Matcher(route, vocab, cap)
        while not (matcher.is_terminated or matcher.is_complete):
            allowed = matcher.mask().ids().tolist()
            assert allowed and all(matcher.allows(token) for token in random.sample(allowed, min(5, len(allowed))))
            matcher.accept(random.choice(allowed))
        assert len(matcher.tokens) <= cap and route.accepts(matcher.text.decode())
