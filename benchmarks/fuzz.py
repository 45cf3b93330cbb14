"""Do three judges agree: our states, ``jsonschema``, and llama.cpp's grammar sampler on the printed GBNF?

    python -m benchmarks.fuzz [--triples 20000] [--seed 0] [--seconds 3000]

A triple is a random schema, an instance of it or not, and a random walk through the language. The instance is judged by all three (in every
spelling that may come), the walk must be valid for ``jsonschema`` and a text for the grammar. Where the report says that something
is checked after, our states may accept more, never less. The grammar may accept a free member name twice, which it cannot know. What the
sampler runs on is a tiny random model that the tests write. Exits with 1 at the first disagreement, and prints it.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
from rich.console import Console
from rich.progress import Progress

from toolroute.engine import LlamaEngine
from toolroute.errors import RouteError, SchemaError, UnsatisfiableRoute
from toolroute.route.jsontext import load
from toolroute.route.judge import SchemaValidator
from toolroute.schema import Route, compile_schema

_TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "engine")]

from random_cases import random_document, random_logic, random_value, spellings, suiting_value  # noqa: E402
from tiny_gguf import write_tiny  # noqa: E402


def walk(random: Random, route: Route) -> str:
    """A random text of the route, closed after some bytes."""
    state, text = route.start, b""
    for _ in range(random.randrange(50)):
        view = state.view
        options = [byte for byte in (*view.edges, *(range(0x20, 0x7F) if view.wide else ())) if state.step(byte) is not None]
        if not options:
            break
        byte = random.choice(options)
        after = state.step(byte)
        assert after is not None
        state, text = after, text + bytes((byte,))
    return (text + state.closing()).decode()


def in_grammar(engine: LlamaEngine, grammar_text: str, text: str) -> bool:
    """Whether llama.cpp's sampler takes ``text`` as a whole."""
    grammar = engine.grammar(grammar_text)
    try:
        for token in engine.tokenize(text):
            if not grammar.allows(token):
                return False
            grammar.accept(token)
        return grammar.allows(min(engine.vocabulary.eog))
    finally:
        grammar.close()


def repeats_a_name(text: str) -> bool:
    repeated = []

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.append(len({name for name, _ in members}) < len(members))
        return dict(members)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except ValueError:
        return False
    return any(repeated)


def judge(random: Random, engine: LlamaEngine, counts: collections.Counter[str]) -> str | None:
    """One triple. What the judges disagree on, or None."""
    logic = random.random() < 0.6
    schema = random_logic(random, 3) if logic else random_document(random)
    expert = jsonschema.Draft202012Validator(schema)
    value = random_value(random) if logic or random.random() < 0.3 else suiting_value(random, schema, schema)
    try:
        route = compile_schema(schema)
    except UnsatisfiableRoute:
        counts["unsatisfiable"] += 1
        return f"{schema}: said to admit nothing, but admits {value}" if expert.is_valid(value) else None
    except SchemaError:
        counts["refused"] += 1
        return None
    try:
        grammar: str | None = route.gbnf()
    except SchemaError:
        grammar = None
        counts["no grammar"] += 1
    exact = route.report.exact
    counts["exact" if exact else "with a check after"] += 1
    valid, texts = expert.is_valid(value), spellings(value, "spaced", 40)
    accepted = [text for text in texts if route.accepts(text)]
    if accepted and exact and not valid:
        return f"{schema}: {accepted[0]} is accepted and not valid"
    if valid and not accepted and len(texts) < 40:
        return f"{schema}: {texts[0]} is valid and not accepted in any spelling"
    walked = walk(random, route)
    if not route.accepts(walked):
        return f"{schema}: the walk {walked} is not accepted"
    if exact and SchemaValidator(schema).check(load(walked)) is not None:  # walks have more digits than a float
        return f"{schema}: the walk {walked} is not valid"
    for text in (*texts[:2], walked) if grammar is not None else ():
        assert grammar is not None
        ours, theirs = route.accepts(text), in_grammar(engine, grammar, text)
        if ours != theirs and not (theirs and repeats_a_name(text)):
            return f"{schema}: {text}: states {ours}, grammar {theirs}\n{grammar}"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--triples", type=int, default=20_000, help="how many (default: 20000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3000, help="stop after so long (default: 3000)")
    given = parser.parse_args(arguments)
    counts: collections.Counter[str] = collections.Counter()
    begin, done = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, Progress(console=Console(stderr=True)) as progress:
        engine = LlamaEngine.load(write_tiny(Path(folder) / "tiny.gguf"), use_extra_bufts=False, n_threads=1)
        task = progress.add_task("triples", total=given.triples)
        for number in range(given.triples):
            if time.monotonic() - begin > given.seconds:
                break
            seed = given.seed * 1_000_003 + number
            try:
                fault = judge(Random(seed), engine, counts)
            except RouteError as error:
                fault = f"{type(error).__name__}: {error}"
            if fault is not None:
                print(f"seed {seed}: {fault}")
                return 1
            done += 1
            progress.advance(task)
        engine.close()
    print(f"{done:,} triples, no disagreement, {time.monotonic() - begin:.0f} s; " + ", ".join(f"{k} {v:,}" for k, v in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
