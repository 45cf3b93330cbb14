"""Schemas made to be expensive end in ``SchemaLimit`` soon; big honest ones compile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from toolroute.errors import CapTooSmall, CatalogueError, SchemaError, SchemaLimit
from toolroute.mask import Matcher
from toolroute.schema import compile_route, compile_schema
from toolroute.vocab import Vocabulary

LEAF = {"type": "integer"}


@contextmanager
def soon(seconds: float = 1.0) -> Iterator[None]:
    """CPU time of this process, so that a busy machine does not matter."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds * 2


def nested(count: int, wrap: Callable[[Any], Any], leaf: Any = LEAF) -> Any:
    for _ in range(count):
        leaf = wrap(leaf)
    return leaf


def chain(count: int, link: Callable[[dict[str, str]], Any]) -> Any:
    return {"$ref": "#/$defs/d0", "$defs": {**{f"d{i}": link({"$ref": f"#/$defs/d{i + 1}"}) for i in range(count)}, f"d{count}": LEAF}}


DEEP = {
    "properties": nested(2000, lambda s: {"type": "object", "properties": {"a": s}}),
    "items": nested(2000, lambda s: {"items": s}),
    "anyOf": nested(2000, lambda s: {"anyOf": [s, {"type": "null"}]}),
    "allOf": nested(2000, lambda s: {"allOf": [s]}),
    "references": chain(2000, lambda ref: ref),
    "arrays": chain(2000, lambda ref: {"type": "array", "items": ref}),
    "const": {"const": nested(2000, lambda s: [s], 1)},
}


@pytest.mark.parametrize("kind", list(DEEP))
def test_2000_deep(kind: str) -> None:
    with soon(), pytest.raises(SchemaLimit) as caught:
        compile_schema(DEEP[kind])
    assert caught.value.limit == "MAX_NESTING" and caught.value.given < caught.value.needed
    with soon(), pytest.raises((SchemaLimit, CatalogueError)) as found:
        compile_route(
            [
                {"name": "good"},
                {"name": "deep", "parameters": {"type": "object", "properties": {"x": DEEP[kind]}, "$defs": DEEP[kind].get("$defs", {})}},
            ]
        )
    assert found.value.tool == "deep"


def test_deep_below_a_keyword_that_is_checked_after() -> None:
    tool = {"name": "deep", "parameters": {"type": "object", "properties": {"x": nested(2000, lambda s: {"not": s})}}}
    with soon(), pytest.raises((SchemaError, CatalogueError)):
        compile_route([tool])


PRODUCTS = {
    "anyOf": {"allOf": [{"anyOf": [{"properties": {f"a{i}": {"type": kind}}} for kind in ("integer", "string")]} for i in range(20)]},
    "oneOf": {"allOf": [{"oneOf": [{"minimum": i}, {"maximum": -i}]} for i in range(20)]},
    "references": chain(60, lambda ref: {"anyOf": [ref, ref]}),
    "nested": nested(20, lambda s: {"anyOf": [{"type": "array", "items": s}, {"type": "object", "properties": {"x": s}}]}),
}


@pytest.mark.parametrize("kind", list(PRODUCTS))
def test_products(kind: str) -> None:
    with soon(), pytest.raises(SchemaLimit) as caught:
        compile_schema(PRODUCTS[kind])
    assert caught.value.limit in ("MAX_PLACES", "MAX_PARTS") and caught.value.given < caught.value.needed


def test_doubling_without_alternatives_is_shared() -> None:
    with soon():
        assert compile_schema(chain(60, lambda ref: {"allOf": [ref, ref]})).accepts("1")
        assert compile_schema(chain(60, lambda ref: {"type": "object", "properties": {"a": ref, "b": ref}})).shortest == b"{}"


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "string", "minLength": 10**9}, "minLength"), ({"type": "array", "minItems": 10**9}, "minItems"),
        ({"type": "array", "minItems": 500, "items": {"type": "array", "minItems": 500}}, "minItems"),
        (chain(60, lambda ref: {"type": "array", "minItems": 2, "items": ref}), "minItems"),
    ],
)  # fmt: skip
def test_texts_of_monstrous_size(schema: Any, keyword: str) -> None:
    with soon(), pytest.raises(SchemaLimit) as caught:
        compile_schema(schema)
    assert caught.value.limit == "MAX_SHORTEST" and caught.value.keyword == keyword and caught.value.pointer.endswith(keyword)
    with pytest.raises(SchemaLimit) as found:
        compile_route([{"name": "big", "parameters": {"type": "object", "properties": {"x": schema}, "$defs": schema.get("$defs", {})}}])
    assert found.value.tool == "big" and found.value.index == 0


def test_a_long_text_that_does_not_fit_the_cap_costs_nothing() -> None:
    vocabulary = Vocabulary.from_tokens([bytes((byte,)) for byte in range(256)])
    parameters = {"type": "object", "properties": {"x": {"type": "string", "minLength": 90_000}}}
    route = compile_route([{"name": "t", "parameters": parameters}])
    with soon():
        matcher = Matcher(route, vocabulary, cap=60)
        for token in b'{"tool": "t", "arguments": {':
            matcher.accept(token)
        assert matcher.mask().ids().tolist() == [ord("}")] and matcher.refused_by_cap(ord('"'))
    with pytest.raises(CapTooSmall) as caught:
        Matcher(compile_schema({"type": "string", "minLength": 1000}), vocabulary, cap=60)
    assert (caught.value.needed, caught.value.given) == (1002, 60)


def test_big_honest_schemas() -> None:
    with soon(2):
        route = compile_schema({"enum": [f"value {i}" for i in range(10_000)]})
        assert route.accepts('"value 9999"') and not route.accepts('"value 10000"')
        route = compile_schema({"type": "object", "properties": {f"p{i}": LEAF for i in range(2000)}, "additionalProperties": False})
        assert route.accepts('{"p0": 1, "p1999": 2}') and not route.accepts('{"p2000": 1}')
    with soon(2):
        tools = [
            {"name": f"tool_{i}", "parameters": {"type": "object", "properties": {"q": {"type": "string"}, "n": LEAF}}} for i in range(1000)
        ]
        route = compile_route(tools)
        assert len(route.names) == 1000 and route.accepts('{"tool": "tool_999", "arguments": {"n": 1}}')
