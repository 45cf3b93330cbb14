"""Does a schema's mask accept the valid instances and refuse the invalid ones, here and in other engines, and at what cost?

    python -m benchmarks.conformance --schemas FILE[.gz] [--peer-python PATH] [--engines ENGINE ...] [--limit N]
                                     [--expect FILE [--update]] [--show REASON] [--json FILE]

The file has a JSON object a line: ``{"id", "group", "schema", "tests": [{"valid", "data"}]}``. Instances are written by ``json.dumps`` in
their own member order, non-ASCII as it is, spaced and compact; one is accepted if either text is. A schema *passes* if every valid
instance is accepted and every invalid one refused. Otherwise its outcome is the worst of: it accepts an invalid instance; it refuses a
valid one; it could not be compiled, which includes engines that get stuck or die on it (``--timeout`` seconds a schema). ``format`` counts
as an assertion.

Every engine runs in a process of its own, on one thread, over the same texts in the same tokens (``peers/schemas.py`` says what is done).
toolroute has two lines: the mask alone, and the mask with the check that the router makes afterwards. Times are of schemas that compiled
and of all masks asked for.

``--expect`` compares toolroute's outcomes with a committed file that may only improve (``ratchet.py``), and exits with 1 where one is
worse; ``--update`` writes what got better. ``--limit`` draws as evenly from the groups as may be, by ``--seed``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks import ratchet
from benchmarks.bench_mask import Tokens, machine, time
from benchmarks.bfcl import SEPARATORS
from benchmarks.children import Engine, Facts, run_engine
from benchmarks.peers.harness import Inputs

PASSES, REFUSED, NARROW, WIDE = "pass", "no-compile", "refuses-valid", "accepts-invalid"
ORDER: Final = (PASSES, REFUSED, NARROW, WIDE)
"""Outcomes, best first: a refusal at compile time has a name, a valid value that cannot be written has none, and an invalid value
that is let through is what all this is there to prevent."""

ENGINES: Final[dict[str, Engine]] = {
    "toolroute, mask": Engine("ours_schemas", {}, ours=True),
    "toolroute, mask + check": Engine("ours_schemas", {"AFTER": "1"}, ours=True),
    "llguidance": Engine("llguidance", {"COPY": "1"}),
    "glrmask": Engine("glrmask", {}),
    "glrmask, fast compile": Engine("glrmask", {"FAST_COMPILE": "1"}),
    "maskforge": Engine("maskforge", {}),
    "xgrammar": Engine("xgrammar", {"STRICT": "0"}),
    "xgrammar, dynamic": Engine("xgrammar", {"STRICT": "0", "DYNAMIC": "1"}),
    "outlines-core": Engine("outlines_core", {}),
}
OURS: Final = tuple(name for name, engine in ENGINES.items() if engine.ours)


# -- inputs --------------------------------------------------------------------------------------------------------------------------


def load(path: Path) -> list[Facts]:
    """The lines of a file, compressed or not."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def sampled(cases: Sequence[Facts], limit: int | None, seed: int) -> list[Facts]:
    """``limit`` cases, as evenly from the groups as may be, in the order of the file; all of them for None."""
    if limit is None or limit >= len(cases):
        return list(cases)
    rng = random.Random(seed)
    groups: dict[str, list[int]] = {}
    for index, case in enumerate(cases):
        groups.setdefault(case["group"], []).append(index)
    for members in groups.values():
        rng.shuffle(members)
    chosen: list[int] = []
    while len(chosen) < limit:
        for members in groups.values():
            if members and len(chosen) < limit:
                chosen.append(members.pop())
    return [cases[index] for index in sorted(chosen)]


def texts(data: Any) -> list[str]:
    """An instance in both text forms, or in the one where they are the same."""
    return list(dict.fromkeys(json.dumps(data, ensure_ascii=False, separators=separators) for separators in SEPARATORS.values()))


def inputs(cases: Iterable[Facts], tokenize: Callable[[str], list[int]]) -> list[Facts]:
    """The cases as the engines get them."""
    made = []
    for case in cases:
        tests = [
            {"valid": test["valid"], "texts": [{"text": text, "tokens": tokenize(text)} for text in texts(test["data"])]}
            for test in case["tests"]
        ]
        made.append({"id": case["id"], "schema": json.dumps(case["schema"], ensure_ascii=False), "tests": tests})
    return made


# -- figures -------------------------------------------------------------------------------------------------------------------------


def outcome(row: Facts, valid: Sequence[bool]) -> str:
    """What became of a schema: one of ``ORDER``. ``valid``: of each of its instances."""
    if "error" in row:
        return REFUSED
    pairs = list(zip(row["verdicts"], valid, strict=True))
    if any(verdict and not good for verdict, good in pairs):
        return WIDE
    return NARROW if any(good and not verdict for verdict, good in pairs) else PASSES


def percentiles(values: Iterable[int]) -> list[int]:
    """The 50th, 90th and 99th percentile and the maximum; nothing of nothing."""
    ordered = sorted(values)
    return [ordered[round(part * (len(ordered) - 1))] for part in (0.5, 0.9, 0.99, 1)] if ordered else []


def slowest(times: dict[str, int], most: int = 3) -> list[str]:
    """The schemas that took longest, each with its time."""
    return [f"{name} {time(times[name])}" for name in sorted(times, key=times.__getitem__, reverse=True)[:most]]


def reasons(row: Facts, kind: str) -> list[str]:
    """Why a schema does not pass, in words that other schemas may share; ``kind``: its outcome."""
    if kind == REFUSED:
        return [general(row["error"])]
    return sorted({general(why) for miss in row.get("misses", []) for why in miss["why"].split(" + ")}) or ["not told"]


def general(reason: str) -> str:
    """A reason without the names and numbers of one schema."""
    text = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "'…'", reason)
    return re.sub(r"\d+", "N", text)[:160]


def summary(cases: Sequence[Facts], result: Facts) -> Facts:
    """The figures of one engine: outcomes by id, reasons with ids, and times in nanoseconds."""
    valid = {case["id"]: [test["valid"] for test in case["tests"]] for case in cases}
    rows: dict[str, Facts] = result["rows"]
    outcomes = {name: outcome(row, valid[name]) for name, row in rows.items()}
    blamed: dict[str, dict[str, list[str]]] = {kind: {} for kind in ORDER[1:]}
    for name, kind in outcomes.items():
        if kind != PASSES:
            for reason in reasons(rows[name], kind):
                blamed[kind].setdefault(reason, []).append(name)
    judged = {name: list(zip(row["verdicts"], valid[name], strict=True)) for name, row in rows.items() if "verdicts" in row}
    return {
        "outcomes": outcomes,
        "counts": Counter(outcomes.values()),
        "refuses": sum(any(good and not verdict for verdict, good in pairs) for pairs in judged.values()),
        "reasons": blamed,
        "compile": percentiles(row["compile"] for row in rows.values() if "verdicts" in row),
        "mask": percentiles(value for row in rows.values() for value in row.get("masks", [])),
        "slowest": {
            "compile": slowest({name: row["compile"] for name, row in rows.items() if "verdicts" in row}),
            "mask": slowest({name: max(row["masks"]) for name, row in rows.items() if row.get("masks")}),
        },
        "masks": sum(len(row.get("masks", [])) for row in rows.values()),
        "disagree": sorted(name for name, row in rows.items() if row.get("disagree")),
        "exact": sum(bool(row.get("exact")) for row in rows.values()),
    }


_HEAD: Final = (
    "engine", "version", "passes", "not compiled", "refuses a valid instance", "accepts an invalid one", "compile", "mask", "RSS peak"
)  # fmt: skip


def table(total: int, results: dict[str, Facts], figures: dict[str, Facts]) -> str:
    """The figures in Markdown."""
    out = ["| " + " | ".join(_HEAD) + " |", "|" + " --- |" * len(_HEAD)]
    for name, result in results.items():
        if "unavailable" in result:
            out.append(f"| {name} | not available: {result['unavailable']} |" + " |" * (len(_HEAD) - 2))
            continue
        figure = figures[name]
        counts = figure["counts"]
        version = " ".join(f"{k} {v}" for k, v in result["versions"].items() if k not in ("python", "torch", "numpy"))
        whole = f"{counts[PASSES]} ({counts[PASSES] / max(1, total):.1%})"
        numbers = [whole, f"{counts[REFUSED]} ({counts[REFUSED] / max(1, total):.1%})", str(figure["refuses"]), str(counts[WIDE])]
        times = ["/".join(map(time, figure[key])) for key in ("compile", "mask")]
        peak = f"{result['rss_peak'] / 1e6:.0f} MB" if "rss_peak" in result else ""
        out.append("| " + " | ".join([name, version, *numbers, *times, peak]) + " |")
    return "\n".join(out)


def causes(figure: Facts, show: str | None = None, most: int = 3) -> str:
    """What the misses are owed to, most frequent first, with ids: ``most`` a reason, or all of those whose reason has ``show`` in it."""
    out = []
    for kind in ORDER[:0:-1]:
        blamed: dict[str, list[str]] = figure["reasons"][kind]
        for reason, ids in sorted(blamed.items(), key=lambda item: (-len(item[1]), item[0])):
            if show is None:
                out.append(f"| {kind} | {len(ids)} | {reason.replace('|', '¦')} | {' '.join(ids[:most])} |")
            elif show in reason:
                out += [f"{kind}: {reason}: {len(ids)}", *(f"  {name}" for name in ids)]
    if show is not None:
        return "\n".join(out)
    return "\n".join(["| outcome | schemas | reason | ids |", "| --- | ---: | --- | --- |", *out]) if out else "No misses."


# -- the program ---------------------------------------------------------------------------------------------------------------------


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--schemas", type=Path, required=True, metavar="FILE", help="JSON lines, .gz or not")
    parser.add_argument("--model", default="smollm2-135m", help="whose vocabulary: a name or a GGUF file (default: smollm2-135m)")
    parser.add_argument("--limit", type=int, help="schemas (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES), metavar="ENGINE", help=", ".join(ENGINES))
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter that has the other engines (default: this one)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds a schema may take, in each stage (default: 20)")
    parser.add_argument("--expect", type=Path, metavar="FILE", help="the committed outcomes")
    parser.add_argument("--update", action="store_true", help="write what got better to the file of --expect")
    parser.add_argument("--show", metavar="REASON", help="the ids of all schemas with this in the reason of a miss")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args(arguments)
    if given.expect is not None and not set(OURS) <= set(given.engines):
        parser.error(f"--expect needs the engines {', '.join(OURS)}")
    if given.update and given.expect is None:
        parser.error("--update needs --expect")
    return given


def run(cases: Sequence[Facts], given: argparse.Namespace, console: Console) -> dict[str, Facts]:
    """All engines."""
    tokens = Tokens(given.model)
    results = {}
    ends = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *ends)
    with tempfile.TemporaryDirectory() as folder, Progress(*bars, console=console, transient=True) as progress:
        rows = inputs(cases, tokens.tokenize)
        Inputs(Path(folder)).write(tokens.vocabulary.pieces, sorted(tokens.vocabulary.eog), rows, str(tokens.path))
        ids = [row["id"] for row in rows]
        for name in given.engines:
            task = progress.add_task(name, total=len(rows))
            python = sys.executable if ENGINES[name].ours else given.peer_python
            results[name] = run_engine(ENGINES[name], Path(folder), ids, python, given.timeout, lambda task=task: progress.advance(task))  # type: ignore[misc]
            progress.remove_task(task)
            if "unavailable" not in results[name]:  # a long run shows what it has
                progress.console.print(f"{name}: {dict(summary(cases, results[name])['counts'])}", highlight=False, markup=False)
    return results


def report(cases: Sequence[Facts], results: dict[str, Facts], figures: dict[str, Facts], show: str | None) -> None:
    """Print everything."""
    facts = machine()
    instances = sum(len(case["tests"]) for case in cases)
    print(f"{facts['cpu']} ({facts['cores']} cores), one thread; {len(cases)} schemas, {instances} instances.")
    print("Times are p50/p90/p99/max. A schema that accepts an invalid instance may refuse a valid one as well.\n")
    print(table(len(cases), results, figures))
    for name, figure in figures.items():
        if ENGINES[name].ours:
            print(f"\n### {name}: what the misses are owed to ({figure['exact']} schemas are exact in the mask by their report)\n")
            print(causes(figure, show))
            print("\n" + " ".join(f"Slowest, {what}: {', '.join(names)}." for what, names in figure["slowest"].items()))
            if figure["disagree"]:
                print(f"\nMASK AND LANGUAGE DISAGREE: {' '.join(figure['disagree'])}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write the file, and compare; 1 where something got worse, or masks and language disagree."""
    given = options(arguments)
    cases = sampled(load(given.schemas), given.limit, given.seed)
    results = run(cases, given, Console(stderr=True))
    figures = {name: summary(cases, result) for name, result in results.items() if "unavailable" not in result}
    report(cases, results, figures, given.show)
    failed = any(figure["disagree"] for figure in figures.values())
    if given.expect is not None:
        missing = [name for name in OURS if name not in figures]
        if missing:
            raise SystemExit(f"{missing[0]} did not run: {results[missing[0]]['unavailable']}")
        columns = [figures[name]["outcomes"] for name in OURS]
        found = {case["id"]: tuple(column[case["id"]] for column in columns) for case in cases}
        worse = ratchet.check(given.expect, found, ("mask", "mask+check"), ORDER, given.update)
        for change in worse:
            print(f"WORSE: {change.id}: {' '.join(change.found)}, expected {' '.join(change.expected)}")
        failed |= bool(worse)
    if given.json is not None:
        kept = {name: {key: value for key, value in result.items() if key != "rows"} for name, result in results.items()}
        data = {"machine": machine(), "schemas": len(cases), "engines": {name: {**kept[name], **figures.get(name, {})} for name in kept}}
        given.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
