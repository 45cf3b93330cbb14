"""A file of known shortcomings that may only get shorter.

Theory. Outcomes are ordered from best to worst. The file lists the cases that are not at their best, one a line: id, then one outcome
for each column that the head names. A case that is not listed is expected at its best, so a new case or a new fault shows at once. A run
over part of the cases is compared for those cases only. Updating takes improvements and nothing else; a file that does not exist yet is
written as things are. Only ids and outcomes are kept, nothing of the cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

Outcomes = Mapping[str, Sequence[str]]
"""Id → an outcome for each column."""

_HEAD: Final = "# Known shortcomings; what is not listed is at its best. This file may only improve. Columns: id"


class Change(NamedTuple):
    """One case that is not as expected; ``worse``: in any column."""

    id: str
    expected: tuple[str, ...]
    found: tuple[str, ...]
    worse: bool


def read(path: Path, columns: Sequence[str], order: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The cases listed in ``path``. Raises ``ValueError`` for a line, or a head, that does not fit."""
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    if head != f"{_HEAD}, {', '.join(columns)}":
        raise ValueError(f"{path}: the head is not that of a file with the columns {', '.join(columns)}")
    found = {}
    for number, line in enumerate(lines, 2):
        name, *outcomes = line.rsplit(" ", len(columns))
        if len(outcomes) != len(columns) or any(outcome not in order for outcome in outcomes) or name in found:
            raise ValueError(f"{path}, line {number}: not an id of its own with {len(columns)} of {', '.join(order)}")
        found[name] = tuple(outcomes)
    return found


def write(path: Path, listed: Outcomes, columns: Sequence[str], order: Sequence[str]) -> None:
    """Those of ``listed`` that are not at their best, by id."""
    lines = [" ".join([name, *outcomes]) for name, outcomes in sorted(listed.items()) if any(one != order[0] for one in outcomes)]
    path.write_text("\n".join([f"{_HEAD}, {', '.join(columns)}", *lines]) + "\n", encoding="utf-8")


def compare(listed: Outcomes, found: Outcomes, order: Sequence[str]) -> list[Change]:
    """The cases of ``found`` that are not as ``listed``, by id. ``order``: the outcomes, best first."""
    changes = []
    for name, outcomes in sorted(found.items()):
        expected = tuple(listed.get(name, [order[0]] * len(outcomes)))
        if expected != tuple(outcomes):
            worse = any(order.index(new) > order.index(old) for old, new in zip(expected, outcomes, strict=True))
            changes.append(Change(name, expected, tuple(outcomes), worse))
    return changes


def improved(listed: Outcomes, found: Outcomes, order: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """``listed`` with every outcome that is better in ``found``, column by column; what is worse there stays as it was."""
    new = {name: tuple(outcomes) for name, outcomes in listed.items()}
    for name, outcomes in found.items():
        if name in new:
            new[name] = tuple(min(pair, key=order.index) for pair in zip(new[name], outcomes, strict=True))
    return new


def check(path: Path, found: Outcomes, columns: Sequence[str], order: Sequence[str], update: bool = False) -> list[Change]:
    """The cases that got worse than ``path`` says; ``update`` writes what got better (or a new file).

    Raises ``ValueError`` for a file that cannot be read, ``FileNotFoundError`` for none where nothing may be written.
    """
    if update and not path.exists():
        write(path, found, columns, order)
    listed = read(path, columns, order)
    if update:
        write(path, improved(listed, found, order), columns, order)
    return [change for change in compare(listed, found, order) if change.worse]
