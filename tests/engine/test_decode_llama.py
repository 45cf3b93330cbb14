"""Routed replies of a random model through real llama.cpp: complete, valid, within the cap, and no step too many."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import jsonschema
import pytest
from random_cases import random_tools

from toolroute.engine import LlamaEngine
from toolroute.engine.decode import Decoder
from toolroute.engine.sampler import Sampler
from toolroute.errors import UnsatisfiableRoute
from toolroute.mask import Matcher
from toolroute.route import parse_route, validate_arguments
from toolroute.router import Router
from toolroute.schema import Route, compile_route

Load = Callable[..., LlamaEngine]
SAMPLERS = [Sampler(), Sampler(1.0, seed=1), Sampler(0.7, top_k=20, top_p=0.9, seed=2)]
WEATHER = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


def routes(count: int, seed: int) -> list[Route]:
    random, found = Random(seed), []
    while len(found) < count:
        try:
            found.append(compile_route(random_tools(random, 4), style=random.choice(("spaced", "compact"))))
        except UnsatisfiableRoute:
            continue
    return found


def write(engine: LlamaEngine, route: Route, cap: int, sampler: Sampler) -> Decoder:
    """One reply after a short prompt; its first forced run rides in the prompt's batch."""
    prompt = engine.tokenize("get the weather: ")
    matcher = Matcher(route, engine.vocabulary, cap, engine.tokenize)
    sampler.restart()
    decoder = Decoder(engine, matcher, sampler)
    decoder.take_forced()
    whole = [*prompt, *decoder.pending]
    decoder.pending = whole[engine.reuse(whole) :]
    decoder.run()
    return decoder


def check(route: Route, matcher: Matcher) -> None:
    text = matcher.text.decode()
    assert matcher.is_complete or matcher.is_terminated
    assert matcher.cap is None or len(matcher.tokens) <= matcher.cap
    parsed = parse_route(text, route.names, route.terminals)
    assert parsed.ok, (text, parsed.error)
    assert route.accepts(text)
    tool = next((tool for tool in route.tools if tool.name == parsed.tool), None)
    if tool is not None:
        assert validate_arguments(tool, parsed.arguments) is None, text
    assert jsonschema.Draft202012Validator(route.schema).is_valid(json.loads(text)), text


@pytest.mark.parametrize("sampler", SAMPLERS, ids=["greedy", "sampled", "filtered"])
def test_random_routes(load: Load, sampler: Sampler) -> None:
    engine = load(n_ctx=512)
    random = Random(5)
    for route in routes(25, seed=11):
        cap = len(engine.vocabulary.spell(route.shortest)) + random.choice((0, 1, 3, 10, 40))
        before = engine.steps
        decoder = write(engine, route, cap, sampler)
        check(route, decoder.matcher)
        # One step for each decision and nothing else: the first is the prompt's, and what follows the last is not evaluated.
        assert engine.steps - before == max(1, decoder.tally.decided)
        assert decoder.tally.forced + decoder.tally.decided == len(decoder.matcher.tokens)
        assert len(engine.tokens) <= len(engine.tokenize("get the weather: ")) + len(decoder.matcher.tokens)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=["greedy", "sampled", "filtered"])
def test_equal_inputs_give_equal_bytes(load: Load, sampler: Sampler) -> None:
    engine, other = load(n_ctx=512), load(n_ctx=512)
    for route in routes(6, seed=3):
        cap = len(engine.vocabulary.spell(route.shortest)) + 20
        first = write(engine, route, cap, sampler).matcher
        assert write(other, route, cap, sampler).matcher.tokens == first.tokens
        again = Matcher(route, engine.vocabulary, cap, engine.tokenize)
        for token in first.tokens:
            again.accept(token)
        assert again.text == first.text


def test_none_costs_no_step_after_the_prompt(load: Load) -> None:
    """Without a terminal but one there is a decision only where the names part, and it is taken from the prompt's own logits."""
    engine = load(n_ctx=512)
    route = compile_route([{"name": "zzz", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}])
    cap = len(engine.vocabulary.spell(route.shortest))  # so that only none fits
    before = engine.steps
    decoder = write(engine, route, cap, Sampler())
    assert decoder.matcher.text == b'{"tool": "none"}' and engine.steps - before == 1
    assert decoder.tally.decided <= 1 and not decoder.matcher.is_terminated


@pytest.mark.parametrize("decide", ["greedy", "score"])
def test_the_router_counts_its_steps(load: Load, decide: str) -> None:
    engine = load(n_ctx=1024, n_batch=512)
    router = Router(engine, [WEATHER, {"name": "get_time"}], 48, decide=decide, gate=None)  # type: ignore[arg-type]
    texts = []
    for _ in range(2):
        before = engine.steps
        action = router.route("the weather")
        usage = action.usage
        assert engine.steps - before == usage.model_steps
        decisions = max(0, usage.decided_tokens - 1) if decide == "greedy" else 1 + usage.decided_tokens
        assert usage.model_steps <= max(1, usage.prompt_steps) + decisions
        assert usage.reply_tokens <= 48 and router.route_offered.accepts(action.text)
        texts.append(action.text)
    assert texts[0] == texts[1]
    for choice in ("none", "get_time"):
        before = engine.steps
        assert router.route("x", tool_choice=choice).tool == choice and engine.steps == before  # nothing to decide: no step at all
