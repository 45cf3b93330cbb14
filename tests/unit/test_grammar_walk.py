"""Literals, trees, unions, sequences; walking and forcing."""

from __future__ import annotations

import itertools

import pytest

from toolroute.grammar import END, State, accepts, advance, expr, forced
from toolroute.grammar.containers import Value
from toolroute.grammar.expr import EMPTY, NEVER, Bytes, Node, choice, cons, counters, intern, lit, seq, tree, union
from toolroute.grammar.style import SPACED


def start(node: Node, k: State = END) -> State:
    state = cons(node, k)
    assert state is not None
    return state


def texts(state: State, limit: int = 1000) -> set[bytes]:
    """Every text of a finite state."""
    found: set[bytes] = set()
    stack = [(b"", state)]
    while stack:
        text, here = stack.pop()
        view = here.view
        assert not view.wide
        if view.accepts:
            found.add(text)
        stack += [(text + bytes((byte,)), after) for byte, after in view.edges.items()]
        assert len(stack) < limit
    return found


def test_literal() -> None:
    state = start(lit(b"abc"))
    assert accepts(state, b"abc") and not accepts(state, b"ab") and not accepts(state, b"abcd") and not accepts(state, b"abd")
    assert advance(state, b"ab") is start(lit(b"c")) and advance(state, b"x") is None and advance(state, b"") is state
    assert state.closing() == b"abc" and state.least == 3
    assert advance(state, b"abc") is END and END.view.accepts and not END.view.edges


def test_equal_meaning_is_the_same_object() -> None:
    assert start(seq(lit(b"ab"), lit(b"c"))) is start(lit(b"abc"))
    assert start(lit(b"ab"), start(lit(b"c"))) is start(lit(b"abc"))
    assert seq(EMPTY, lit(b"a"), EMPTY) is lit(b"a") and seq() is EMPTY and seq(EMPTY) is EMPTY
    assert choice((lit(b"a"), NEVER, lit(b"a"))) is lit(b"a")
    assert choice((choice((lit(b"a"), lit(b"b"))), lit(b"c"))) is choice((lit(b"a"), lit(b"b"), lit(b"c")))
    assert seq(lit(b"x"), choice((lit(b"a"), lit(b"b")))) is seq(lit(b"x"), choice((lit(b"a"), lit(b"b"))))
    one, other = start(lit(b"one")), start(lit(b"other"))
    assert (
        union((one, other)) is union((other, one)) and union((one, one)) is one and union((union((one, other)), one)) is union((one, other))
    )


def test_what_admits_nothing() -> None:
    assert NEVER.best is None and cons(NEVER, END) is None
    assert cons(seq(lit(b"a"), NEVER), END) is None
    assert choice((NEVER, NEVER)) is NEVER
    assert texts(start(choice((lit(b"a"), seq(lit(b"b"), NEVER))))) == {b"a"}
    assert texts(start(tree(((b"a", NEVER), (b"ab", EMPTY))))) == {b"ab"}


def test_a_full_table_starts_anew_and_changes_no_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    before = start(choice((lit(b"one"), lit(b"other"))))
    monkeypatch.setattr(expr, "MAX_INTERNED", 0)  # every new node forgets all others
    assert lit(b"a text that no other test has").best == (29, 0)
    assert choice((NEVER, NEVER)) is NEVER and seq(EMPTY, EMPTY) is EMPTY and lit(b"") is EMPTY
    assert texts(before) == texts(start(choice((lit(b"one"), lit(b"other"))))) == {b"one", b"other"}
    assert advance(before, b"one") is END


@pytest.mark.parametrize(
    "words", [("a",), ("a", "ab", "abc"), ("", "a"), ("search", "search_code", "search_code_v2", "sea", "x"), ("né", "nè")]
)
def test_tree(words: tuple[str, ...]) -> None:
    ends = {word.encode(): b"!" + bytes((index,)) for index, word in enumerate(words)}
    state = start(tree((text, lit(end)) for text, end in ends.items()))
    assert texts(state) == {text + end for text, end in ends.items()}
    assert state.closing() == min((text + end for text, end in ends.items()), key=len) or len(state.closing()) == min(
        map(len, texts(state))
    )
    assert state.least == len(state.closing())


def test_tree_does_not_remember_what_was_not_chosen() -> None:
    entries = [(b"search", lit(b"1")), (b"search_code", lit(b"2")), (b"send", lit(b"3"))]
    whole, less = start(tree(entries)), start(tree(entries[:2]))
    assert whole is not less
    assert advance(whole, b"search") is advance(less, b"search")
    assert advance(whole, b"search_") is start(lit(b"code2"))


def test_a_thousand_names() -> None:
    names = [f"server_{index // 10:03d}_tool_{index:04d}".encode() for index in range(1000)]
    before = counters()["states"]
    state = start(tree((name, lit(b'"%d' % index)) for index, name in enumerate(names)))
    for index in (0, 1, 499, 999):
        assert accepts(state, names[index] + b'"%d' % index) and not accepts(state, names[index] + b'"%d' % (index + 1))
    assert counters()["states"] - before < 200  # only what was walked
    assert forced(state)[0] == b"server_0"


def test_entries_with_one_text_become_a_choice() -> None:
    assert texts(start(tree(((b"a", lit(b"1")), (b"a", lit(b"2")), (b"b", EMPTY))))) == {b"a1", b"a2", b"b"}


def test_union_steps_its_members_together() -> None:
    state = union((start(lit(b"abc")), start(lit(b"abd")), start(seq(lit(b"a"), intern(Bytes, b"xy")))))
    assert texts(state) == {b"abc", b"abd", b"ax", b"ay"}
    assert state.least == 2 and state.closing() in (b"ax", b"ay")
    assert set(state.view.edges) == {ord("a")} and set(state.step(ord("a")).view.edges) == {ord("b"), ord("x"), ord("y")}  # type: ignore[union-attr]


def test_union_of_a_text_and_its_prefix_accepts_early() -> None:
    state = union((start(lit(b"1")), start(lit(b"12"))))
    after = advance(state, b"1")
    assert after is not None and after.view.accepts and set(after.view.edges) == {ord("2")}


def test_advance_equals_stepping_byte_by_byte() -> None:
    state = start(intern(Value, SPACED))
    for text in (
        b'{"a": [1, -2.5e3, "x\\n\xc3\xa9\\ud83d\\ude00"], "b": {"c": null}}',
        b"[[], {}, true, false]",
        b'["\xff',
        b"01",
        b'"\\x',
        b'{"a": 1, "a"',
    ):
        slow: State | None = state
        for byte in text:
            slow = None if slow is None else slow.step(byte)
        assert advance(state, text) is slow
        for cut in range(len(text)):
            head = advance(state, text[:cut])
            assert (None if head is None else advance(head, text[cut:])) is slow


def test_forced_stops_at_choices_and_where_the_text_may_end() -> None:
    state = start(seq(lit(b'{"tool": "'), tree(((b"get_a", lit(b'"}')), (b"get_b", lit(b'"}')), (b"get", lit(b'"}'))))))
    run, after = forced(state)
    assert run == b'{"tool": "get' and set(after.view.edges) == {ord("_"), ord('"')}
    run, after = forced(advance(after, b"_a"))  # type: ignore[arg-type]
    assert run == b'"}' and after is END
    assert forced(END) == (b"", END)
    optional = start(choice((EMPTY, lit(b"x"))))
    assert forced(optional) == (b"", optional)
    assert forced(start(seq(lit(b"a"), intern(Bytes, b"b"), lit(b"c")))) == (b"abc", END)
    assert forced(start(seq(lit(b'"'), intern(Value, SPACED))))[0] == b'"'


def test_closing_is_shortest_everywhere() -> None:
    node = seq(choice((lit(b"aaa"), seq(lit(b"b"), choice((lit(b"cc"), lit(b"d")))))), tree(((b"xx", lit(b"1")), (b"y", lit(b"222")))))
    stack, seen = [start(node)], set()
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        every = texts(state)
        assert len(state.closing()) == state.least == min(map(len, every)) and state.closing() in every
        stack += state.view.edges.values()
    assert len(seen) > 8


def test_sequences_of_choices() -> None:
    parts = [(b"a", b"ab"), (b"", b"b"), (b"c", b"bc")]
    state = start(seq(*(choice(lit(text) for text in part) for part in parts)))
    assert texts(state) == {b"".join(chosen) for chosen in itertools.product(*parts)}
