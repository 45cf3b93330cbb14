"""The matcher's own behaviour: accepting, ending, caps, rollback, copies, forced runs."""

from __future__ import annotations

import pytest

from toolroute.errors import CapTooSmall, TokenRejected, VocabularyError
from toolroute.mask import Matcher
from toolroute.schema import Route, compile_route, compile_schema
from toolroute.vocab import Vocabulary

BYTES: list[bytes | None] = [bytes((byte,)) for byte in range(256)]
WORDS: list[bytes | None] = [
    b'{"tool": "',
    b'none"}',
    b'get_weather", "arguments": {"city": "',
    b'"}}',
    b"Oslo",
    b'"',
    b"}}",
    b"none",
    b'", "',
]
END = 256 + len(WORDS)
VOCABULARY = Vocabulary.from_tokens([*BYTES, *WORDS, None, None], eog={END, END + 1})
TOOLS = [
    {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]},
    }
]


def word(text: bytes) -> int:
    return 256 + WORDS.index(text)


@pytest.fixture
def route() -> Route:
    return compile_route(TOOLS)


def take(matcher: Matcher, *tokens: int) -> Matcher:
    for token in tokens:
        matcher.accept(token)
    return matcher


def spell(text: bytes) -> tuple[int, ...]:
    return VOCABULARY.spell(text)


def test_a_whole_reply(route: Route) -> None:
    matcher = Matcher(route, VOCABULARY)
    assert matcher.tokens_left is None and matcher.stop_reason is None and not matcher.is_accepting and matcher.text == b""
    take(matcher, *spell(b'{"tool": "get_weather", "arguments": {"city": "Oslo"'))
    assert not matcher.is_accepting and matcher.stop_reason is None and not matcher.allows(END)
    take(matcher, *spell(b"}}"))
    assert matcher.is_accepting and matcher.is_complete and matcher.stop_reason == "complete" and not matcher.is_terminated
    assert matcher.mask().ids().tolist() == [END, END + 1] and matcher.forced() == ()
    tokens = matcher.tokens
    matcher.accept(END + 1)
    assert matcher.is_terminated and matcher.tokens == tokens and matcher.stop_reason == "complete"
    assert not len(matcher.mask()) and not any(matcher.allows(token) for token in range(VOCABULARY.size))
    with pytest.raises(TokenRejected):
        matcher.accept(END)
    assert matcher.text == b'{"tool": "get_weather", "arguments": {"city": "Oslo"}}'


def test_a_reply_that_may_end_or_go_on() -> None:
    matcher = take(Matcher(compile_schema({"type": "integer"}), VOCABULARY), ord("1"))
    assert matcher.is_accepting and not matcher.is_complete and matcher.stop_reason is None
    assert matcher.mask().ids().tolist() == [*range(48, 58), END, END + 1]
    assert take(matcher.copy(), END).stop_reason == "complete" and take(matcher, ord("2")).text == b"12"


@pytest.mark.parametrize("token", [-1, 256 + len(WORDS) + 2, 10**9, END, ord("x"), ord("}")])
def test_rejected_tokens(route: Route, token: int) -> None:
    matcher = Matcher(route, VOCABULARY)
    assert not matcher.allows(token) and not matcher.refused_by_cap(token)
    with pytest.raises(TokenRejected) as caught:
        matcher.accept(token)
    assert caught.value.token == token and caught.value.allowed == (ord("{"), word(b'{"tool": "'))
    assert matcher.tokens == [] and matcher.text == b""


def test_cap_too_small_names_both_numbers(route: Route) -> None:
    with pytest.raises(CapTooSmall) as caught:
        Matcher(route, VOCABULARY, cap=1)
    assert (caught.value.needed, caught.value.given) == (2, 1)
    assert Matcher(route, VOCABULARY, cap=2).tokens_left == 2
    with pytest.raises(CapTooSmall) as caught:
        Matcher(route.only(["get_weather"]), VOCABULARY, cap=2)
    assert (caught.value.needed, caught.value.given) == (3, 2)
    with pytest.raises(CapTooSmall):
        Matcher(route, VOCABULARY, cap=0)


def test_a_vocabulary_that_cannot_spell_the_shortest_reply(route: Route) -> None:
    with pytest.raises(VocabularyError) as caught:
        Matcher(route, Vocabulary.from_tokens(["{", "}", "a"]), cap=9)
    assert ord('"') in caught.value.missing_bytes
    assert Matcher(route, Vocabulary.from_tokens(["{", "}", "a"])).mask().ids().tolist() == [0]  # without a cap it only matters there


def test_the_cap_leaves_what_can_be_finished(route: Route) -> None:
    matcher = Matcher(route, VOCABULARY, cap=2)
    assert matcher.mask().ids().tolist() == [word(b'{"tool": "')]
    assert matcher.refused_by_cap(ord("{")) and not matcher.refused_by_cap(ord("}"))
    with pytest.raises(TokenRejected, match="within the cap"):
        matcher.accept(ord("{"))
    take(matcher, word(b'{"tool": "'))
    assert matcher.mask().ids().tolist() == [word(b'none"}')] and matcher.refused_by_cap(word(b"none"))
    take(matcher, word(b'none"}'))
    assert matcher.is_complete and matcher.tokens_left == 0
    assert matcher.mask().ids().tolist() == [END, END + 1]  # an end token is not counted
    matcher.accept(END)


def test_a_string_is_closed_in_time(route: Route) -> None:
    opening = (word(b'{"tool": "'), word(b'get_weather", "arguments": {"city": "'))
    matcher = take(Matcher(route, VOCABULARY, cap=5), *opening, word(b"Oslo"))
    assert matcher.tokens_left == 2
    ids = set(matcher.mask().ids().tolist())
    assert {ord("x"), word(b"Oslo"), word(b'"}}'), word(b'"'), ord('"')} <= ids and 0xC3 not in ids and ord("\\") not in ids
    assert word(b'", "') not in ids  # another member would not fit
    take(matcher, ord("x"))
    assert matcher.mask().ids().tolist() == [word(b'"}}')]
    assert matcher.refused_by_cap(ord("y")) and matcher.refused_by_cap(word(b'"'))
    take(matcher, word(b'"}}'))
    assert matcher.is_complete


def test_stop_reason_tells_that_the_cap_changed_a_choice(route: Route) -> None:
    matcher = take(Matcher(route, VOCABULARY, cap=2), *spell(b'{"tool": "none"}'))
    assert matcher.stop_reason == "complete"
    matcher.capped = True
    assert matcher.stop_reason == "cap"


def test_rollback(route: Route) -> None:
    tokens = spell(b'{"tool": "none"}')
    matcher = take(Matcher(route, VOCABULARY, cap=9), *tokens, END)
    with pytest.raises(ValueError, match="cannot take back"):
        matcher.rollback(len(tokens) + 2)
    with pytest.raises(ValueError, match="cannot take back"):
        matcher.rollback(-1)
    assert matcher.is_terminated
    matcher.rollback(0)
    assert matcher.is_terminated
    matcher.rollback(1)
    assert not matcher.is_terminated and matcher.is_complete and matcher.tokens == list(tokens)
    matcher.rollback(1)
    assert matcher.text == b'{"tool": "' and matcher.tokens_left == 8
    take(matcher, word(b'none"}'), END)
    matcher.rollback(len(tokens) + 1)
    assert matcher.tokens == [] and matcher.tokens_left == 9 and matcher.stop_reason is None
    take(matcher, *tokens)
    matcher.capped = True
    matcher.rollback(len(tokens))
    matcher.rollback(0)
    assert not matcher.capped


def test_a_copy_is_independent(route: Route) -> None:
    matcher = take(Matcher(route, VOCABULARY, cap=50), *spell(b'{"tool": "'))
    twin = matcher.copy()
    take(twin, *spell(b'none"}'), END)
    assert matcher.text == b'{"tool": "' and matcher.tokens_left == 49 and not matcher.is_terminated
    take(matcher, *spell(b"get"))
    assert twin.text == b'{"tool": "none"}' and twin.is_terminated
    twin.rollback(2)
    assert twin.text == b'{"tool": "' and matcher.text == b'{"tool": "get'


def test_one_route_serves_many_matchers(route: Route) -> None:
    first = take(Matcher(route, VOCABULARY), *spell(b'{"tool": "get_weather", "argum'))
    second = Matcher(route, VOCABULARY)
    assert second.text == b"" and take(second, *spell(b'{"tool": "none"}')).is_complete and first.text.endswith(b"argum")


# -- forced runs ---------------------------------------------------------------------------------------------------------------


def test_forced_runs(route: Route) -> None:
    matcher = Matcher(route, VOCABULARY)
    run = matcher.forced()
    assert run == (word(b'{"tool": "'),)
    take(matcher, *run)
    assert matcher.forced() == ()  # n or g
    take(matcher, ord("n"))
    assert b"".join(VOCABULARY.pieces[t] for t in matcher.forced()) == b'one"}'
    assert VOCABULARY.pieces[take(matcher, *matcher.forced()).tokens[-1]].endswith(b"}") and matcher.is_complete and matcher.forced() == ()


def test_the_tail_that_a_longer_token_could_span_is_left_to_the_model() -> None:
    route = compile_schema({"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"], "additionalProperties": False})
    plain = Vocabulary.from_tokens([*BYTES, b'{"c": "'])
    assert Matcher(route, plain).forced() == (256,)
    longer = Vocabulary.from_tokens([*BYTES, b'{"c": "', b' "Os', b"{"])
    run = Matcher(route, longer).forced()
    text = b"".join(longer.pieces[token] for token in run)
    assert b'{"c": "'.startswith(text)
    bytes_only = Vocabulary.from_tokens([*BYTES, b' "Os'])
    assert b"".join(bytes_only.pieces[token] for token in Matcher(route, bytes_only).forced()) == b'{"c":'
    dead = Vocabulary.from_tokens([*BYTES, b' "\n'])  # no reply can contain it, so it is no reason to wait
    assert b"".join(dead.pieces[token] for token in Matcher(route, dead).forced()) == b'{"c": "'


def test_the_models_own_tokenizer_writes_forced_runs(route: Route) -> None:
    seen: list[bytes] = []

    def by_bytes(text: bytes) -> list[int]:
        seen.append(text)
        return list(text)

    matcher = Matcher(route, VOCABULARY, tokenize=by_bytes)
    assert bytes(matcher.forced()) == b'{"tool": "'[: len(matcher.forced())]
    take(matcher, *spell(b'{"tool": "n'))
    assert bytes(matcher.forced()) == b'one"}' and seen[-1] in (b'none"}', b'one"}')


@pytest.mark.parametrize(
    "wrong",
    [
        lambda text: [],
        lambda text: [*text, ord("x")],
        lambda text: [ord("?")] * len(text),
        lambda text: [END],
        lambda text: [END, *text],
    ],
)
def test_a_tokenizer_that_does_not_give_the_bytes_back_forces_nothing(route: Route, wrong: object) -> None:
    matcher = Matcher(route, VOCABULARY, tokenize=wrong)  # type: ignore[arg-type]
    assert matcher.forced() == () and matcher.allows(ord("{"))


def test_forced_runs_near_the_cap(route: Route) -> None:
    matcher = Matcher(route, VOCABULARY, cap=2, tokenize=lambda text: list(text))  # this tokenizer would need ten tokens
    assert matcher.forced() == (word(b'{"tool": "'),)
    take(matcher, *matcher.forced())
    while not matcher.is_complete:
        take(matcher, *(matcher.forced() or matcher.mask().ids().tolist()[:1]))
    assert matcher.text == b'{"tool": "none"}' and matcher.tokens_left == 0


def test_forced_text_that_cannot_be_spelled_is_a_dead_end_where_it_stops() -> None:
    matcher = Matcher(compile_schema({"const": "ab?"}), Vocabulary.from_tokens(['"', "a", "b", "ab"]))
    assert matcher.forced() == ()
    take(matcher, 0, 3)
    assert not len(matcher.mask()) and matcher.dead_end().prefix == b'"ab' and matcher.dead_end().missing_bytes == (ord("?"),)
