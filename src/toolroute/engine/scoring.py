"""Which rows of a batch score a set of branches, and log-softmax.

Theory: the probability of the tokens ``t0 … tk`` of a branch needs a row of logits after the history (for ``t0``) and one after
each proper prefix ``t0 … ti`` (for ``ti+1``). Branches share prefixes, so the rows form a trie: one row per *distinct* prefix. In
a batch, a row belongs to the sequences of all leaves below it (llama.cpp lets one token be in several sequences), so eight names
that begin alike cost their distinct tokens, one model step, and no copy of the history.

Rows come in depth-first order: parents before children, positions rising in each sequence, sets of sequences only narrowing, which
is what llama.cpp demands of such a batch. A group is what fits the sequences and free cells at once; more branches, more groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass
class Row:
    """One token of the batch. ``depth``: its position after the history; ``leaves``: the sequences it is in, counted from 0."""

    token: int
    depth: int
    leaves: list[int] = field(default_factory=list)
    reads: list[tuple[int, int]] = field(default_factory=list)
    """(branch, index) of the tokens whose probability this row's logits tell."""


@dataclass
class Group:
    """Rows that are in the context together. ``leaves``: how many sequences they need."""

    rows: list[Row] = field(default_factory=list)
    leaves: int = 0


def plan(branches: Mapping[int, Sequence[int]], *, max_leaves: int, max_rows: int, share: bool = True) -> list[Group]:
    """Groups that score all `branches` (each of at least two tokens). `share`: merge equal prefixes.

    Every branch must fit alone: ``len(branch) - 1 <= max_rows``. Cost: linear in the tokens, after one sort.
    """
    groups: list[Group] = []
    path: list[Row] = []  # rows of the branch before, root first
    # A prefix sorts before its extensions, which then take over its sequence.
    for key, tokens in sorted(branches.items(), key=lambda item: (list(item[1][:-1]), item[0])):
        same = _common([row.token for row in path], tokens[:-1]) if share else 0
        new = len(tokens) - 1 - same
        diverges = same < len(path)
        group = groups[-1] if groups else None
        if group is None or group.leaves + diverges > max_leaves or len(group.rows) + new > max_rows:
            group = Group(leaves=1)
            groups.append(group)
            path, same = [], 0
        elif diverges:
            group.leaves += 1
        path = path[:same] + [Row(token, depth) for depth, token in enumerate(tokens[same:-1], same)]
        group.rows += path[same:]
        for index, row in enumerate(path):
            if not row.leaves or row.leaves[-1] != group.leaves - 1:
                row.leaves.append(group.leaves - 1)
            row.reads.append((key, index + 1))
    return groups


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))


def log_normaliser(row: npt.NDArray[np.floating]) -> float:
    """``log Σ exp(row)``: subtract it from a logit to get a log-probability. Exponentials in the row's own precision, sum in 64 bit."""
    top = row.max()
    with np.errstate(invalid="ignore"):
        return float(top) + float(np.log(np.exp(row - top).sum(dtype=np.float64)))
