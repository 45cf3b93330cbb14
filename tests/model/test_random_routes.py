"""500 random routes under random caps on the default model: every reply parses, validates and stays within its cap."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

import jsonschema
import pytest
from random_cases import random_tools

from toolroute.engine import LlamaEngine, resolve_model
from toolroute.engine.decode import Decoder
from toolroute.engine.sampler import Sampler
from toolroute.errors import CapTooSmall, ModelError, UnsatisfiableRoute
from toolroute.mask import Matcher
from toolroute.route import parse_route, validate_arguments
from toolroute.schema import compile_route

MODEL = "smollm2-135m"
ROUTES = 500

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def engine() -> Iterator[LlamaEngine]:
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    try:
        resolve_model(MODEL)
    except ModelError as error:
        pytest.skip(f"{MODEL} cannot be had: {error}")
    with LlamaEngine.load(MODEL, n_ctx=256, n_threads=1) as loaded:
        yield loaded


def test_every_reply_is_complete_and_valid(engine: LlamaEngine) -> None:
    random = Random(2026)
    prompt = engine.tokenize("User: What is the weather in Oslo?\nAnswer with one line of JSON: ")
    written = refused = capped = 0
    while written < ROUTES:
        try:
            route = compile_route(random_tools(random), style=random.choice(("spaced", "compact")))
        except UnsatisfiableRoute:
            continue
        cap = random.randrange(8, 81)
        try:
            matcher = Matcher(route, engine.vocabulary, cap, engine.tokenize)
        except CapTooSmall as error:
            assert error.given == cap < error.needed == len(engine.vocabulary.spell(route.shortest))
            refused += 1
            continue
        sampler = (
            Sampler()
            if random.random() < 0.5
            else Sampler(random.uniform(0.3, 1.5), random.choice((0, 20)), random.choice((0.9, 1.0)), written)
        )
        decoder = Decoder(engine, matcher, sampler)
        decoder.take_forced()
        whole = [*prompt, *decoder.pending]
        decoder.pending = whole[engine.reuse(whole) :]
        before = engine.steps
        decoder.run()
        assert matcher.is_complete or matcher.is_terminated
        assert len(matcher.tokens) <= cap and engine.steps - before == max(1, decoder.tally.decided)
        text = matcher.text.decode()
        parsed = parse_route(text, route.names, route.terminals)
        assert parsed.ok and route.accepts(text), (text, parsed.error)
        tool = next((tool for tool in route.tools if tool.name == parsed.tool), None)
        assert tool is None or validate_arguments(tool, parsed.arguments) is None, text
        assert jsonschema.Draft202012Validator(route.schema).is_valid(json.loads(text)), text
        written += 1
        capped += matcher.capped
    assert capped > 20 and refused < ROUTES
