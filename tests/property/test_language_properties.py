"""The automaton against ``jsonschema``: for random schemas and values, accepted exactly where valid."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_cases import STYLES, random_document, random_value, spellings, suiting_value

from toolroute.errors import UnsatisfiableRoute
from toolroute.grammar import END, State, advance
from toolroute.grammar.expr import State as AnyState
from toolroute.route.jsontext import load
from toolroute.schema import compile_schema
from toolroute.schema.lower import StyleName

FEW = settings(max_examples=100, deadline=None, derandomize=True)


def valid(schema: Any, value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def walk(state: State, random: Random, most: int = 80) -> bytes:
    """A random text of ``state``; after ``most`` bytes the shortest way out."""
    out = bytearray()
    here: AnyState | None = state
    while here is not None and here is not END:
        if len(out) >= most:
            return bytes(out) + here.closing()
        view = here.view
        if view.accepts and random.random() < 0.3:
            break
        ways = list(view.edges)
        if view.wide and (not ways or random.random() < 0.7):
            ways = [b for b in (*b"ab1 :,", *range(0xC2, 0xC5), 0xE2, 0xED, 0xF0, 0xF4) if here.step(b) is not None]
        byte = random.choice(ways)
        out.append(byte)
        here = here.step(byte)
    assert here is not None
    return bytes(out)


@FEW
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(STYLES)))
def test_accepted_exactly_where_valid(random: Random, style: StyleName) -> None:
    schema = random_document(random)
    try:
        route = compile_schema(schema, style)
    except UnsatisfiableRoute:
        for _ in range(8):
            assert not valid(schema, suiting_value(random, schema, schema)), schema
        return
    for _ in range(12):
        value = suiting_value(random, schema, schema) if random.random() < 0.8 else random_value(random)
        texts = spellings(value, style)
        assume(len(texts) < 300)
        accepted = [text for text in texts if route.accepts(text)]
        if valid(schema, value):
            assert accepted, (schema, value)
        elif route.report.exact:
            assert not accepted, (schema, value)


@FEW
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(STYLES)))
def test_every_text_of_the_language_is_valid(random: Random, style: StyleName) -> None:
    schema = random_document(random)
    try:
        route = compile_schema(schema, style)
    except UnsatisfiableRoute:
        return
    for _ in range(8):
        text = walk(route.start, random).decode()
        value = load(text)
        assert route.accepts(text), (schema, text)
        assert not route.report.exact or valid(schema, json.loads(text)), (schema, text)
        # In the style of the route: blanks stand only where json.dumps puts them, so a re-dump of plain texts gives the same bytes.
        if "\\" not in text and "e" not in text and "-0" not in text and "." not in text:
            comma, colon = STYLES[style]
            assert json.dumps(value, ensure_ascii=False, separators=(comma, colon)) == text


@FEW
@given(st.randoms(use_true_random=False))
def test_closings_are_shortest_and_accepted(random: Random) -> None:
    schema = random_document(random)
    try:
        route = compile_schema(schema)
    except UnsatisfiableRoute:
        return
    text = walk(route.start, random)
    for cut in range(len(text)):
        state = advance(route.start, text[:cut])
        assert state is not None
        closing = state.closing()
        assert len(closing) == state.least <= len(text) - cut
        after = advance(state, closing)
        assert after is not None and after.view.accepts
        # One byte at a time the shortest completion shrinks by at most one.
        byte = state.step(text[cut])
        assert byte is not None and byte.least >= state.least - 1


@pytest.mark.parametrize("seed", range(5))
def test_compiling_twice_gives_the_same_states(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        schema = random_document(random)
        try:
            first = compile_schema(schema)
        except UnsatisfiableRoute:
            continue
        again = compile_schema(json.loads(json.dumps(schema)))
        assert first.start is again.start, schema
        text = walk(first.start, random)
        assert advance(first.start, text) is advance(again.start, text)
