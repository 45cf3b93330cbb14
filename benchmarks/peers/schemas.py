"""Does an engine accept what a schema allows, and refuse what it does not? Runs in the engine's own process.

Theory. A row is a schema with instances that are valid or not, each in the text forms of ``json.dumps`` (spaced, compact) as tokens of the
model's own tokenizer. An instance is *accepted* where one of its texts is: every token is accepted in turn, the mask before it is made and
timed, and the reply may end after the last one. For a valid instance the first text that is accepted settles it, for an invalid one too.

One line is printed before each stage of a row, so that the parent knows in which one a stuck process was; it kills the process and
starts another at the next row. Nothing is forgotten between rows: engines keep what they keep in a server. Memory is bounded
(``MEMORY``), so that an engine which wants more fails on that row and not the machine.

An engine may say more: ``refusal``, the class of errors that mean a refused token (default: any); ``why(error)``, an error of compiling on
one line; ``explain(compiled, row, verdicts)``, more for the line of a row, also other verdicts.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import sys
from time import perf_counter_ns as now

from benchmarks.peers.harness import Inputs, Peer, Session, peak, resident, say

MEMORY = 12 * 2**30
"""Address space of the process, in bytes."""

FIRST = {"schema": '{"type": "object", "properties": {"a": {"type": "integer"}}}'}
"""Compiled before the clock matters: modules that are imported when first needed."""


def run(peer: Peer, inputs: Inputs, start: int) -> None:
    """All rows from ``start`` on, a JSON line each."""
    with contextlib.suppress(ValueError, OSError):  # a system without this limit, or with a lower one
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    eog, rows, model = inputs.rest()
    pieces = inputs.pieces()
    begin = now()
    peer.prepare(pieces, eog, model)
    say(prepare=now() - begin, versions={"python": sys.version.split()[0], **peer.versions()}, rss_prepared=resident())
    with contextlib.suppress(Exception):
        peer.start(peer.compile(FIRST)).mask()
    gc.collect()
    gc.freeze()  # the inputs are no part of what a collection has to walk
    refusal = getattr(peer, "refusal", Exception)
    why = getattr(peer, "why", reason)
    explain = getattr(peer, "explain", lambda *_: {})
    for index in range(start, len(rows)):
        row = rows[index]
        say(at=index, stage="compile")
        begin = now()
        try:
            compiled = peer.compile(row)
        except Exception as error:
            say(row=row["id"], error=why(error))
            continue
        took = now() - begin
        say(at=index, stage="masks")
        masks: list[int] = []
        try:
            verdicts = [
                any(accepts(peer.start(compiled), text["tokens"], masks, refusal) for text in test["texts"]) for test in row["tests"]
            ]
        except Exception as error:  # the engine failed at something else than refusing a token
            say(row=row["id"], error=reason(error), compile=took)
            continue
        say(**{"row": row["id"], "compile": took, "masks": masks, "verdicts": verdicts, **explain(compiled, row, verdicts)})
    say(rss_peak=peak())


def accepts(session: Session, tokens: list[int], masks: list[int], refusal: type[Exception] = Exception) -> bool:
    """Whether ``tokens`` are a whole reply; the time of every mask goes to ``masks``."""
    mask, accept, _, ends = session
    for token in tokens:
        begin = now()
        mask()
        masks.append(now() - begin)
        try:
            if accept(token) is False:
                return False
        except refusal:
            return False
    return ends()


def reason(error: Exception) -> str:
    """An error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
