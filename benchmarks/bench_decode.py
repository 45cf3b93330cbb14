"""What does an action cost after its prompt: model steps, tokens and seconds, against llama.cpp's grammars on the same prompts?

    python -m benchmarks.bench_decode MODEL [--rows 16] [--json FILE]

Four arms, each in a process of its own, on the same prompt tokens, greedily, with the same threads, batch size and cap, without
flash attention and without llama.cpp's extra buffers (a default build of llama-cpp-python crashes with them on some machines):

* **ours, greedy** and **ours, scored**: ``Router.route``; its *wall* is the whole call (compiling, rendering and checking
included); * **full**: llama-cpp-python's ``create_completion`` with ``LlamaGrammar``, which is what ``create_chat_completion``
calls: the grammar filters the whole vocabulary at every token; * **check**: the same grammar, but only the best token is checked
and the vocabulary filtered on a miss, as llama-server does.

The grammar is llama-cpp-python's own conversion of our route schema; it drops some keywords, allows raw newlines in strings and has
blanks of its own, so texts may differ. In every arm the prompt without its last token is evaluated first and not counted. Call rows
are run with the right tool's route only (``tool_choice``), so that every arm writes arguments; none rows with the whole route.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks import bfcl
from toolroute.catalogue import Catalogue
from toolroute.engine import LlamaEngine, resolve_model
from toolroute.router import Router

ARMS = ("ours, greedy", "ours, scored", "check", "full")
CATEGORIES = {"multiple": "call", "live_multiple": "call", "irrelevance": "none", "live_irrelevance": "none"}
N_CTX, N_BATCH = 4096, 512
Run = Callable[[dict[str, Any], int], dict[str, Any]]


def rows(limit: int, seed: int, source: str | None) -> list[dict[str, Any]]:
    """Rows, drawn evenly from the categories: id, kind, request, tools and (call rows) the right tool's name."""
    found = []
    for category, kind in CATEGORIES.items():
        pool = [row for row in bfcl.load(category, source) if row.request and len(json.dumps(row.tools)) < 6000]
        for row in random.Random(f"{seed}/{category}").sample(pool, -(-limit // len(CATEGORIES))):
            gold = bfcl.gold_call(row)
            if kind == "none" or (gold is not None and gold[0] is not None):
                tool = gold[0] if kind == "call" and gold is not None else None
                found.append({"id": row.id, "kind": kind, "request": row.request, "tools": row.tools, "tool": tool})
    return found[:limit]


def ours(engine: LlamaEngine, decide: str) -> Run:
    """The router's arm."""

    def run(row: dict[str, Any], cap: int) -> dict[str, Any]:
        router = Router(engine, Catalogue.from_tools(row["tools"]), cap, decide=decide, docs="signatures")  # type: ignore[arg-type]
        if row["tool"] is None and decide == "score":
            router.route("N/A")  # the catalogue's priors, taken once
        engine.truncate(0)
        engine.evaluate(row["prompt"][:-1])
        before, started = engine.steps, time.perf_counter()
        action = router.route(row["request"], tool_choice=row["tool"] or "auto")
        wall = time.perf_counter() - started
        times = action.timings
        decode = times.decode + times.mask + times.choose
        outside = (times.mask + times.choose) / decode if times.decode else None
        return {
            "text": action.text, "steps": engine.steps - before, "decided": action.usage.decided_tokens,
            "forced": action.usage.forced_tokens, "wall": wall, "outside": outside, "complete": action.complete,
        }  # fmt: skip

    return run


def full(path: str) -> Run:
    """llama-cpp-python's arm."""
    import llama_cpp

    defaults = llama_cpp.llama_cpp.llama_model_default_params

    def without_extra_buffers() -> Any:
        params = defaults()
        params.use_extra_bufts = False
        return params

    llama_cpp.llama_cpp.llama_model_default_params = without_extra_buffers
    llm = llama_cpp.Llama(path, n_ctx=N_CTX, n_batch=N_BATCH, n_threads=2, flash_attn=False, verbose=False)
    steps = 0
    decode = llm._ctx.decode

    def counted(batch: Any) -> None:
        nonlocal steps
        steps += 1
        decode(batch)

    llm._ctx.decode = counted

    def run(row: dict[str, Any], cap: int) -> dict[str, Any]:
        nonlocal steps
        grammar = llama_cpp.LlamaGrammar.from_json_schema(json.dumps(row["schema"]), verbose=False)
        llm.reset()
        llm.eval(row["prompt"][:-1])
        steps, started = 0, time.perf_counter()
        answer = llm.create_completion(row["prompt"], max_tokens=cap, temperature=0.0, grammar=grammar)
        wall = time.perf_counter() - started
        count = answer["usage"]["completion_tokens"]
        complete = answer["choices"][0]["finish_reason"] == "stop"
        return {"text": answer["choices"][0]["text"], "steps": steps, "decided": count, "forced": 0, "wall": wall, "complete": complete}

    return run


def check(engine: LlamaEngine) -> Run:
    """The one-candidate check, over the same engine as ours."""
    import llama_cpp
    from llama_cpp import llama_cpp as lib

    vocab = engine._model.vocab
    size = engine.vocabulary.size

    def rejects(sampler: Any, data: Any, count: int) -> None:
        """Write −inf over the candidates that the grammar refuses."""
        lib.llama_sampler_apply(sampler, ctypes.byref(lib.llama_token_data_array(data, count, -1, False)))

    def run(row: dict[str, Any], cap: int) -> dict[str, Any]:
        text = llama_cpp.LlamaGrammar.from_json_schema(json.dumps(row["schema"]), verbose=False)._grammar
        engine.truncate(0)
        engine.evaluate(row["prompt"][:-1])
        before, started = engine.steps, time.perf_counter()
        sampler = lib.llama_sampler_init_grammar(vocab, text.encode(), b"root")
        if not sampler:
            raise RuntimeError("llama.cpp refuses the grammar")
        tokens: list[int] = []
        one, every = (lib.llama_token_data * 1)(), (lib.llama_token_data * size)()
        table = np.frombuffer(every, np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
        last, complete = row["prompt"][-1], False
        while len(tokens) < cap:
            logits = engine.evaluate([last])
            best = int(logits.argmax())
            one[0].id, one[0].logit = best, 1.0
            rejects(sampler, one, 1)
            if one[0].logit != 1.0:
                table["id"], table["logit"] = np.arange(size), logits
                rejects(sampler, every, size)
                best = int(table["id"][table["logit"].argmax()])
            if best in engine.vocabulary.eog:
                complete = True
                break
            lib.llama_sampler_accept(sampler, best)
            tokens.append(best)
            last = best
        wall = time.perf_counter() - started
        lib.llama_sampler_free(sampler)
        written = b"".join(engine.vocabulary.pieces[t] for t in tokens).decode("utf-8", "replace")
        return {"text": written, "steps": engine.steps - before, "decided": len(tokens), "forced": 0, "wall": wall, "complete": complete}

    return run


def prepare(engine: LlamaEngine, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that llama-cpp-python's converter takes, with prompt tokens and route schema, the same for every arm."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    kept = []
    for row in found:
        router = Router(engine, Catalogue.from_tools(row["tools"]), docs="signatures", gate=None)
        offer = router._offer()
        row["prompt"] = router.prompt_tokens(offer, [{"role": "user", "content": row["request"]}])
        row["schema"] = offer.route.only([row["tool"]]).schema if row["tool"] else offer.route.schema
        try:
            json_schema_to_gbnf(json.dumps(row["schema"]))
        except (AssertionError, ValueError, KeyError, TypeError) as error:
            print(f"left out {row['id']}: llama-cpp-python's converter refuses its schema ({error!s:.80})", file=sys.stderr)
        else:
            kept.append(row)
    return kept


def child(arm: str, model: str, file: Path, cap: int) -> None:
    """Run one arm over the rows of ``file``; a JSON line a row on stdout."""
    warnings.simplefilter("ignore")
    found = json.loads(file.read_text())
    path = str(resolve_model(model))
    if arm == "full":
        run = full(path)
    else:
        engine = LlamaEngine.load(path, n_ctx=N_CTX, n_batch=N_BATCH, n_threads=2)
        run = check(engine) if arm == "check" else ours(engine, arm.split(", ")[1].replace("scored", "score"))
    run(found[0], cap)  # warm
    for row in found:
        print(json.dumps({"id": row["id"], "kind": row["kind"], **run(row, cap)}), flush=True)


def summary(results: dict[str, list[dict[str, Any]]]) -> str:
    """Markdown tables."""
    lines = ["| arm | rows | tokens (decided + forced) | model steps | wall s, mean | wall s, p50 | cut or open |", "|---|" + "---|" * 6]
    for kind in ("call", "none"):
        for arm, rows_ in results.items():
            of = [row for row in rows_ if row["kind"] == kind]
            if of:
                mean = {k: statistics.mean(row[k] for row in of) for k in ("decided", "forced", "steps", "wall")}
                lines.append(
                    f"| {arm}, {kind} | {len(of)} | {mean['decided']:.1f} + {mean['forced']:.1f} | {mean['steps']:.1f} "
                    f"| {mean['wall']:.3f} "
                    f"| {statistics.median(row['wall'] for row in of):.3f} | {sum(not row['complete'] for row in of)} |"
                )
    lines.append("")
    for mine in ARMS[:2]:
        for peer in ARMS[2:]:
            for kind in ("call", "none"):
                pair = [(a["wall"], b["wall"]) for a, b in zip(results[mine], results[peer], strict=True) if a["kind"] == kind]
                if pair:
                    ratio = sum(a for a, _ in pair) / sum(b for _, b in pair)
                    lines.append(f"- wall, {mine} / {peer}, {kind} rows: **{ratio:.2f} x** (n {len(pair)})")
    none = '{"tool": "none"}'
    for arm, most in (("ours, greedy", 1), ("ours, scored", 2)):
        of = [row["steps"] for row in results[arm] if row["kind"] == "none" and row["text"] == none]
        verdict = "no row was a none" if not of else "met" if all(steps <= most for steps in of) else f"MISSED ({sorted(of)})"
        extra = "0 steps after the prompt's own" if most == 1 else "exactly one scoring batch after the prompt's own"
        lines.append(f"- a none of {arm} costs {extra}: {verdict} (n {len(of)})")
    shares = [row["outside"] for arm in ARMS[:2] for row in results[arm] if row.get("outside") is not None]
    if shares:
        worst, mean_share = max(shares), statistics.mean(shares)
        verdict = "met" if mean_share <= 0.03 else "MISSED"
        lines.append(f"- time outside llama_decode ≤ 3 % of decoding: {verdict}, mean {mean_share:.1%}, most {worst:.1%}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="a name of models.txt or a GGUF file")
    parser.add_argument("--bfcl", help="the leaderboard's wheel, or a directory it was unpacked to (default: fetched once)")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--cap", type=int, default=160, help="tokens of a reply (default: 160)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--child", nargs=2, metavar=("ARM", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], options.model, Path(options.child[1]), options.cap)
        return
    path = resolve_model(options.model)
    found = rows(options.rows, options.seed, options.bfcl)
    with LlamaEngine.load(path, n_ctx=N_CTX, n_batch=N_BATCH, n_threads=2) as engine:
        found = prepare(engine, found)
        settings = engine.settings
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        file.write_text(json.dumps(found))
        for arm in track(ARMS, "arms", console=Console(stderr=True)):
            command = [sys.executable, "-m", "benchmarks.bench_decode", str(path), "--cap", str(options.cap), "--child", arm, str(file)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            results[arm] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    import llama_cpp

    machine = platform.processor() or platform.machine()
    print(f"{path.name}, {len(found)} rows, {machine}, llama-cpp-python {llama_cpp.__version__}, seed {options.seed}\n")
    print(summary(results))
    if options.json:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        facts = {"model": path.name, "sha256": digest, "settings": {k: str(v) for k, v in settings.items()}, "seed": options.seed}
        options.json.write_text(json.dumps({**facts, "results": results}, indent=1))


if __name__ == "__main__":
    main()
