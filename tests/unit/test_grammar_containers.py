"""Arrays, objects, any value and references."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from toolroute.grammar import END, State, accepts, advance, forced
from toolroute.grammar.arrays import Item, array_node
from toolroute.grammar.containers import Reference, Value, resolve
from toolroute.grammar.expr import EMPTY, MAX_DEPTH, NEVER, Node, choice, cons, intern, lit, seq
from toolroute.grammar.numbers import integer
from toolroute.grammar.objects import Member, object_node
from toolroute.grammar.style import COMPACT, SPACED, Style

DIGIT = integer(0, 9)


def start(node: Node) -> State:
    state = cons(node, END)
    assert state is not None
    return state


def array(prefix: tuple[Node, ...] = (), item: Node | None = DIGIT, low: int = 0, high: int | None = None, style: Style = SPACED) -> Node:
    rest = () if item is None else (Item(item),)
    return array_node(tuple((Item(node),) for node in prefix), rest, style, low=low, high=high)


@pytest.mark.parametrize("style", [SPACED, COMPACT])
@pytest.mark.parametrize(("low", "high"), [(0, None), (0, 0), (0, 2), (1, None), (2, 3), (3, 3), (5, None)])
def test_array_lengths(style: Style, low: int, high: int | None) -> None:
    state = start(array(low=low, high=high, style=style))
    for count in range(8):
        text = json.dumps([1] * count, separators=(style.comma.decode(), ":")).encode()
        assert accepts(state, text) is (low <= count and (high is None or count <= high)), count
    assert state.least == len(state.closing()) and len(json.loads(state.closing())) == low and accepts(state, state.closing())


def test_tuples() -> None:
    node = array((lit(b"true"), lit(b'"x"')), DIGIT, 1, 4)
    state = start(node)
    good = ["[true]", '[true, "x"]', '[true, "x", 1]', '[true, "x", 1, 2]']
    for text in (*good, "[]", "[1]", "[true, 1]", '[true, "x", 1, 2, 3]', "[true, ]", '["x"]'):
        assert accepts(state, text.encode()) is (text in good), text
    assert accepts(start(array((lit(b"true"),), None, 0, 9)), b"[true]") and not accepts(
        start(array((lit(b"true"),), None, 0, 9)), b"[true, 1]"
    )
    assert array((lit(b"true"),), None, 2, None).best is None and array(low=3, high=2).best is None
    assert array((), NEVER, 0, None).best == (2, 1) and array((), NEVER, 1, None).best is None
    assert start(array((), NEVER, 0, None)).closing() == b"[]"


def test_uncounted_positions_are_one_state() -> None:
    state = start(array())
    assert advance(state, b"[1, 2") is advance(state, b"[1, 2, 3, 4")
    counted = start(array(low=0, high=50_000))
    assert advance(counted, b"[1, 2") is not advance(counted, b"[1, 2, 3, 4")


def test_a_long_bound_costs_nothing_until_walked() -> None:
    began = time.perf_counter()
    assert start(array(low=50_000, high=90_000, style=COMPACT)).least == 2 + 50_000 + 49_999
    assert time.perf_counter() - began < 0.2


NAMES = "abcd"


@pytest.mark.parametrize("style", [SPACED, COMPACT])
@pytest.mark.parametrize(
    "needed", [set(c) for n in range(5) for c in itertools.combinations(NAMES, n)], ids=lambda s: "".join(sorted(s)) or "-"
)
def test_members(style: Style, needed: set[str]) -> None:
    members = tuple(Member(f'"{n}"'.encode(), lit(b"%d" % i), n in needed) for i, n in enumerate(NAMES))
    state = start(object_node(members, (), style))
    marks = (style.comma.decode(), style.colon.decode())
    for count in range(5):
        for names in itertools.permutations(NAMES, count):
            text = json.dumps({n: NAMES.index(n) for n in names}, separators=marks)
            assert accepts(state, text.encode()) is (needed <= set(names) and list(names) == sorted(names)), text
    assert set(json.loads(state.closing())) == needed and state.least == len(state.closing()) and accepts(state, state.closing())
    if needed == set(NAMES):
        assert forced(state) == (state.closing(), END)


def test_members_with_prefix_names_and_impossible_values() -> None:
    members = (Member(b'"a"', DIGIT, False), Member(b'"ab"', DIGIT, False), Member(b'"a\\"b"', DIGIT, False), Member(b'"c"', NEVER, False))
    state = start(object_node(members, (), SPACED))
    for text in ('{"a": 1}', '{"ab": 1}', '{"a": 1, "ab": 2, "a\\"b": 3}', "{}"):
        assert accepts(state, text.encode())
    assert not accepts(state, b'{"c": 1}') and not accepts(state, b'{"ab": 1, "a": 1}')
    assert object_node((Member(b'"c"', NEVER, True),), (), SPACED).best is None


def test_many_optional_members_cost_one_view_a_position() -> None:
    members = tuple(Member(b'"m%03d"' % i, DIGIT, False) for i in range(300))
    began = time.perf_counter()
    state = start(object_node(members, (), SPACED))
    assert accepts(state, b'{"m000": 1, "m007": 2, "m299": 3}') and not accepts(state, b'{"m007": 1, "m000": 2}')
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(
    "value", [None, True, 0, -7, 2.5, "x\n", [], {}, [[], [1, {}]], {"a": {"b": [None]}}, {"": "", "é": [False]}, [[[["x"]]], 1]]
)
def test_any_value(value: object) -> None:
    for style, marks in ((SPACED, (", ", ": ")), (COMPACT, (",", ":"))):
        state = start(intern(Value, style))
        for ascii_only in (False, True):
            text = json.dumps(value, separators=marks, ensure_ascii=ascii_only)
            assert accepts(state, text.encode()) is (not ascii_only or "\\u00e9" not in text), text
        assert not accepts(state, json.dumps(value).encode() + b" ") and not accepts(state, b" " + json.dumps(value).encode())


def test_depth_is_limited() -> None:
    state = start(intern(Value, COMPACT))
    assert accepts(state, b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    deepest = advance(state, b"[" * MAX_DEPTH)
    assert deepest is not None and ord("[") not in deepest.view.edges and ord("{") not in deepest.view.edges
    assert advance(state, b"[" * (MAX_DEPTH + 1)) is None
    assert advance(state, b'{"a":' * MAX_DEPTH) is not None and advance(state, b'{"a":' * MAX_DEPTH + b"{") is None
    assert advance(state, (b'[{"a":' * 60)[: 6 * 50]) is not None and advance(state, b'[{"a":' * 50 + b"[") is None
    for prefix in (b"[" * 99, b'{"a":' * 99, b'{"a":1,"b":[' * 49):
        here = advance(state, prefix)
        assert here is not None
        json.loads(prefix + here.closing())


def test_a_fixed_nesting_beyond_the_limit_admits_nothing() -> None:
    node: Node = lit(b"1")
    for _ in range(MAX_DEPTH):
        node = array((node,), None, 1, 1)
    assert cons(node, END) is not None
    assert cons(array((node,), None, 1, 1), END) is None


def recursive(make: object) -> Reference:
    reference = Reference(object())
    reference.best = reference.least(lambda n: n.best)
    reference.target = make(reference)  # type: ignore[operator]
    resolve(reference)
    return reference


def test_references() -> None:
    tree = recursive(lambda r: object_node((Member(b'"v"', DIGIT, True), Member(b'"next"', r, False)), (), SPACED))
    state = start(tree)
    assert accepts(state, b'{"v": 1}') and accepts(state, b'{"v": 1, "next": {"v": 2, "next": {"v": 3}}}')
    assert not accepts(state, b'{"v": 1, "next": {}}') and state.closing() == b'{"v": 0}'
    nested = b'{"v": 1, "next": ' * 99
    here = advance(state, nested)
    assert here is not None
    assert json.loads(nested + here.closing()) and advance(state, b'{"v": 1, "next": ' * MAX_DEPTH + b"{") is None


def test_references_without_a_finite_text() -> None:
    endless = recursive(lambda r: array((), r, 1, None))
    assert endless.best is None and cons(endless, END) is None
    ending = recursive(lambda r: choice((lit(b"0"), array((), r, 1, 2))))
    assert ending.best == (1, 0) and accepts(start(ending), b"[[0, 0], 0]") and not accepts(start(ending), b"[]")
    list_of_itself = recursive(lambda r: array((), r, 0, None))
    assert list_of_itself.best == (2, 1) and accepts(start(list_of_itself), b"[[], [[]]]")
    two = recursive(lambda r: seq(lit(b"a"), choice((EMPTY, seq(lit(b","), r)))))
    assert two.best == (1, 0) and accepts(start(two), b"a,a,a") and not accepts(start(two), b"a,")
