"""The printed grammar against llama.cpp's own sampler: the same texts, and replies decoded under it."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from random_cases import random_document, random_tools, random_value, spellings, suiting_value

from benchmarks.fuzz import repeats_a_name
from toolroute.engine import LlamaEngine, ScriptedEngine
from toolroute.engine.gbnf import Grammar
from toolroute.errors import EngineError, RouteError, SchemaError, TokenRejected, UnsatisfiableRoute
from toolroute.grammar.automaton import advance
from toolroute.route import parse_route, validate_arguments
from toolroute.router import Router
from toolroute.schema import Route, compile_route, compile_schema

Load = Callable[..., LlamaEngine]

SCHEMAS: list[Any] = [
    {"type": "string", "pattern": "^[a-c]{2,3}-\\d+$"},
    {"type": "string", "pattern": "^(?!ab)[a-z\"\\\\\\n]*$"},
    {"type": "string", "minLength": 2, "maxLength": 2100},
    {"type": "string", "minLength": 1500},
    {"type": "integer", "minimum": -17, "maximum": 1234},
    {"type": "number", "multipleOf": 0.25, "minimum": 0},
    {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
    {"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}, "maxContains": 2},
    {"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 4},
    {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "boolean"}},
    {"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}, "required": ["b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    {"type": "object", "patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False},
    {"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "additionalProperties": False}}},
    {"enum": ["é\"\\\u2028", "\n", 1.5, None, {"a": [1, 2]}]},
    {"not": {"type": ["string", "object"]}},
    {},
]


def admits(engine: LlamaEngine, text: str, data: str) -> bool:
    """Whether the grammar ``text`` takes ``data`` as a whole."""
    grammar = engine.grammar(text)
    try:
        tokens = engine.tokenize(data)
        assert b"".join(engine.vocabulary.pieces[token] for token in tokens) == data.encode()
        for token in tokens:
            if not grammar.allows(token):
                return False
            grammar.accept(token)
        return grammar.allows(min(engine.vocabulary.eog))
    finally:
        grammar.close()


def mutated(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    return random.choice((text[:at] + text[at + 1 :], text[:at] + random.choice('"\\,:[]{}0a1 -.é\n') + text[at:], text[:at], text + "}"))


def walks(random: Random, route: Route, count: int) -> list[str]:
    """Random texts of the route, closed after some bytes."""
    found = []
    for _ in range(count):
        state, text = route.start, b""
        for _ in range(random.randrange(60)):
            view = state.view
            bytes_ = [b for b in (*view.edges, *(range(0x20, 0x7F) if view.wide else ())) if (state.step(b)) is not None]
            if not bytes_:
                break
            byte = random.choice(bytes_)
            after = state.step(byte)
            assert after is not None
            state, text = after, text + bytes((byte,))
        found.append((text + state.closing()).decode())
    return found


def same(engine: LlamaEngine, route: Route, texts: list[str]) -> None:
    grammar = route.gbnf()
    for text in texts:
        wanted = route.accepts(text)
        assert admits(engine, grammar, text) == wanted or (not wanted and repeats_a_name(text)), (text, wanted, grammar)


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_chosen_schemas(load: Load, number: int) -> None:
    engine, random = load(), Random(number)
    route = compile_schema(SCHEMAS[number])
    texts = [route.shortest.decode(), *walks(random, route, 12)]
    same(engine, route, [*texts, *(mutated(random, text) for text in texts for _ in range(3)), '"ab"', "1", "[1, 1]", "{}", "null", ""])


def test_long_repetitions_are_not_widened(load: Load) -> None:
    engine = load()
    for low, high in ((0, 2001), (1999, 2003), (0, 4500), (2500, 2500)):
        route = compile_schema({"type": "string", "minLength": low, "maxLength": high})
        grammar = route.gbnf()
        for size in (low - 1, low, high, high + 1):
            if size >= 0:
                assert admits(engine, grammar, f'"{"a" * size}"') == (low <= size <= high), (low, high, size)


def test_random_schemas(load: Load) -> None:
    engine, random, tried = load(), Random(7), 0
    while tried < 60:
        schema = random_document(random)
        try:
            route = compile_schema(schema)
            route.gbnf()
        except (UnsatisfiableRoute, SchemaError):
            continue
        tried += 1
        values = [random_value(random), *(suiting_value(random, schema, schema) for _ in range(2))]
        texts = [text for value in values for text in spellings(value, "spaced", 3)]
        texts += walks(random, route, 3)
        same(engine, route, [*texts, *(mutated(random, text) for text in texts)])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_replies_under_a_grammar_are_complete_within_the_cap(load: Load, temperature: float) -> None:
    engine, random, done = load(), Random(11), 0
    while done < 12:
        try:
            router = Router(engine, random_tools(random, 3), constraint="gbnf", decide="greedy", gate=None, temperature=temperature)
            least = len(engine.tokenize(router.route_offered.shortest.decode()))
            router.cap = least + random.randrange(1, 60)
            action = router.route("get the weather", tool_choice=random.choice(("auto", "required")))
        except (UnsatisfiableRoute, SchemaError):
            continue
        except RouteError as error:
            if "CapTooSmall" in type(error).__name__:
                continue
            raise
        done += 1
        assert action.usage.reply_tokens <= router.cap and action.stop_reason in ("complete", "cap")
        route = router.route_offered
        assert parse_route(action.text, route.names, route.terminals).ok and route.accepts(action.text)
        tool = next((tool for tool in route.tools if tool.name == action.tool), None)
        if tool is not None and action.complete:
            assert validate_arguments(tool, action.arguments) is None


def test_the_same_reply_as_under_the_mask(load: Load) -> None:
    engine = load()
    members = {"n": {"type": "integer"}, "s": {"type": "string", "maxLength": 9}}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": members}}]
    texts = [
        Router(engine, tools, cap=48, constraint=constraint, decide="greedy", gate=None).route("x", tool_choice="f").text
        for constraint in ("mask", "gbnf")
    ]
    assert texts[0] == texts[1]


def test_what_is_not_allowed_never_reaches_the_grammar(load: Load) -> None:
    engine = load()
    grammar = engine.grammar('root ::= "a"')
    bad = engine.tokenize("b")[0]
    with pytest.raises(TokenRejected):
        grammar.accept(bad)
    with pytest.raises(TokenRejected):
        grammar.accept(min(engine.vocabulary.eog))
    with pytest.raises(TokenRejected):
        grammar.accept(10**6)
    good = engine.tokenize("a")[0]
    assert good in grammar.all_allowed() and grammar.allows(good) and not grammar.allows(-1)
    grammar.accept(good)
    assert set(grammar.all_allowed().tolist()) == engine.vocabulary.eog
    grammar.close()
    grammar.close()
    with pytest.raises(EngineError, match="closed"):
        grammar.allowed(np.array([good], np.int32))


@pytest.mark.parametrize("text", ["", "root ::= missing", "root ::= ", "other ::= \"a\"", "root ::= \"a\"{2001}"])
def test_a_grammar_that_llama_does_not_take(load: Load, text: str) -> None:
    engine = load()
    if text == "root ::= ":
        assert isinstance(engine.grammar('root ::= ""'), Grammar)
        return
    with pytest.raises(EngineError, match="grammar"):
        engine.grammar(text)


def test_an_engine_without_grammars_is_refused() -> None:
    from scripts import engine, writes

    scripted = engine(writes('{"tool": "none"}'))
    assert isinstance(scripted, ScriptedEngine)
    with pytest.raises(EngineError, match="constraint='gbnf'"):
        Router(scripted, [{"name": "f"}], constraint="gbnf")


def test_equal_routes_print_equal_text() -> None:
    tools = random_tools(Random(3), 5)
    assert compile_route(tools).gbnf() == compile_route(json.loads(json.dumps(tools))).gbnf()
    state = advance(compile_route(tools).start, b'{"tool": ')
    assert state is not None
