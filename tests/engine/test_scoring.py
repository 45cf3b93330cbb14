"""Plans of scoring batches: every probability is read exactly once, from the row of the right prefix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolroute.engine.scoring import Group, log_normaliser, plan


def check(branches: dict[int, list[int]], groups: list[Group], max_leaves: int, max_rows: int) -> None:
    read = set()
    for group in groups:
        assert 0 < group.leaves <= max_leaves and 0 < len(group.rows) <= max_rows
        held: list[list[int]] = [[] for _ in range(group.leaves)]  # each sequence, as the batch fills it
        for row in group.rows:
            assert row.leaves == sorted(set(row.leaves))
            for leaf in row.leaves:
                assert len(held[leaf]) == row.depth  # parents before children, no gap
                held[leaf].append(row.token)
            prefixes = {tuple(held[leaf]) for leaf in row.leaves}
            assert len(prefixes) == 1
            for key, index in row.reads:
                assert (key, index) not in read
                read.add((key, index))
                assert tuple(branches[key][:index]) in prefixes
    assert read == {(key, index) for key, branch in branches.items() for index in range(1, len(branch))}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=6), min_size=1, max_size=12),
    st.integers(1, 5),
    st.integers(5, 12),
    st.booleans(),
)
def test_plan(branches: list[list[int]], max_leaves: int, max_rows: int, share: bool) -> None:
    numbered = dict(enumerate(branches))
    check(numbered, plan(numbered, max_leaves=max_leaves, max_rows=max_rows, share=share), max_leaves, max_rows)


def test_equal_prefixes_are_one_row() -> None:
    branches = {0: [1, 2, 3], 1: [1, 2, 4], 2: [1, 5, 6], 3: [1, 2, 3, 7], 4: [1, 2]}
    (group,) = plan(branches, max_leaves=8, max_rows=99)
    assert [(row.token, row.depth, row.leaves) for row in group.rows] == [
        (1, 0, [0, 1]), (2, 1, [0]), (3, 2, [0]), (5, 1, [1]),
    ]  # fmt: skip
    (apart,) = plan(branches, max_leaves=8, max_rows=99, share=False)
    assert apart.leaves == 5 and len(apart.rows) == 10


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_log_normaliser(kind: type) -> None:
    row = np.array([1000.0, 999.0, -np.inf, -1000.0], kind)
    assert log_normaliser(row) == pytest.approx(1000 + np.log1p(np.exp(-1)))
    assert np.isnan(log_normaliser(np.array([np.nan, 1.0], kind)))
