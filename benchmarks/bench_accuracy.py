"""Does the constraint cost accuracy? Whole calls, given the right tool, against free text and llama.cpp's grammar on the same prompt.

Theory. A mask changes what a model writes in ways that are easy to miss: the layout is not the model's own, forced text may be cut into
other tokens, optional members are offered one after the other, and a capped reply is shortened. If any of them hurts, constrained calls
are right less often than free ones. So every arm gets the same prompt tokens and the same right tool, writes greedily, and only the
writing differs:

* **ours**: the router with ``tool_choice`` set to the right tool;
* **free**: any token at all after the head of the reply, until the arguments close or the cap; whatever JSON object can be read there
  counts;
* **grammar**: the same head, then llama.cpp's own grammar of the same route schema; a token the grammar refuses is replaced by the
  likeliest one it allows.

Each is measured under both forms of documentation: *late* (signatures, then the right tool's parameters beside the request) and *full*
(all parameters in the catalogue's prompt). What is right is the leaderboard's rule (*loose*), and the same with exact strings
(*strict*). Intervals are 95 %, from a bootstrap over rows; differences are paired. Rows whose own answer breaks its tool's schema are
counted (no valid reply can be right there) and kept.

Replies are kept in a JSON Lines file per model, prompt and seed, so that a run that was stopped goes on where it was.

    python -m benchmarks.bench_accuracy MODEL --rows 60
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.bfcl import PACKAGE, VERSION, Row, gold_call, load, matches
from benchmarks.fit_gates import MOST_CHARACTERS, RESAMPLES, prompt_version, versions
from toolroute.engine import LlamaEngine
from toolroute.engine.llama import library
from toolroute.prompts import late_text
from toolroute.route.schema import route_schema
from toolroute.route.validate import argument_validator
from toolroute.router import Router

CATEGORIES: Final = ("multiple", "live_multiple")
DOCS: Final = ("late", "full")
WRITERS: Final = ("ours", "free", "grammar")
REFUSED: Final = float("-inf")


class Setting:
    """One row under one form of documentation: a router, the prompt's tokens, and the head of the reply."""

    def __init__(self, engine: LlamaEngine, row: Row, gold: str, docs: Any, cap: int) -> None:
        self.engine, self.gold, self.cap = engine, gold, cap
        self.router = Router(engine, row.tools, cap, docs=docs, gate=None)
        offer = self.router._offer()
        self.tool = next(tool for tool in offer.route.tools if tool.name == gold)
        self.request = row.request or ""
        self.prompt = self.router.prompt_tokens(
            offer, [{"role": "user", "content": self.request}], late_text(self.tool) if docs == "late" else ""
        )
        self.head = offer.route.stem(gold) + ' "arguments":'

    def ours(self) -> tuple[str, dict[str, Any] | None, int]:
        """The router's reply: its text, its arguments, and how many tokens it has."""
        action = self.router.route(self.request, tool_choice=self.gold)
        return action.text, action.arguments, action.usage.reply_tokens

    def free(self) -> tuple[str, dict[str, Any] | None, int]:
        """What the model writes after the head when any token may come."""
        return self._write(lambda row: int(row.argmax()), lambda token: None)

    def grammar(self) -> tuple[str, dict[str, Any] | None, int]:
        """What the model writes after the head under llama.cpp's grammar."""
        from llama_cpp.llama_grammar import json_schema_to_gbnf

        text = json_schema_to_gbnf(json.dumps(route_schema([self.tool], ())))
        grammar = Grammar(self.engine, text)
        try:
            for token in self.engine.tokenize(self.head):
                if not grammar.allows(token):
                    raise ValueError(f"the grammar of {self.gold} refuses the head of the reply")
                grammar.accept(token)
            return self._write(grammar.choose, grammar.accept)
        finally:
            grammar.free()

    def _write(self, choose: Callable[[Any], int], accept: Callable[[int], None]) -> tuple[str, dict[str, Any] | None, int]:
        engine = self.engine
        head = engine.tokenize(self.head)
        whole = [*self.prompt, *head]
        engine.reserve(len(whole) + self.cap)
        row = engine.evaluate(whole[engine.reuse(whole) :])
        written = b""
        for count in range(self.cap - len(head)):
            token = choose(row)
            if token in engine.vocabulary.eog:
                break
            accept(token)
            written += engine.vocabulary.pieces[token]
            arguments = first_object(written)
            if arguments is not None:
                return self.head + written.decode("utf-8", "replace"), arguments, len(head) + count + 1
            row = engine.evaluate([token])
        return self.head + written.decode("utf-8", "replace"), None, self.cap


def first_object(written: bytes) -> dict[str, Any] | None:
    """The JSON object that ``written`` begins with, if it is finished (raw line breaks in strings pass)."""
    text = written.decode("utf-8", "replace").lstrip()
    if not text.startswith("{") or "}" not in text:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class Grammar:
    """llama.cpp's grammar sampler, asked about the model's best token first and about all tokens only where that is refused."""

    def __init__(self, engine: LlamaEngine, text: str) -> None:
        self._lib = library()
        self._vocabulary = engine.vocabulary
        self._sampler = self._lib.llama_sampler_init_grammar(engine._model.vocab, text.encode(), b"root")
        if not self._sampler:
            raise ValueError("llama.cpp does not read the grammar")

    def _apply(self, tokens: Sequence[int], logits: Sequence[float]) -> list[float]:
        """Logits of candidates after the grammar; what it refuses is ``REFUSED``."""
        data = (self._lib.llama_token_data * len(tokens))()
        for slot, token, logit in zip(data, tokens, logits, strict=True):
            slot.id, slot.logit = token, logit
        candidates = self._lib.llama_token_data_array(data=data, size=len(tokens), selected=-1, sorted=False)
        self._lib.llama_sampler_apply(self._sampler, ctypes.byref(candidates))
        return [data[index].logit for index in range(len(tokens))]

    def allows(self, token: int) -> bool:
        return self._apply([token], [0.0])[0] != REFUSED

    def choose(self, row: Any) -> int:
        """The likeliest token that the grammar allows."""
        best = int(row.argmax())
        if self.allows(best):
            return best
        left = np.array(self._apply(range(len(row)), row.tolist()))
        return int(left.argmax())

    def accept(self, token: int) -> None:
        self._lib.llama_sampler_accept(self._sampler, token)

    def free(self) -> None:
        self._lib.llama_sampler_free(self._sampler)


# -- rows ----------------------------------------------------------------------------------------------------------------------------


def chosen(count: int, seed: int, source: str | None) -> list[tuple[Row, str]]:
    """``count`` rows with their right tool, the categories in turn; fewer rows are among more rows."""
    pools = []
    for category in CATEGORIES:
        rows = load(category, source)
        random.Random(f"{seed} {category}").shuffle(rows)
        fit = [row for row in rows if row.request is not None and len(json.dumps(row.tools)) <= MOST_CHARACTERS and row.answers]
        pools.append([(row, gold) for row in fit if row.answers for gold in row.answers[0] if any(gold == t["name"] for t in row.tools)])
    return [pair for together in zip(*pools, strict=False) for pair in together][:count]


def measure(engine: LlamaEngine, row: Row, gold: str, arms: Iterable[str], cap: int) -> dict[str, Any]:
    """What each arm (``docs/writer``) wrote for a row, and whether it is right."""
    found: dict[str, Any] = {}
    for docs in DOCS:
        writers = [writer for writer in WRITERS if f"{docs}/{writer}" in arms]
        if not writers:
            continue
        setting = Setting(engine, row, gold, docs, cap)
        valid = argument_validator(setting.tool)
        for writer in writers:
            text, arguments, tokens = getattr(setting, writer)()
            found[f"{docs}/{writer}"] = {
                "text": text,
                "tokens": tokens,
                "valid": arguments is not None and valid.check(arguments) is None,
                "loose": arguments is not None and matches(row, gold, arguments),
                "strict": arguments is not None and matches(row, gold, arguments, strict=True),
            }
    return found


# -- output --------------------------------------------------------------------------------------------------------------------------


def interval(values: np.ndarray[Any, Any], seed: int) -> list[float]:
    """Mean and 95 % bootstrap interval."""
    picks = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return [round(float(value), 3) for value in (values.mean(), low, high)]


def summary(lines: Sequence[Mapping[str, Any]], arms: Sequence[str], seed: int) -> dict[str, Any]:
    """Per arm the exactness, and ours minus the others (loose, paired, same documentation), over the rows that every arm has."""
    whole = [line for line in lines if all(arm in line["arms"] for arm in arms)]
    result: dict[str, Any] = {"rows": len(whole), "answer_breaks_schema": sum(not line["reachable"] for line in whole), "arms": {}}
    result["minus"] = {}
    if not whole:
        return result
    for arm in arms:
        got = [line["arms"][arm] for line in whole]
        result["arms"][arm] = {
            key: interval(np.array([one[key] for one in got], dtype=float), seed) for key in ("loose", "strict", "valid")
        }
        result["arms"][arm]["tokens"] = round(sum(one["tokens"] for one in got) / len(got), 1)
        for category in CATEGORIES:
            part = [line["arms"][arm]["loose"] for line in whole if line["category"] == category]
            result["arms"][arm][category] = round(sum(part) / len(part), 3) if part else None
        docs, writer = arm.split("/")
        if writer != "ours" and f"{docs}/ours" in arms:
            gaps = np.array([float(line["arms"][f"{docs}/ours"]["loose"]) - float(line["arms"][arm]["loose"]) for line in whole])
            result["minus"][arm] = interval(gaps, seed)
            same = [line["arms"][f"{docs}/ours"]["text"] == line["arms"][arm]["text"] for line in whole]
            result["arms"][arm]["same_text"] = round(sum(same) / len(same), 3)
    return result


def report(name: str, found: Mapping[str, Any]) -> str:
    """The figures as Markdown."""
    broken = found["answer_breaks_schema"]
    lines = [
        f"### {name}: whole call right, given the right tool ({found['rows']} rows; in {broken} the answer breaks the schema)",
        "",
        "| documentation / writer | loose | strict | multiple | live_multiple | valid | tokens | same text as ours | ours minus |",
        "|---|---|---|---|---|---|---|---|---|",
    ]

    def shown(values: Sequence[float]) -> str:
        return f"{values[0]:.3f} ({values[1]:.2f} to {values[2]:.2f})"

    for arm, got in found["arms"].items():
        same = f"{got['same_text']:.2f}" if arm in found["minus"] else ""
        gap = shown(found["minus"][arm]) if arm in found["minus"] else ""
        parts = " | ".join("" if got[category] is None else f"{got[category]:.2f}" for category in CATEGORIES)
        exact = f"{shown(got['loose'])} | {shown(got['strict'])}"
        lines.append(f"| {arm} | {exact} | {parts} | {got['valid'][0]:.2f} | {got['tokens']} | {same} | {gap} |")
    return "\n".join(lines) + "\n"


def differing(lines: Sequence[Mapping[str, Any]], docs: str) -> str:
    """The rows in which ours and free text are not both right or both wrong, to be read."""
    shown = []
    for line in lines:
        ours, free = (line["arms"].get(f"{docs}/{writer}") for writer in ("ours", "free"))
        if ours and free and ours["loose"] != free["loose"]:
            shown.append(f"{line['id']}: {'ours' if ours['loose'] else 'free'} right, gold {json.dumps(line['answer'])}")
            shown += [f"  ours {ours['text']}", f"  free {free['text']}"]
    return "\n".join(shown)


def main(arguments: Sequence[str] | None = None) -> None:
    from rich.console import Console
    from rich.progress import track

    parser = argparse.ArgumentParser(description="Whole-call exactness of the router, of free text and of a grammar, on the same prompts.")
    parser.add_argument("model", help="a name of models.txt or a GGUF file")
    parser.add_argument("--bfcl", help="the leaderboard's wheel, or a directory it was unpacked to (default: fetched once)")
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--arms", nargs="+", default=[f"{docs}/{writer}" for docs in DOCS for writer in WRITERS])
    parser.add_argument("--cap", type=int, default=256, help="tokens of a reply")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop measuring new rows after this time")
    parser.add_argument("--keep", type=Path, default=Path("call-replies"), help="directory of the replies that are kept between runs")
    parser.add_argument("--differing", action="store_true", help="also print the rows in which ours and free text differ")
    parser.add_argument("--json", type=Path, help="write all figures and replies to this file")
    options = parser.parse_args(arguments)

    warnings.simplefilter("ignore", UserWarning)
    version = sha256((prompt_version("signatures") + prompt_version("full")).encode()).hexdigest()[:12]
    rows = chosen(options.rows, options.seed, options.bfcl)
    started = time.monotonic()
    lines: list[dict[str, Any]] = []
    with LlamaEngine.load(options.model, n_threads=options.threads) as engine:
        file = options.keep / f"{engine.model_hash[:12]}-{version}-{options.cap}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        known = {line["id"]: line for line in map(json.loads, file.read_text("utf-8").splitlines())} if file.exists() else {}
        with file.open("a", encoding="utf-8") as store:
            for row, gold in track(rows, engine.name, console=Console(stderr=True)):
                line = known.get(row.id)
                missing = [arm for arm in options.arms if line is None or arm not in line["arms"]]
                if missing and time.monotonic() - started < options.seconds:
                    kept = line["arms"] if line else {}
                    answer = row.answers[0][gold] if row.answers else None
                    line = {"id": row.id, "category": row.category, "gold": gold, "answer": answer, "reachable": gold_call(row) is not None}
                    line["arms"] = {**kept, **measure(engine, row, gold, missing, options.cap)}
                    store.write(json.dumps(line) + "\n")
                    store.flush()
                if line is not None:
                    lines.append(line)
        name, model_hash, settings = engine.name, engine.model_hash, engine.settings
    found = summary(lines, options.arms, options.seed)
    print(report(name, found))
    if options.differing:
        for docs in DOCS:
            print(f"\n{docs}\n{differing(lines, docs)}")
    if options.json:
        everything: dict[str, Any] = {"model": name, "sha256": model_hash, "seed": options.seed, "cap": options.cap, "prompt": version}
        everything |= {"data": f"{PACKAGE} {VERSION}", "settings": settings, "versions": versions(), "summary": found, "rows": lines}
        options.json.write_text(json.dumps(everything, indent=1, default=str) + "\n", encoding="utf-8")
        print(f"written: {options.json}", file=sys.stderr)


if __name__ == "__main__":
    main()
