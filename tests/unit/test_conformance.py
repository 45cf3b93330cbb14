"""The conformance program: what it samples, how it judges, and that an engine which is stuck or dies costs one schema."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import children, conformance
from benchmarks.children import Engine
from benchmarks.conformance import NARROW, PASSES, REFUSED, WIDE
from benchmarks.peers import blame, schemas
from benchmarks.peers.harness import Inputs, Session
from toolroute.route.judge import SchemaValidator
from toolroute.schema import compile_schema

PIECES = [bytes([byte]) for byte in range(256)] + [b""]
EOG = [256]


def tokenize(text: str) -> list[int]:
    return list(text.encode())


def case(name: str, schema: Any, *tests: tuple[Any, bool], group: str = "g") -> dict[str, Any]:
    return {"id": name, "group": group, "schema": schema, "tests": [{"data": data, "valid": valid} for data, valid in tests]}


CASES = [
    case("passes", {"type": "object", "properties": {"a": {"type": "integer"}}}, ({"a": 1}, True), ({"a": "x"}, False)),
    case("refused", {"$ref": "#/nowhere"}, (1, True)),
    case("order", {"type": "array", "items": {"enum": [1, 2]}}, ([1, 2], True), ([3], False)),
]


def run(cases: list[dict[str, Any]], which: Engine, folder: Path, timeout: float = 30) -> dict[str, Any]:
    rows = conformance.inputs(cases, tokenize)
    Inputs(folder).write(PIECES, EOG, rows, "")
    advanced: list[int] = []
    found = children.run_engine(which, folder, [row["id"] for row in rows], sys.executable, timeout, lambda: advanced.append(1))
    assert "unavailable" in found or len(advanced) == len(cases)
    return found


def test_both_lines_of_toolroute_judge_and_say_why(tmp_path: Path) -> None:
    for name in conformance.OURS:
        result = run(CASES, conformance.ENGINES[name], tmp_path)
        figures = conformance.summary(CASES, result)
        assert figures["outcomes"] == {"passes": PASSES, "refused": REFUSED, "order": PASSES}
        assert len(figures["compile"]) == len(figures["mask"]) == 4
        assert figures["disagree"] == []
        ((reason, ids),) = figures["reasons"][REFUSED].items()
        assert ids == ["refused"]
        assert "$ref" in reason
        assert "not available" not in conformance.table(3, {name: result}, {name: figures})


STUCK = """
import json, os, sys, time
start = int(sys.argv[3])
print(json.dumps({"prepare": 1, "versions": {}}), flush=True)
for index, name in enumerate(["a", "b", "c", "d"]):
    if index < start:
        continue
    print(json.dumps({"at": index, "stage": "compile"}), flush=True)
    if name == "b":
        time.sleep(60)
    if name == "c":
        os._exit(9)
    print(json.dumps({"row": name, "compile": 5, "masks": [1], "verdicts": [True]}), flush=True)
"""


def test_a_stuck_or_dying_process_costs_one_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Replaced(children.Child):
        def __init__(self, arguments: list[str], python: str, setting: dict[str, str]) -> None:
            (tmp_path / "stuck_peer.py").write_text(STUCK)
            super().__init__(["stuck_peer", *arguments[1:]], python, {"PYTHONPATH": str(tmp_path)})

    monkeypatch.setattr(children, "Child", Replaced)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    cases = [case(name, True, (1, True)) for name in "abcd"]
    result = run(cases, Engine("x", {}), tmp_path, timeout=1)
    figures = conformance.summary(cases, result)
    assert figures["outcomes"] == {"a": PASSES, "b": REFUSED, "c": REFUSED, "d": PASSES}
    assert result["rows"]["b"]["error"].startswith("timeout: compile")
    assert result["rows"]["c"]["error"].startswith("the process ended with code 9")
    assert figures["compile"] == [5, 5, 5, 5]


def test_an_engine_that_is_not_installed_is_named(tmp_path: Path) -> None:
    result = run(CASES, Engine("no_such_engine", {}), tmp_path)
    assert "no_such_engine" in result["unavailable"]
    assert "not available" in conformance.table(3, {"x": result}, {})


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        ({"error": "x"}, REFUSED),
        ({"verdicts": [True, False]}, PASSES),
        ({"verdicts": [False, False]}, NARROW),
        ({"verdicts": [True, True]}, WIDE),
        ({"verdicts": [False, True]}, WIDE),
    ],
)
def test_the_outcome_is_the_worst(row: dict[str, Any], outcome: str) -> None:
    assert conformance.outcome(row, [True, False]) == outcome


def test_samples_are_even_seeded_and_in_order() -> None:
    cases = [case(f"{group}{number}", True, group=group) for group, count in (("a", 30), ("b", 3), ("c", 9)) for number in range(count)]
    drawn = conformance.sampled(cases, 12, 1)
    counts = {group: sum(one["group"] == group for one in drawn) for group in "abc"}
    assert counts == {"a": 5, "b": 3, "c": 4}
    assert drawn == conformance.sampled(cases, 12, 1) != conformance.sampled(cases, 12, 2)
    assert [cases.index(one) for one in drawn] == sorted(cases.index(one) for one in drawn)
    assert conformance.sampled(cases, None, 1) == conformance.sampled(cases, 99, 1) == cases


def test_files_may_be_compressed(tmp_path: Path) -> None:
    text = "".join(json.dumps({**one, "text": "a\u2028b"}, ensure_ascii=False) + "\n" for one in CASES)
    (tmp_path / "x.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert conformance.load(tmp_path / "x.jsonl") == conformance.load(tmp_path / "x.jsonl.gz")
    assert [one["id"] for one in conformance.load(tmp_path / "x.jsonl")] == ["passes", "refused", "order"]


def test_instances_are_written_in_their_own_order_and_both_forms() -> None:
    assert conformance.texts({"b": [1, 2], "a": "é"}) == ['{"b": [1, 2], "a": "é"}', '{"b":[1,2],"a":"é"}']
    assert conformance.texts(1) == ["1"]


def test_percentiles() -> None:
    assert conformance.percentiles(range(1001)) == [500, 900, 990, 1000]
    assert conformance.percentiles([]) == []


def test_reasons_are_shared_across_schemas_and_listed_by_frequency() -> None:
    assert conformance.general("member 'a' has 12 of \"b\"") == "member '…' has N of '…'"
    figure = {"reasons": {WIDE: {"x (after)": ["1"], "y": ["2", "3", "4", "5"]}, NARROW: {}, REFUSED: {"z": ["6"]}}}
    text = conformance.causes(figure)
    assert [int(count) for count in re.findall(r"^\| [a-z-]+ \| (\d) \|", text, re.MULTILINE)] == [4, 1, 1]
    assert "2 3 4 |" in text
    assert conformance.causes(figure, "y").split() == ["accepts-invalid:", "y:", "4", "2", "3", "4", "5"]


# -- the loop in the engine's process ------------------------------------------------------------------------------------------------


def test_a_text_is_accepted_if_every_token_is_and_it_may_end() -> None:
    taken: list[int] = []

    def accept(token: int) -> bool:
        if token == 9:
            raise ValueError("no")
        taken.append(token)
        return token < 5

    session = Session(lambda: None, accept, lambda: 0, lambda: len(taken) == 2)
    masks: list[int] = []
    assert schemas.accepts(session, [1, 2], masks)
    assert len(masks) == 2
    assert not schemas.accepts(session, [7], masks)
    assert not schemas.accepts(session, [9], masks)
    with pytest.raises(ValueError, match="no"):
        schemas.accepts(session, [9], masks, KeyError)
    assert not schemas.accepts(session, [3], masks)


# -- whom to blame -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "path", "name"),
    [
        ("", [], None),
        ('{"a": {"b": [1, "x', ["a", "b", 1], None),
        ('{"a": {"b": [1], "cc', ["a", "cc"], "cc"),
        ('{"a": 1, ', [None], ""),
        ('[{"a": 1}, {"b": ', [1, "b"], None),
    ],
)
def test_the_place_where_a_text_breaks_off(prefix: str, path: list[Any], name: str | None) -> None:
    assert blame.place(prefix) == (path, name)


def test_the_subschemas_of_a_place_include_references_and_alternatives() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x~1y"}},
        "$defs": {"x/y": {"anyOf": [{"items": {"minimum": 1}}, {"prefixItems": [True, {"maximum": 2}]}]}},
    }
    found = list(blame.subschemas(schema, ["a", 1]))
    assert {"minimum": 1} in found
    assert {"maximum": 2} in found


def test_a_refused_valid_instance_is_blamed_on_what_was_asserted_there() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 3}, "b": {"type": "integer"}}}
    route = compile_schema(schema)
    assert blame.blame_refused(route, schema, '{"a": 7}') == "number refused under maximum"
    narrow = compile_schema({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False})
    assert blame.blame_refused(narrow, schema, '{"z": 7}') == "undeclared member refused under no assertion"


def test_an_accepted_invalid_instance_is_a_hole_unless_the_report_told() -> None:
    schema = {"type": "integer", "maximum": 3}
    assert blame.blame_accepted(compile_schema(True), SchemaValidator(schema), "7") == "maximum (HOLE: not in the report)"
    assert blame.blame_accepted(compile_schema(True), SchemaValidator(schema), "2") == "the validator accepts it too"
    open_ended = {"type": "array", "contains": {"multipleOf": 7}, "minContains": 2}
    route = compile_schema(open_ended)
    if not route.report.exact:
        assert "(after)" in blame.blame_accepted(route, SchemaValidator(open_ended), "[7]")


# -- the program ---------------------------------------------------------------------------------------------------------------------


def test_expectations_fail_the_run_when_something_got_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, expected = tmp_path / "x.jsonl", tmp_path / "expected.txt"
    path.write_text("".join(json.dumps(one) + "\n" for one in CASES))
    verdicts = {"passes": [True, False], "order": [True, False]}

    def results(cases: Any, given: Any, console: Any) -> dict[str, Any]:
        rows = {name: {"verdicts": list(some), "compile": 1, "masks": [1], "disagree": []} for name, some in verdicts.items()}
        return {name: {"versions": {}, "rows": {**rows, "refused": {"error": "x"}}} for name in conformance.OURS}

    monkeypatch.setattr(conformance, "run", results)
    arguments = ["--schemas", str(path), "--expect", str(expected)]
    assert conformance.main([*arguments, "--update"]) == 0
    assert expected.read_text().splitlines()[1:] == ["refused no-compile no-compile"]
    assert conformance.main(arguments) == 0
    verdicts["passes"] = [True, True]
    assert conformance.main([*arguments, "--json", str(tmp_path / "out.json")]) == 1
    assert "WORSE: passes: accepts-invalid accepts-invalid, expected pass pass" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["schemas"] == 3
