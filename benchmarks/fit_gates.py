"""Fits the gate between calling a tool and calling none, for one model, and says how good it is on rows it was not fitted on.

Theory. The decision is two questions: which tool, and whether any. For both the model gives a log-probability per name, plain and above
what the name has under a request without content. A *row* is a request with its own catalogue. It is a **call** row (one tool is right),
an **irrelevance** row (the leaderboard's own: no tool is right), or a **swapped** row: a call row whose right tool was replaced by one of
another row. Swapped rows are what keeps the figures honest: the leaderboard's irrelevance rows have fewer tools than its call rows, so
counting the tools alone would tell them apart; a swapped row has as many as its call row. Some foreign tools happen to be usable, so
these negatives are a little noisy, in disfavour of the gate.

Rows are split in halves by a hash of the call row's id (a swapped row goes with its call row). A gate is fitted on each half and judged on
the other; the figures are those of both halves together, and the gate that is written is fitted on all rows. Fitting is a logistic
regression on the two margins, every class with the same total weight, call rows only where the tool is right (calling a wrong tool is not
to be learnt); no weight is negative, because more evidence for a tool never speaks against it. The score that picks the tool is the better
one on the same rows. *Balanced accuracy* is the mean of the share of call rows with the right tool called and the share of no-call rows
with none called; intervals are 95 %, from a bootstrap over rows.

The scores are kept in a JSON Lines file per model, form of documentation and prompt, so that a run that was stopped goes on where it was.

    python -m benchmarks.fit_gates MODEL --bfcl WHEEL          measure and report
    python -m benchmarks.fit_gates MODEL --bfcl WHEEL --write  the same, and put the gate into gates.json
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.bfcl import PACKAGE, VERSION, Row, load
from toolroute.engine import LlamaEngine
from toolroute.engine.gate import Gate, Margins, margins
from toolroute.engine.protocol import Engine
from toolroute.engine.score import score_names
from toolroute.errors import RouteError
from toolroute.prompts import CONTENT_FREE
from toolroute.router import Router

Array = npt.NDArray[np.float64]
Kind = Literal["call", "irrelevance", "swapped"]
KINDS: Final[tuple[Kind, ...]] = ("call", "irrelevance", "swapped")
DocsMode = Literal["signatures", "full"]

GATES: Final = Path(__file__).resolve().parents[1] / "src" / "toolroute" / "engine" / "gates.json"
SHARES: Final = {"multiple": 2, "live_multiple": 2, "simple_python": 1, "live_simple": 1, "irrelevance": 1.5, "live_irrelevance": 1.5}
"""Rows per category, in parts. The call categories give as many swapped rows again."""
MOST_CHARACTERS: Final = 6000
"""Rows whose tools are longer than this, as JSON, are left out (characters, about 1,500 tokens)."""
RESAMPLES: Final = 2000


@dataclass(frozen=True)
class Task:
    """A row as it is put to the router. ``base``: the id of the row it was made from; ``gold``: the right tool, None for no call."""

    id: str
    base: str
    kind: Kind
    category: str
    request: str
    tools: list[dict[str, Any]]
    gold: str | None


class Scored(NamedTuple):
    """A task with the model's scores by name, and what greedy decoding would have named."""

    task: Task
    sums: dict[str, float]
    priors: dict[str, float]
    greedy: str

    @property
    def margins(self) -> Margins:
        return margins(self.sums, self.priors, ("none",))

    def tool(self, by: str) -> str:
        """The best tool by one of the scores."""
        values = self.sums if by == "sum" else {name: value - self.priors[name] for name, value in self.sums.items()}
        return max((name for name in values if name != "none"), key=lambda name: values[name])


# -- rows ----------------------------------------------------------------------------------------------------------------------------


def tasks(count: int, seed: int, source: str | None) -> list[Task]:
    """About ``count`` call and irrelevance rows, in parts as ``SHARES`` says, and a swapped row after each call row.

    In an order that keeps the kinds balanced wherever a run is stopped; fewer rows are among more rows.
    """
    pools: list[list[Task]] = []
    for category, share in SHARES.items():
        rows = [row for row in load(category, source) if row.request is not None and len(json.dumps(row.tools)) <= MOST_CHARACTERS]
        random.Random(f"{seed} {category}").shuffle(rows)
        wanted = round(count * share / sum(SHARES.values()))
        made: list[Task] = []
        for row in rows:
            if len(made) >= wanted * (1 if "irrelevance" in category else 2):
                break
            made += _tasks_of(row, rows, random.Random(f"{seed} {row.id}"))
        pools.append(made)
    ranked = [((rank + 0.5) / len(pool), order, task) for order, pool in enumerate(pools) for rank, task in enumerate(pool)]
    return [task for _, _, task in sorted(ranked, key=lambda item: item[:2])]


def _tasks_of(row: Row, others: Sequence[Row], rng: random.Random) -> list[Task]:
    request = row.request or ""
    if "irrelevance" in row.category:
        return [Task(row.id, row.id, "irrelevance", row.category, request, row.tools, None)]
    if row.answers is None or len(row.answers) != 1 or len(row.answers[0]) != 1:
        return []
    (gold,) = row.answers[0]
    names = {tool["name"] for tool in row.tools}
    if gold not in names:
        return []
    foreign = [tool for other in rng.sample(others, min(len(others), 8)) for tool in other.tools if tool["name"] not in names]
    if not foreign:
        return []
    swapped = [rng.choice(foreign) if tool["name"] == gold else tool for tool in row.tools]
    return [
        Task(row.id, row.id, "call", row.category, request, row.tools, gold),
        Task(f"{row.id}+swapped", row.id, "swapped", row.category, request, swapped, None),
    ]


# -- scores --------------------------------------------------------------------------------------------------------------------------


class Recorder:
    """An engine that remembers the branches it scored last, token by token."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.branches: list[list[int]] = []
        self.values: list[Array] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def score(self, branches: Sequence[Sequence[int]], first: npt.NDArray[np.floating]) -> list[Array]:
        self.branches = [list(branch) for branch in branches]
        self.values = self._engine.score(branches, first)
        return self.values

    def greedy(self) -> int:
        """The branch that is reached by taking the likeliest token that any branch has, again and again."""
        alive, depth = list(range(len(self.branches))), 0
        while len(alive) > 1:
            best = max(alive, key=lambda index: self.values[index][depth])
            alive = [index for index in alive if self.branches[index][depth] == self.branches[best][depth]]
            depth += 1
        return alive[0]


def score_task(engine: LlamaEngine, task: Task, docs: DocsMode) -> Scored | None:
    """The scores of every name, with and without the request; None for a catalogue that cannot be routed."""
    recorder = Recorder(engine)
    try:
        router = Router(recorder, task.tools, docs=docs, gate=None)
    except RouteError:
        return None
    offer = router._offer()
    stems = {name: offer.route.stem(name) for name in offer.route.choices}
    found = []
    for text in (CONTENT_FREE, task.request):
        prompt = router.prompt_tokens(offer, [{"role": "user", "content": text}])
        router._reserve(offer, len(prompt), router.cap)
        found.append(score_names(recorder, prompt, stems).sums)
    return Scored(task, found[1], found[0], list(stems)[recorder.greedy()])


def prompt_version(docs: DocsMode) -> str:
    """A short hash of everything the prompt says around a catalogue, so that a gate tells which wording it was fitted on."""
    tool = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"x": {"type": "string", "description": "e"}}}}
    engine: Any = None  # a static catalogue and no "auto": the prompt is made without a model
    system = Router(engine, [tool], docs=docs, gate=None)._offer().system
    return sha256(f"{system}\0{CONTENT_FREE}".encode()).hexdigest()[:12]


def scored(engine: LlamaEngine, wanted: Sequence[Task], docs: DocsMode, file: Path, seconds: float) -> list[Scored]:
    """The scores of all tasks, from ``file`` where they are there already; stops measuring after ``seconds``."""
    from rich.console import Console
    from rich.progress import track

    known: dict[str, dict[str, Any]] = {}
    if file.exists():
        known = {line["id"]: line for line in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    file.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    found: list[Scored] = []
    with file.open("a", encoding="utf-8") as store:
        for task in track(wanted, f"{engine.name} {docs}", console=Console(stderr=True)):
            line = known.get(task.id)
            if line is not None:
                found.append(Scored(task, line["sums"], line["priors"], line["greedy"]))
            elif time.monotonic() - started < seconds:
                one = score_task(engine, task, docs)
                if one is not None:
                    found.append(one)
                    line = {"id": task.id, "sums": one.sums, "priors": one.priors, "greedy": one.greedy}
                    store.write(json.dumps(line) + "\n")
                    store.flush()
    return found


# -- fitting -------------------------------------------------------------------------------------------------------------------------


def half(base: str) -> int:
    """Which half a row belongs to, 0 or 1."""
    return sha256(base.encode()).digest()[0] & 1


def logistic(features: Array, labels: Array, weights: Array, penalty: float = 0.01) -> Array:
    """Weights (none negative) and bias of a logistic regression, by Newton's method. ``penalty``: L2 on the weights of the standardised
    features, relative to the total weight of the rows (the bias is free)."""
    beta = _newton(features, labels, weights, penalty)
    if features.shape[1] > 1 and beta[:-1].min() < 0:
        worst = int(beta[:-1].argmin())
        beta = np.insert(logistic(np.delete(features, worst, axis=1), labels, weights, penalty), worst, 0.0)
    return beta


def _newton(features: Array, labels: Array, weights: Array, penalty: float) -> Array:
    scale = features.std(axis=0)
    x = np.column_stack([features / scale, np.ones(len(features))])
    weights = weights / weights.sum()
    ridge = penalty * np.diag([1.0] * features.shape[1] + [1e-9])
    beta = np.zeros(x.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -50, 50)))
        gradient = x.T @ (weights * (p - labels)) + ridge @ beta
        hessian = (x * (weights * p * (1 - p))[:, None]).T @ x + ridge + 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 5.0 / max(1e-12, float(np.abs(step).max())))
        beta = beta - step
        if np.abs(step).max() < 1e-9:
            break
    beta[:-1] /= scale
    return beta


def fit(rows: Sequence[Scored]) -> Gate:
    """The gate for these rows, and the score that picks the tool."""
    calls = [row for row in rows if row.task.kind == "call"]
    right = {by: sum(row.tool(by) == row.task.gold for row in calls) for by in ("sum", "corrected")}
    by: Literal["sum", "corrected"] = "corrected" if right["corrected"] > right["sum"] else "sum"
    used = [row for row in rows if row.task.kind != "call" or row.tool(by) == row.task.gold]
    counts = {kind: sum(row.task.kind == kind for row in used) for kind in KINDS}
    share = {"call": 0.5, "irrelevance": 0.25, "swapped": 0.25}
    features = np.array([row.margins for row in used])
    labels = np.array([row.task.kind == "call" for row in used], dtype=float)
    weights = np.array([share[row.task.kind] / counts[row.task.kind] for row in used])
    plain, corrected, bias = (float(f"{value:.4g}") for value in logistic(features, labels, weights))
    return Gate(plain, corrected, bias, by)


# -- judging -------------------------------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """What an arm did with a row: whether that is right, and how strongly it wanted to call."""

    kind: Kind
    right: bool
    want: float


def by_name(row: Scored, name: str, want: float) -> Verdict:
    return Verdict(row.task.kind, name == (row.task.gold or "none"), want)


def greedy(row: Scored) -> Verdict:
    """The name that is reached token by token."""
    return by_name(row, row.greedy, row.margins.plain)


def plain(row: Scored) -> Verdict:
    """The likeliest name, ``none`` among them."""
    return by_name(row, max(row.sums, key=lambda name: row.sums[name]), row.margins.plain)


def gated(row: Scored, gate: Gate) -> Verdict:
    want = gate.confidence(row.margins)
    return by_name(row, row.tool(gate.tool_by) if want > 0.5 else "none", want)


def auroc(positive: Array, negative: Array) -> float:
    """How often a positive is above a negative (ties count half)."""
    if not len(positive) or not len(negative):
        return float("nan")
    gaps = positive[:, None] - negative[None, :]
    return float((gaps > 0).mean() + (gaps == 0).mean() / 2)


def figures(found: Sequence[Verdict], seed: int) -> dict[str, Any]:
    """Shares of right decisions and their intervals, per kind of row and balanced."""
    right = {kind: np.array([one.right for one in found if one.kind == kind], dtype=float) for kind in KINDS}
    want = {kind: np.array([one.want for one in found if one.kind == kind]) for kind in KINDS}
    rng = np.random.default_rng(seed)

    def drawn(kind: Kind) -> Array:
        values = right[kind]
        picks = rng.integers(0, max(len(values), 1), (RESAMPLES, len(values)))
        return np.asarray(values[picks].mean(axis=1)) if len(values) else np.full(RESAMPLES, np.nan)

    means = {kind: drawn(kind) for kind in KINDS}
    at = {kind: float(values.mean()) if len(values) else float("nan") for kind, values in right.items()}

    def interval(values: Array) -> list[float]:
        return [round(float(value), 3) for value in np.percentile(values, [2.5, 97.5])]

    result: dict[str, Any] = {"n": {kind: len(values) for kind, values in right.items()}, "call": round(at["call"], 3)}
    for kind in ("irrelevance", "swapped"):
        result[kind] = {
            "none": round(at[kind], 3),
            "balanced": round((at["call"] + at[kind]) / 2, 3),
            "interval": interval((means["call"] + means[kind]) / 2),
            "auroc": round(auroc(want["call"], want[kind]), 3),
        }
    result["balanced"] = round((at["call"] + (at["irrelevance"] + at["swapped"]) / 2) / 2, 3)
    result["interval"] = interval((means["call"] + (means["irrelevance"] + means["swapped"]) / 2) / 2)
    return result


def tool_accuracy(rows: Iterable[Scored], by: str) -> float:
    """Share of the call rows in which the best tool is the right one."""
    hits = [row.tool(by) == row.task.gold for row in rows if row.task.kind == "call"]
    return round(sum(hits) / len(hits), 3) if hits else float("nan")


def judge(rows: Sequence[Scored], seed: int) -> dict[str, Any]:
    """All arms on the same rows; each row is judged by the gate of the half it is not in."""
    gates = [fit([row for row in rows if half(row.task.base) != which]) for which in (0, 1)]
    several = [row for row in rows if len(row.task.tools) > 1]
    return {
        "tool_accuracy": {by: tool_accuracy(several, by) for by in ("sum", "corrected")},
        "greedy": figures([greedy(row) for row in rows], seed),
        "plain": figures([plain(row) for row in rows], seed),
        "gate": figures([gated(row, gates[half(row.task.base)]) for row in rows], seed),
        "gates": [gate._asdict() for gate in gates],
    }


# -- output --------------------------------------------------------------------------------------------------------------------------


def report(title: str, gate: Gate, held_out: Mapping[str, Any]) -> str:
    """The held-out figures as Markdown."""
    n = held_out["gate"]["n"]
    several = "sum {sum:.2f}, corrected {corrected:.2f}".format(**held_out["tool_accuracy"])
    lines = [
        f"### {title}",
        "",
        f"gate: {gate.plain:g} · plain + {gate.corrected:g} · corrected + {gate.bias:g} > 0, tool by {gate.tool_by}.",
        f"Held out: {n['call']} call, {n['irrelevance']} irrelevance, {n['swapped']} swapped rows. Right tool among several: {several}.",
        "",
        "| arm | call | none: irrelevance | none: swapped | balanced: irrelevance | balanced: swapped | balanced, all | AUROC irr./sw. |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for arm in ("greedy", "plain", "gate"):
        got = held_out[arm]
        irrelevance, swapped = got["irrelevance"], got["swapped"]

        def spread(of: Mapping[str, Any]) -> str:
            return f"{of['balanced']:.3f} ({of['interval'][0]:.2f}-{of['interval'][1]:.2f})"

        shares = " | ".join(f"{share:.2f}" for share in (got["call"], irrelevance["none"], swapped["none"]))
        balanced = " | ".join(spread(of) for of in (irrelevance, swapped, got))
        lines.append(f"| {arm} | {shares} | {balanced} | {irrelevance['auroc']:.2f} / {swapped['auroc']:.2f} |")
    return "\n".join(lines) + "\n"


def versions() -> dict[str, str]:
    """What a reader needs to repeat a run."""
    return {"python": platform.python_version(), "machine": platform.platform(), "cpu": platform.processor() or platform.machine()}


def write_gate(model_hash: str, key: str, entry: Mapping[str, Any], file: Path = GATES) -> None:
    """Put one entry into gates.json, leaving the others as they are."""
    data = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"gates": {}}
    data["gates"].setdefault(model_hash, {})[key] = dict(entry)
    file.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Fit the call gate of a model and judge it on held-out rows.")
    parser.add_argument("model", help="a name of models.txt or a GGUF file")
    parser.add_argument("--bfcl", help="the leaderboard's wheel, or a directory it was unpacked to (default: fetched once)")
    parser.add_argument("--docs", choices=("signatures", "full"), default="signatures")
    parser.add_argument("--rows", type=int, default=240, help="call and irrelevance rows; each call row is also measured swapped")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop measuring new rows after this time")
    parser.add_argument("--keep", type=Path, default=Path("gate-scores"), help="directory of the scores that are kept between runs")
    parser.add_argument("--write", action="store_true", help="put the gate into gates.json")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)

    warnings.simplefilter("ignore", UserWarning)
    version = prompt_version(options.docs)
    with LlamaEngine.load(options.model, n_threads=options.threads) as engine:
        file = options.keep / f"{engine.model_hash[:12]}-{options.docs}-{version}-{options.seed}.jsonl"
        rows = scored(engine, tasks(options.rows, options.seed, options.bfcl), options.docs, file, options.seconds)
        name, model_hash, settings = engine.name, engine.model_hash, engine.settings
    gate = fit(rows)
    held_out = judge(rows, options.seed)
    key = f"spaced/{options.docs}"
    print(report(f"{name}, {key}", gate, held_out))
    entry = {
        **gate._asdict(),
        "model": name,
        "prompt": version,
        "data": f"{PACKAGE} {VERSION}",
        "seed": options.seed,
        "n": held_out["gate"]["n"],
        "held_out": {
            "call": held_out["gate"]["call"],
            **{f"balanced_{kind}": held_out["gate"][kind]["balanced"] for kind in ("irrelevance", "swapped")},
        },
        "date": time.strftime("%Y-%m-%d"),
    }
    if options.write:
        write_gate(model_hash, key, entry)
        print(f"written: {key} of {model_hash[:12]}", file=sys.stderr)
    if options.json:
        everything: dict[str, Any] = {"model": name, "sha256": model_hash, "key": key, "entry": entry, "held_out": held_out}
        everything |= {"settings": settings, "versions": versions(), "scores": [_line(row) for row in rows]}
        options.json.write_text(json.dumps(everything, indent=1, default=str) + "\n", encoding="utf-8")


def _line(row: Scored) -> dict[str, Any]:
    task = asdict(row.task)
    wanted = {name: task[name] for name in ("id", "kind", "category", "gold")}
    return {**wanted, "tools": len(row.task.tools), "margins": list(row.margins), "greedy": row.greedy}


if __name__ == "__main__":
    main()
