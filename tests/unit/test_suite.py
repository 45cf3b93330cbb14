"""What a test of the JSON-Schema-Test-Suite can come to, on schemas of the kinds it has."""

from __future__ import annotations

import io
import json
import tarfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import suite
from benchmarks.suite import AFTER, EXACT, REFUSED, WRONG, Judged, Verdict
from toolroute.errors import UnsatisfiableRoute
from toolroute.route.judge import SchemaValidator
from toolroute.schema import compile_schema

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def outcomes(schema: Any, *tests: tuple[Any, bool]) -> list[str]:
    group = {"schema": schema, "tests": [{"data": data, "valid": valid, "description": ""} for data, valid in tests]}
    return [verdict.outcome for verdict in suite.judge(suite.dialected(group, "2020-12"))]


def test_what_the_mask_decides_is_exact() -> None:
    assert outcomes({"type": "integer", "minimum": 3}, (3, True), (2, False), ("3", False)) == [EXACT] * 3
    assert outcomes(True, ("x", True)) == [EXACT]


def test_members_count_in_any_order_and_whole_numbers_in_any_spelling() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["b", "a"]}
    assert outcomes(schema, ({"b": True, "a": 1}, True), ({"a": 1.0, "b": False}, True), ({"b": 1, "a": 1}, False)) == [EXACT] * 3
    assert outcomes({"const": 2.0}, (2, True), (2.0, True), (2.5, False)) == [EXACT] * 3


def test_a_schema_that_nothing_satisfies_is_exact_where_nothing_should() -> None:
    assert outcomes(False, (1, False)) == [EXACT]
    assert outcomes(False, (1, True)) == [WRONG]


def test_a_schema_that_is_refused_has_its_reason() -> None:
    group = {"schema": {"$ref": "http://localhost:1234/other.json"}, "tests": [{"data": 1, "valid": True}, {"data": 2, "valid": False}]}
    verdicts = suite.judge(suite.dialected(group, "2020-12"))
    assert [verdict.outcome for verdict in verdicts] == [REFUSED, REFUSED]
    assert "$ref" in verdicts[0].why


class FakeReport:
    def __init__(self, exact: bool) -> None:
        self.exact, self.after = exact, []


class FakeRoute:
    """Accepts the texts it is given."""

    def __init__(self, exact: bool, *texts: str) -> None:
        self.report, self.texts = FakeReport(exact), texts

    def accepts(self, text: str) -> bool:
        return text in self.texts


@pytest.mark.parametrize(
    ("exact", "masked", "suits", "valid", "outcome"),
    [
        (True, True, True, True, EXACT),
        (True, False, True, True, WRONG),  # the mask is too narrow
        (True, True, False, False, WRONG),  # the report says exact, and the mask is not
        (True, True, False, True, WRONG),  # the check is too narrow
        (True, False, False, False, EXACT),
        (False, True, True, True, AFTER),
        (False, True, False, False, AFTER),
        (False, False, False, False, AFTER),
        (False, False, True, True, WRONG),
        (False, True, True, False, WRONG),
    ],
)
def test_every_way_a_test_can_end(exact: bool, masked: bool, suits: bool, valid: bool, outcome: str) -> None:
    route: Any = FakeRoute(exact, *(["1"] if masked else []))
    validator = SchemaValidator({"const": 1 if suits else 2})
    assert suite.judged(route, validator, {}, 1, valid).outcome == outcome


def test_spellings_are_bounded_and_begin_with_the_instance_as_it_is() -> None:
    wide = {name: {str(number): number for number in range(6)} for name in "abcdef"}
    texts = list(suite.spellings(wide, {}))
    assert texts[0] == json.dumps(wide)
    assert len(texts) <= suite.MAX_TEXTS
    assert all(json.loads(text) == wide for text in texts)
    assert set(suite.spellings([1.0, {"a": 1, "b": 2.5}], {})) >= {'[1, {"b": 2.5, "a": 1}]', '[1.0, {"a": 1.0, "b": 2.5}]'}


def test_old_dialects_are_told_to_the_compiler() -> None:
    group = {"schema": {"items": [{"type": "integer"}]}, "tests": [{"data": ["x"], "valid": False}]}
    assert suite.judge(suite.dialected(group, "7"))[0].outcome in (EXACT, AFTER)
    assert suite.dialected({"schema": True}, "7") == {"schema": True}
    own = {"schema": {"$schema": DRAFT}}
    assert suite.dialected(own, "7")["schema"]["$schema"] == DRAFT


def test_a_schema_that_takes_too_long_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(group: dict[str, Any]) -> list[Verdict]:
        time.sleep(30)
        return []

    monkeypatch.setattr(suite, "judge", stuck)
    monkeypatch.setattr(suite, "MAX_SECONDS", 1)
    group = {"schema": True, "tests": [{"data": 1, "valid": True, "description": "one"}]}
    (one,) = suite.run([("7/x: stuck", group)], Console(file=io.StringIO()))
    assert (one.name, one.verdict.outcome) == ("7/x: stuck: one", WRONG)
    assert "TimeoutError" in one.verdict.why


def test_the_table_counts_and_the_causes_name() -> None:
    results = [
        Judged("7/a: s: one", Verdict(EXACT)),
        Judged("7/a: s: two", Verdict(AFTER)),
        Judged("7/b: s: one", Verdict(REFUSED, "because of 'x'")),
        Judged("7/b: t: one", Verdict(REFUSED, "because of 'y'")),
    ]
    assert "| **7** | 4 | 1 | 1 | 2 | 0 | 50.0% |" in suite.table(results)
    assert "| 7/b | 2 |" in suite.table(results)
    assert "| 7/a |" not in suite.table(results)
    assert suite.causes(results).splitlines() == ["refused, 2: because of '…'", "  7/b: s: one", "  7/b: t: one"]
    assert suite.share(results) == 0.5


def archived(folder: Path) -> Path:
    """A source distribution with one required and one optional test."""
    path = folder / f"{suite.PACKAGE}-{suite.VERSION}.tar.gz"
    group = [{"description": "g", "schema": {"type": "integer"}, "tests": [{"description": "t", "data": 1, "valid": True}]}]
    data = json.dumps(group).encode()
    with tarfile.open(path, "w:gz") as tar:
        for name in ("draft7/type.json", "draft7/optional/bignum.json", "draft6/type.json"):
            entry = tarfile.TarInfo(f"{suite.PACKAGE}-{suite.VERSION}/json/tests/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def test_only_required_tests_of_the_pinned_archive_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archived(tmp_path)
    monkeypatch.setenv("SUITE_SDIST", str(tmp_path))
    with pytest.raises(ValueError, match="SHA-256"):
        suite.groups(["7"])
    monkeypatch.setattr(suite, "SHA256", sha256(path.read_bytes()).hexdigest())
    assert [name for name, _ in suite.groups(["7"])] == ["7/type: g"]
    assert suite.main(["--drafts", "7"]) == 0


def test_a_worse_outcome_than_expected_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = archived(tmp_path)
    monkeypatch.setenv("SUITE_SDIST", str(path))
    monkeypatch.setattr(suite, "SHA256", sha256(path.read_bytes()).hexdigest())
    expected = tmp_path / "expected.txt"
    arguments = ["--drafts", "7", "--expect", str(expected)]
    assert suite.main([*arguments, "--update"]) == 0
    monkeypatch.setattr(suite, "judge", lambda group: [Verdict(REFUSED, "no")])
    assert suite.main(arguments) == 1
    assert "WORSE: 7/type: g: t: refused, expected exact" in capsys.readouterr().out


def test_the_names_used_here_are_those_of_the_compiler() -> None:
    with pytest.raises(UnsatisfiableRoute):
        compile_schema(False)
