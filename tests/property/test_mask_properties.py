"""Masks, steps, caps, rollback and forced runs, for random routes, vocabularies and caps, against brute force over the vocabulary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import random_parameters, random_tools, random_vocabulary

from toolroute.catalogue import Catalogue
from toolroute.errors import TokenRejected, UnsatisfiableRoute
from toolroute.grammar import END, State, accepts
from toolroute.grammar.expr import counters
from toolroute.mask import MaskTable, Matcher
from toolroute.route import parse_route
from toolroute.schema import Route, compile_route
from toolroute.vocab import Vocabulary

FEW = settings(max_examples=30, deadline=None, derandomize=True)
TEXTS = (
    b'{"tool": "get_weather", "arguments": {"city": "Oslo"}}',
    b'{"tool": "none"}',
    '{"a": -12.5, "été": ["né", null], "x\\n": "\\u00e9"}'.encode(),
)


def stepped(state: State, piece: bytes) -> State | None:
    """The state after ``piece``, byte by byte: nothing but ``State.step``."""
    here: State | None = state
    for byte in piece:
        here = here.step(byte) if here is not None else None
    return here


def allowed_by_language(state: State, vocabulary: Vocabulary) -> set[int]:
    """By definition: the tokens whose bytes keep the state live, and the end tokens where it accepts."""
    found = {i for i, piece in enumerate(vocabulary.pieces) if piece and stepped(state, piece) is not None}
    return found | (set(vocabulary.eog) if state.view.accepts else set())


def make_route(random: Random) -> Route | None:
    try:
        return compile_route(
            random_tools(random, 3), random.choice((("none",), ("none", "finish"), ())), random.choice(("spaced", "compact"))
        )
    except UnsatisfiableRoute:
        return None


def make_vocabulary(random: Random, route: Route, whole: bool = True) -> Vocabulary:
    samples = [*TEXTS, route.shortest, *(route.only([name]).shortest for name in route.choices)]
    return random_vocabulary(random, samples, whole=whole)


def draw(random: Random, ids: Sequence[int], pieces: Sequence[bytes]) -> int:
    """Longer pieces and quotes more often, so that replies move on."""
    weights = [1 + 3 * len(pieces[i]) + (8 if pieces[i][:1] in b'"}]' else 0) for i in ids]
    return random.choices(list(ids), weights)[0]


@FEW
@given(st.randoms(use_true_random=False), st.booleans())
def test_mask_is_brute_force(random: Random, whole: bool) -> None:
    route = make_route(random)
    if route is None:
        return
    vocabulary = make_vocabulary(random, route, whole)
    matcher = Matcher(route, vocabulary)
    table = MaskTable.of(vocabulary)
    for _ in range(25):
        state = matcher.state
        mask = matcher.mask()
        ids = set(mask.ids().tolist())
        assert ids == allowed_by_language(state, vocabulary)
        fresh = table.fresh(state)
        assert ids == set(fresh.ids().tolist())
        for token in range(vocabulary.size):
            assert matcher.allows(token) is mask.allows(token) is fresh.allows(token) is (token in ids)
        for token in random.sample(sorted(ids - vocabulary.eog), min(4, len(ids - vocabulary.eog))):
            after = stepped(state, vocabulary.pieces[token])
            assert after is not None and accepts(after, after.closing())
        if not ids or matcher.is_complete:
            return
        token = draw(random, sorted(ids), vocabulary.pieces)
        matcher.accept(token)
        if matcher.is_terminated:
            assert not len(matcher.mask()) and matcher.forced() == ()
            return
        assert matcher.state is stepped(state, vocabulary.pieces[token])


@FEW
@given(st.randoms(use_true_random=False), st.integers(0, 12))
def test_a_random_choice_under_any_cap_ends_complete(random: Random, spare: int) -> None:
    route = make_route(random)
    if route is None:
        return
    vocabulary = make_vocabulary(random, route)
    shortest = len(vocabulary.spell(route.shortest))
    matcher = Matcher(route, vocabulary, cap=shortest + spare)
    while not matcher.is_complete and not matcher.is_terminated:
        left = matcher.tokens_left
        assert left is not None
        mask = matcher.mask()
        ids = mask.ids().tolist()
        assert ids, "there is always a way to finish"
        language = matcher.language_mask()
        own = matcher.copy()
        for token in range(vocabulary.size):
            allowed = matcher.allows(token)
            assert allowed is mask.allows(token)
            assert matcher.refused_by_cap(token) is (language.allows(token) and not allowed)
            after = stepped(matcher.state, vocabulary.pieces[token]) if vocabulary.pieces[token] else None
            if after is not None and len(vocabulary.spell(after.closing())) <= left - 1:
                assert allowed  # the closing sequence fits
            elif allowed and token not in vocabulary.eog:
                own.accept(token)  # then it is the next of the closing sequence that was kept, which still fits
                assert own.mask().ids().size or own.is_complete
                own.rollback(1)
        matcher.accept(random.choice(ids) if random.random() < 0.5 else draw(random, ids, vocabulary.pieces))
    assert len(matcher.tokens) <= shortest + spare
    text = matcher.text.decode()
    parsed = parse_route(text, route.names, route.terminals)
    assert parsed.ok, (text, parsed.error)
    assert accepts(route.start, text.encode())
    assert not route.report.exact or jsonschema.Draft202012Validator(route.schema).is_valid(json.loads(text)), text


@FEW
@given(st.randoms(use_true_random=False), st.one_of(st.none(), st.integers(0, 10)))
def test_rollback_and_replay(random: Random, spare: int | None) -> None:
    route = make_route(random)
    if route is None:
        return
    vocabulary = make_vocabulary(random, route)
    cap = None if spare is None else len(vocabulary.spell(route.shortest)) + spare
    matcher = Matcher(route, vocabulary, cap=cap)
    masks: list[list[int]] = []
    taken: list[int] = []
    for _ in range(30):
        ids = matcher.mask().ids().tolist()
        masks.append(ids)
        if not ids:
            break
        token = draw(random, ids, vocabulary.pieces)
        matcher.accept(token)
        taken.append(token)
        if matcher.is_terminated:
            break
        if random.random() < 0.25:
            count = random.randrange(1, len(taken) + 1)
            twin = matcher.copy()
            matcher.rollback(count)
            assert matcher.mask().ids().tolist() == masks[len(taken) - count]
            assert matcher.tokens == taken[: len(taken) - count]
            if random.random() < 0.5:
                del taken[len(taken) - count :]
                del masks[len(taken) :]
            else:
                matcher = twin
    matcher.rollback(len(taken))
    assert matcher.text == b"" and matcher.state is route.start and matcher.stop_reason is None
    for token, ids in zip(taken, masks, strict=False):
        assert matcher.mask().ids().tolist() == ids
        matcher.accept(token)
    fresh = Matcher(route, vocabulary, cap=cap)
    for token in taken:
        fresh.accept(token)
    assert fresh.mask().ids().tolist() == matcher.mask().ids().tolist() and fresh.text == matcher.text


@FEW
@given(st.randoms(use_true_random=False), st.one_of(st.none(), st.integers(0, 6)), st.booleans())
def test_forced_runs(random: Random, spare: int | None, own_tokenizer: bool) -> None:
    route = make_route(random)
    if route is None:
        return
    vocabulary = make_vocabulary(random, route)
    cap = None if spare is None else len(vocabulary.spell(route.shortest)) + spare
    tokenize = (lambda text: list(vocabulary.spell(text))) if own_tokenizer else None
    matcher = Matcher(route, vocabulary, cap, tokenize)
    while not matcher.is_complete and not matcher.is_terminated:
        run = matcher.forced()
        if run:
            text = b"".join(vocabulary.pieces[token] for token in run)
            state = matcher.state
            # The bytes are those that must come: each is the only one the state admits.
            for byte in text:
                view = state.view
                assert set(view.edges) == {byte} and not view.wide and not view.accepts
                state = view.edges[byte]
            probe = matcher.copy()
            for token in run:
                probe.accept(token)
            assert probe.state is state
        before = matcher.text
        steps = list(run) or [draw(random, matcher.mask().ids().tolist(), vocabulary.pieces)]
        for token in steps:
            matcher.accept(token)
        assert matcher.text.startswith(before)
        if len(matcher.tokens) > 60 and cap is None:
            return
    assert parse_route(matcher.text.decode(), route.names, route.terminals).ok


@FEW
@given(st.randoms(use_true_random=False), st.binary(max_size=40))
def test_spelling_gives_the_bytes_back(random: Random, text: bytes) -> None:
    vocabulary = random_vocabulary(random, TEXTS)
    ids = vocabulary.spell(text)
    assert b"".join(vocabulary.pieces[i] for i in ids) == text and len(ids) <= len(text)


# -- changing a catalogue ------------------------------------------------------------------------------------------------------


def visit(route: Route, vocabulary: Vocabulary, replies: Sequence[bytes]) -> list[tuple[int, ...]]:
    """Look at every mask, with and without a cap, on the way through ``replies``; the masks in order."""
    seen = []
    for reply in replies:
        for cap in (None, 200):
            matcher = Matcher(route, vocabulary, cap)
            for token in vocabulary.spell(reply):
                seen.append(tuple(matcher.mask().ids().tolist()))
                matcher.forced()
                matcher.accept(token)
    return seen


TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"]}},
    {
        "name": "send",
        "parameters": {"type": "object", "properties": {"to": {"type": "array", "items": {"type": "string"}}, "body": {"type": "string"}}},
    },
    {"name": "store", "parameters": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}},
]
REPLIES = {
    "get_weather": b'{"tool": "get_weather", "arguments": {"city": "Oslo", "days": 3}}',
    "get_time": b'{"tool": "get_time", "arguments": {"zone": "UTC"}}',
    "send": b'{"tool": "send", "arguments": {"to": ["a", "b"], "body": "hi"}}',
    "store": b'{"tool": "store", "arguments": {"x": 1.5, "y": 2}}',
}


@pytest.mark.parametrize("name", list(REPLIES))
@pytest.mark.parametrize("change", ["removed", "narrowed"])
def test_changing_one_tool_recomputes_nothing_of_the_others(name: str, change: str) -> None:
    vocabulary = random_vocabulary(Random(7), list(REPLIES.values()))
    table = MaskTable.of(vocabulary)
    catalogue = Catalogue.from_tools(TOOLS)
    whole = compile_route(catalogue)
    before = visit(whole, vocabulary, list(REPLIES.values()))
    smaller = (
        catalogue.without(name)
        if change == "removed"
        else catalogue.narrowed(name, {"type": "object", "properties": {"only": {"const": "this"}}})
    )
    route = compile_route(smaller)
    others = [reply for other, reply in REPLIES.items() if other != name]
    names_end = {reply: reply.index(b'", "arguments"') + 1 for reply in others}

    # States: after its name, each other tool's states are the very objects they were.
    made = counters()["states"]
    for reply, end in names_end.items():
        for cut in range(end, len(reply)):
            assert stepped(route.start, reply[:cut]) is stepped(whole.start, reply[:cut])
    assert counters()["states"] - made < 60  # those that choose among the names

    # Masks: where only this tool can be meant, the same as before and none computed.
    for reply, end in names_end.items():
        old, new = Matcher(whole, vocabulary), Matcher(route, vocabulary)
        for token in vocabulary.spell(reply):
            if len(new.text) >= end:
                computed = table.computed
                assert old.mask() is new.mask() and old.forced() == new.forced()
                assert table.computed == computed
            old.accept(token)
            new.accept(token)

    # Looking again, and looking at the old route, computes nothing at all.
    visit(route, vocabulary, others)
    computed = table.computed
    visit(route, vocabulary, others)
    assert visit(whole, vocabulary, list(REPLIES.values())) == before and table.computed == computed


def test_random_changes_keep_the_states_of_the_others() -> None:
    for seed in range(30):
        random = Random(seed)
        tools = random_tools(random, 5)
        try:
            whole = compile_route(tools)
            changed = [dict(tool) for tool in tools]
            changed[0]["parameters"] = random_parameters(random)
            narrowed = compile_route(changed)
        except UnsatisfiableRoute:
            continue
        for tool in tools[1:]:
            stem = whole.stem(tool["name"]).encode()
            assert stepped(whole.start, stem) is stepped(narrowed.start, stem) is not None
            assert stepped(compile_route([tool]).start, stem) is stepped(whole.start, stem)


def test_a_rejected_token_changes_nothing() -> None:
    random = Random(3)
    vocabulary = random_vocabulary(random, list(REPLIES.values()))
    matcher = Matcher(compile_route(TOOLS), vocabulary, cap=40)
    for token in vocabulary.spell(REPLIES["send"])[:9]:
        before = (matcher.state, matcher.tokens, matcher.tokens_left, matcher.mask().ids().tolist())
        for other in range(vocabulary.size):
            if not matcher.allows(other):
                with pytest.raises(TokenRejected) as caught:
                    matcher.accept(other)
                assert caught.value.token == other and set(caught.value.allowed) <= set(before[3])
        assert (matcher.state, matcher.tokens, matcher.tokens_left, matcher.mask().ids().tolist()) == before
        matcher.accept(token)
    assert matcher.state is not END
