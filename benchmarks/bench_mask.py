"""How long do compiling, first masks and repeated masks take, for one action and against other engines?

    python -m benchmarks.bench_mask [MODEL ...] [--limit 40] [--peer-python PATH] [--json FILE]

Every engine runs in a process of its own, on one thread, over the same routes (rows of the leaderboard, drawn evenly from five
categories), the same vocabulary (the pieces of the GGUF) and the same replies (the gold reply without white space, in the tokens of the
model's own tokenizer). Peers get the route as JSON Schema, with objects closed where the route closes them, and with white space switched
off. What is measured is told in ``peers/harness.py``. Rows that an engine cannot compile, or whose reply it refuses, are counted; times are
over the rows that all engines did, except for llama.cpp's sampler, which takes milliseconds a token and gets a few rows only.

Peers give their masks as bit masks, while toolroute's are sets that a sampler uses as they are; the line "bit masks" has toolroute
write out every mask too. The line "cap 256" has it keep the promise that every reply ends complete within so many tokens. An engine
that is not installed is left out and named. ``--peer-python`` is the interpreter of an environment that has llguidance, xgrammar, glrmask
and llama-cpp-python.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import bfcl
from benchmarks.peers.harness import Inputs
from toolroute.engine import pieces
from toolroute.engine.llama import library
from toolroute.engine.model import Model
from toolroute.engine.models import resolve_model
from toolroute.errors import RouteError
from toolroute.route import route_schema
from toolroute.vocab import Vocabulary

STYLES: Final[tuple[bfcl.Style, ...]] = ("compact", "spaced")
CATEGORIES: Final = ("simple_python", "multiple", "live_simple", "live_multiple", "irrelevance")
MODELS: Final = ("smollm2-135m", "gemma3-270m")
MEMORY_LIMIT: Final = 80e6
CATALOGUE_LIMIT: Final = 50e6
CATALOGUE_SIZE: Final = 1_000
WARM_FACTOR: Final = 5


class Engine(NamedTuple):
    """A program of ``benchmarks.peers`` with the setting it runs under."""

    module: str
    setting: dict[str, str]
    ours: bool = False
    few: bool = False


ENGINES: Final[dict[str, Engine]] = {
    "toolroute": Engine("ours", {}, ours=True),
    "toolroute, bit masks": Engine("ours", {"BITMASK": "1"}, ours=True),
    "toolroute, cap 256": Engine("ours", {"CAP": "256"}, ours=True),
    "llguidance": Engine("llguidance", {}),
    "glrmask": Engine("glrmask", {}),
    "glrmask, fast compile": Engine("glrmask", {"FAST_COMPILE": "1"}),
    "xgrammar": Engine("xgrammar", {}),
    "xgrammar, dynamic": Engine("xgrammar", {"DYNAMIC": "1"}),
    "llama.cpp GBNF": Engine("gbnf", {}, few=True),
}
_OURS_PYTHON: Final = ("ours", "ours_scale", "gbnf")

Facts = dict[str, Any]


# -- inputs --------------------------------------------------------------------------------------------------------------------------


def sampled(limit: int, seed: int) -> list[bfcl.Row]:
    """``limit`` rows that have a gold reply, as evenly from the categories as may be."""
    rng = random.Random(seed)
    found: list[bfcl.Row] = []
    for index, category in enumerate(CATEGORIES):
        rows = [row for row in bfcl.load(category) if bfcl.gold_reply(row) is not None]
        count = limit // len(CATEGORIES) + (index < limit % len(CATEGORIES))
        found += rng.sample(rows, min(count, len(rows)))
    return found


def inputs(rows: Sequence[bfcl.Row], tokenize: Callable[[str], list[int]]) -> list[Facts]:
    """The rows as the engines get them. A row whose tools make no route schema is left out."""
    made = []
    for row in rows:
        try:
            schema = json.dumps(closed(route_schema(row.tools)))
        except RouteError:
            continue
        made.append({"id": row.id, "tools": row.tools, "schema": schema, "replies": replies(row, tokenize)})
    return made


def replies(row: bfcl.Row, tokenize: Callable[[str], list[int]]) -> Facts:
    """The gold reply in both text forms."""
    texts = {style: bfcl.gold_reply(row, style) for style in STYLES}
    return {style: {"text": text, "tokens": tokenize(text)} for style, text in texts.items() if text is not None}


def closed(schema: Any) -> Any:
    """The schema with objects closed as a route closes them: those with declared members, where nothing is said about others."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    new: Facts = {}
    for key, value in schema.items():
        if key == "properties":
            new[key] = {name: closed(item) for name, item in value.items()}
        else:
            new[key] = closed(value) if key in ("anyOf", "oneOf", "allOf", "items", "prefixItems", "additionalProperties") else value
    if "properties" in new and "patternProperties" not in new:
        new.setdefault("additionalProperties", False)
    return new


class Tokens:
    """A model's vocabulary and tokenizer, without its weights."""

    def __init__(self, name: str) -> None:
        self.path = resolve_model(name)
        self._model = Model(library(), self.path, vocab_only=True)
        self.vocabulary: Vocabulary = pieces.read_vocabulary(self._model.lib, self._model.vocab)

    def tokenize(self, text: str) -> list[int]:
        """The model's own tokens of ``text``; its pieces spell it."""
        tokens = pieces.tokenize(self._model.lib, self._model.vocab, text, special=False)
        assert b"".join(self.vocabulary.pieces[token] for token in tokens) == text.encode()
        return tokens


# -- running an engine ---------------------------------------------------------------------------------------------------------------


def lines(module: str, arguments: Sequence[str], python: str, setting: dict[str, str], timeout: float) -> Iterator[Facts]:
    """The JSON lines of ``benchmarks.peers.MODULE``, as they come; at last ``{"exit": code, "stderr": its last line}``."""
    root = Path(__file__).resolve().parent.parent
    paths = [str(root), str(root / "src")] + [path for path in [os.environ.get("PYTHONPATH")] if path]
    single = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **single, **setting, "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryFile("w+") as errors:
        command = [python, "-m", f"benchmarks.peers.{module}", *arguments]
        child = subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        timer = threading.Timer(timeout, child.kill)
        timer.start()
        try:
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
            code = child.wait()
        finally:
            timed_out = not timer.is_alive()
            timer.cancel()
            child.kill()
            child.wait()
        errors.seek(0)
        last = (errors.read().strip().splitlines() or [""])[-1]
        yield {"exit": code, "stderr": f"stopped after {timeout:.0f} s" if timed_out else last}


def run_engine(name: str, folder: Path, python: str, timeout: float, advance: Callable[[], None]) -> Facts:
    """Everything one engine reports: ``rows`` by id, and what came before and after them."""
    engine = ENGINES[name]
    result: Facts = {"rows": {}, "refused": {}, "failed": {}}
    for facts in lines(engine.module, [str(folder)], python, engine.setting, timeout):
        row = facts.pop("row", None)
        if row is None:
            result.update(facts)
            continue
        advance()
        kind = next((kind for kind in ("refused", "failed") if kind in facts), None)
        if kind is None:
            result["rows"][row] = facts
        else:
            result[kind][row] = facts[kind]
    return result


# -- figures -------------------------------------------------------------------------------------------------------------------------


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, mean, 99th percentile and maximum."""
    ordered = sorted(values)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
    return {"p50": statistics.median(ordered), "mean": statistics.fmean(ordered), "p99": p99, "max": ordered[-1]}


def figures(result: Facts, common: Sequence[str]) -> Facts:
    """The spreads of one engine over the common rows, in nanoseconds."""
    rows = [result["rows"][row] for row in common if row in result["rows"]]
    if not rows:
        return {}
    single = {key: spread([row[key] for row in rows]) for key in ("compile", "cold", "warm", "warm_compile")}
    many = {key: spread([value for row in rows for value in row[key]]) for key in ("first", "repeat", "accept", "allowed")}
    return {**single, **many, "rows": len(rows), "tokens": statistics.fmean(row["tokens"] for row in rows)}


def common_rows(results: dict[str, Facts]) -> list[str]:
    """The rows that every engine did, those left aside that did none or get only a few."""
    done = [set(result["rows"]) for name, result in results.items() if result["rows"] and not ENGINES[name].few]
    return sorted(set.intersection(*done)) if done else []


def targets(summary: Facts) -> list[tuple[str, bool]]:
    """What was aimed at, with the figures, and whether it was met."""
    found = []
    for model, facts in summary["models"].items():
        engines = facts["engines"]
        ours = engines.get("toolroute", {})
        peers = {name: figure for name, figure in engines.items() if not ENGINES[name].ours and not ENGINES[name].few and figure}
        if ours and peers:
            for key, factor, text in (("cold", 1, "cold action ≤ best peer"), ("warm", WARM_FACTOR, "warm action ≤ 1/5 of best peer")):
                best = min(peers, key=lambda name: float(peers[name][key]["p50"]))
                mine, theirs = ours[key]["p50"], peers[best][key]["p50"]
                found.append((f"{model}: {text}: {time(mine)} against {time(theirs)} ({best}), medians", mine * factor <= theirs))
        if used := facts.get("memory"):
            most = max(part["used"] for part in used.values())
            sizes = f"{used['traced']['used'] / 1e6:.1f} MB allocated, {used['resident']['used'] / 1e6:.1f} MB resident"
            found.append((f"{model}: vocabulary and memo ≤ {MEMORY_LIMIT / 1e6:.0f} MB: {sizes}", most <= MEMORY_LIMIT))
        if many := facts.get("catalogue"):
            total = many["compile"] + many["action"]
            text = f"{model}: {many['tools']:,} tools, compile and first action ≤ {time(CATALOGUE_LIMIT)}: {time(total)}"
            found.append((f"{text} (and {time(many['read'])} to read the declarations)", total <= CATALOGUE_LIMIT))
    return found


def time(nanoseconds: float) -> str:
    """A duration with three figures."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    return f"{nanoseconds:.0f} ns"


_HEAD: Final = (
    "engine", "version", "rows (refused, failed)", "prepare", "compile", "mask, first", "mask, repeat", "accept",
    "**cold**", "**warm**", "warm + compile", "tokens allowed", "RSS prepared", "RSS peak",
)  # fmt: skip


def table(facts: Facts) -> str:
    """The figures of one vocabulary in Markdown."""
    out = ["| " + " | ".join(_HEAD) + " |", "|" + " --- |" * len(_HEAD)]
    for name, figure in facts["engines"].items():
        result = facts["results"][name]
        if not figure:
            out.append(f"| {name} |" + f" {result['stderr'] or 'no row in common'} |" + " |" * (len(_HEAD) - 2))
            continue
        whole = ["/".join(time(figure[key][k]) for k in ("p50", "mean", "p99", "max")) for key in ("compile", "first", "repeat")]
        ends = ["/".join(time(figure[key][k]) for k in ("p50", "mean")) for key in ("accept", "cold", "warm", "warm_compile")]
        count = f"{len(result['rows'])} ({len(result['refused'])}, {len(result['failed'])})"
        sizes = [f"+{(result['rss_prepared'] - result['rss_before']) / 1e6:.0f} MB", f"{result.get('rss_peak', 0) / 1e6:.0f} MB"]
        version = " ".join(f"{k} {v}" for k, v in result["versions"].items() if k not in ("python", "torch", "numpy"))
        cells = [name, version, count, time(result["prepare"]), *whole, *ends, f"{figure['allowed']['p50']:.0f}", *sizes]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def machine() -> Facts:
    """What the numbers were taken on."""
    model = platform.processor() or platform.machine()
    try:
        names = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    except OSError:
        pass
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.platform(), "python": sys.version.split()[0]}


# -- the program ---------------------------------------------------------------------------------------------------------------------


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", default=list(MODELS), help=f"names or GGUF files (default: {' '.join(MODELS)})")
    parser.add_argument("--limit", type=int, default=40, help="routes (default: 40)")
    parser.add_argument("--gbnf-rows", type=int, default=3, help="routes for llama.cpp's sampler (default: 3)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES), metavar="ENGINE", help=", ".join(ENGINES))
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter that has the other engines (default: this one)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds an engine may take for one vocabulary (default: 600)")
    parser.add_argument("--json", type=Path, help="file for all figures")
    return parser.parse_args(arguments)


def bench_model(name: str, rows: Sequence[bfcl.Row], given: argparse.Namespace, console: Console) -> Facts:
    """All engines over one vocabulary."""
    tokens = Tokens(name)
    made = inputs(rows, tokens.tokenize)
    eog = sorted(tokens.vocabulary.eog)
    results: dict[str, Facts] = {}
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with tempfile.TemporaryDirectory() as folder, Progress(*bars, console=console, transient=True) as progress:
        for engine in given.engines:
            part = made[:: max(1, len(made) // given.gbnf_rows)][: given.gbnf_rows] if ENGINES[engine].few else made
            Inputs(Path(folder)).write(tokens.vocabulary.pieces, eog, part, str(tokens.path))
            task = progress.add_task(f"{name}: {engine}", total=len(part))
            python = sys.executable if ENGINES[engine].module in _OURS_PYTHON else given.peer_python
            results[engine] = run_engine(engine, Path(folder), python, given.timeout, lambda task=task: progress.advance(task))  # type: ignore[misc]
            progress.remove_task(task)
        digest = hashlib.sha256(tokens.path.read_bytes()).hexdigest()
        facts: Facts = {"path": tokens.path.name, "size": tokens.vocabulary.size, "sha256": digest, "results": results}
        if "toolroute" in given.engines:
            facts.update(_scale(tokens, made, Path(folder), given.timeout))
    common = facts["common"] = common_rows(results)
    facts["engines"] = {
        engine: figures(result, list(result["rows"]) if ENGINES[engine].few else common) for engine, result in results.items()
    }
    return facts


def _scale(tokens: Tokens, rows: list[Facts], folder: Path, timeout: float) -> Facts:
    """Memory over all rows, and a catalogue of many tools."""
    eog = sorted(tokens.vocabulary.eog)

    def ask(kind: str, given: list[Facts]) -> list[Facts]:
        Inputs(folder).write(tokens.vocabulary.pieces, eog, given, str(tokens.path))
        *found, end = lines("ours_scale", [kind, str(folder)], sys.executable, {}, timeout)
        if end["exit"]:
            raise RuntimeError(f"{kind}: {end['stderr']}")
        return [facts for facts in found if "failed" not in facts]

    tools = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in bfcl.pooled(CATALOGUE_SIZE)]
    gold = next(row for row in bfcl.load("simple_python") if bfcl.gold_reply(row) and row.tools[0] in tools)
    runs = ask("catalogue", [{"tools": tools, "replies": replies(gold, tokens.tokenize)}])
    middle = {key: statistics.median(run[key] for run in runs) for key in ("read", "compile", "action", "rss")}
    return {
        "memory": {"traced": ask("traced", rows)[-1], "resident": ask("resident", rows)[-1]},
        "catalogue": {"tools": len(tools), **middle, "rss_first": runs[0]["rss"]},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, and write the file."""
    given = options(arguments)
    console = Console(stderr=True)
    rows = sampled(given.limit, given.seed)
    summary: Facts = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "seed": given.seed,
        "rows": [row.id for row in rows],
        "data": {"package": bfcl.PACKAGE, "version": bfcl.VERSION, "sha256": bfcl.SHA256},
        "models": {Path(name).stem: bench_model(name, rows, given, console) for name in given.models},
    }
    summary["targets"] = [{"target": text, "met": met} for text, met in targets(summary)]
    print(f"{summary['date']}, {summary['machine']['cpu']} ({summary['machine']['cores']} cores), one thread, seed {given.seed}\n")
    for name, facts in summary["models"].items():
        print(f"### {name}: {facts['size']:,} tokens, {len(facts['common'])} routes done by all of {len(rows)}\n")
        print("Times are p50/mean/p99/max or p50/mean; cold, warm: one action, compile (cold only) and every mask and accept.\n")
        print(table(facts) + "\n")
        if many := facts.get("catalogue"):
            times = [f"{what} {time(many[key])}" for key, what in (("read", "read"), ("compile", "compile"), ("action", "first action"))]
            print(f"{many['tools']:,} tools: {', '.join(times)}, {many['rss_first'] / 1e6:.0f} MB resident.\n")
    for target in summary["targets"]:
        print(f"- {'met' if target['met'] else 'MISSED'}: {target['target']}")
    if given.json is not None:
        given.json.write_text(json.dumps(summary, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
