"""A file of known shortcomings may only get shorter."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import ratchet

ORDER = ("good", "bad", "worst")
COLUMNS = ("here", "there")


def check(path: Path, found: dict[str, tuple[str, str]], update: bool = False) -> list[str]:
    return [change.id for change in ratchet.check(path, found, COLUMNS, ORDER, update)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "expected.txt"
    found = {"a": ("good", "good"), "b b": ("bad", "good"), "c": ("worst", "bad")}
    assert check(place, found, update=True) == []
    return place


def test_the_file_lists_what_is_not_at_its_best_and_nothing_else(path: Path) -> None:
    assert path.read_text().splitlines()[1:] == ["b b bad good", "c worst bad"]


def test_the_same_outcomes_are_no_change(path: Path) -> None:
    assert check(path, {"a": ("good", "good"), "b b": ("bad", "good"), "c": ("worst", "bad")}) == []


@pytest.mark.parametrize(
    "found",
    [
        {"a": ("good", "bad")},
        {"b b": ("worst", "good")},
        {"b b": ("good", "bad")},  # better in one column does not pay for worse in another
        {"new": ("bad", "good")},
    ],
)
def test_worse_in_any_column_is_a_regression(path: Path, found: dict[str, tuple[str, str]]) -> None:
    before = path.read_text()
    assert check(path, found) == list(found)
    assert path.read_text() == before


def test_part_of_the_cases_is_compared_alone(path: Path) -> None:
    assert check(path, {"c": ("worst", "bad")}) == []
    assert check(path, {"c": ("good", "good")}) == []


def test_updating_takes_what_is_better_and_leaves_what_is_worse(path: Path) -> None:
    found = {"a": ("bad", "bad"), "b b": ("good", "good"), "c": ("bad", "worst"), "new": ("worst", "worst")}
    assert check(path, found, update=True) == ["a", "c", "new"]
    assert path.read_text().splitlines()[1:] == ["c bad bad"]
    assert check(path, {"b b": ("bad", "good")}) == ["b b"], "what was fixed once may not come back"


def test_updating_with_part_of_the_cases_keeps_the_others(path: Path) -> None:
    check(path, {"c": ("good", "good")}, update=True)
    assert path.read_text().splitlines()[1:] == ["b b bad good"]


@pytest.mark.parametrize("line", ["b bad", "c worst bad", "d bad awful", "e"])
def test_a_file_that_does_not_fit_is_refused(path: Path, line: str) -> None:
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match="line 4"):
        check(path, {})


def test_a_file_of_other_columns_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="columns"):
        ratchet.check(path, {}, ("here",), ORDER)


def test_no_file_is_an_error_unless_one_may_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        check(tmp_path / "none.txt", {})
