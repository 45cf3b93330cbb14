"""toolroute at scale: ``memory`` (vocabulary and memo, after all rows) or ``catalogue`` (compile many tools and decode one action)."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from pathlib import Path
from time import perf_counter_ns as now
from typing import Any

from benchmarks.peers.harness import REPEATS, Inputs, peak, resident, say
from benchmarks.peers.ours import Ours
from toolroute.catalogue import Catalogue
from toolroute.mask import MaskTable, Matcher
from toolroute.schema import compile_route
from toolroute.vocab import Vocabulary


def memory(inputs: Inputs, traced: bool) -> None:
    """Bytes of the vocabulary with its string tables, and of that with the memo of all rows."""
    eog, rows, _ = inputs.rest()
    gc.collect()
    if traced:
        tracemalloc.start()
    before = resident()
    vocabulary = Vocabulary.from_tokens(inputs.pieces(), eog)
    MaskTable.of(vocabulary).prepare()
    gc.collect()
    prepared = tracemalloc.get_traced_memory()[0] if traced else resident() - before
    for row in rows:
        try:
            matcher = Matcher(compile_route(row["tools"], style="compact"), vocabulary)
            for token in row["replies"]["compact"]["tokens"]:
                matcher.mask()
                matcher.accept(token)
        except Exception as error:  # counted where times are taken
            say(failed=f"{row['id']}: {error}"[:200])
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] if traced else resident() - before
    say(prepared=prepared, used=used)


def catalogue(inputs: Inputs) -> None:
    """Compile the tools of the first row, and decode its reply, each time as a fresh process would."""
    eog, (row,), model = inputs.rest()
    ours = Ours()
    ours.prepare(inputs.pieces(), eog, model)
    gc.collect()
    before = resident()
    for _ in range(REPEATS):
        ours.forget()
        facts = _once(ours, row)
        say(**facts, rss=resident() - before, rss_peak=peak())


def _once(ours: Ours, row: dict[str, Any]) -> dict[str, Any]:
    begin = now()
    tools = Catalogue.from_tools(row["tools"])
    read = now()
    route = compile_route(tools, style="compact")
    compiled = now()
    mask, accept, *_ = ours.start(route)
    for token in row["replies"]["compact"]["tokens"]:
        mask()
        accept(token)
    return {"tools": len(tools), "read": read - begin, "compile": compiled - read, "action": now() - compiled}


if __name__ == "__main__":
    where = Inputs(Path(sys.argv[2]))
    if sys.argv[1] == "catalogue":
        catalogue(where)
    else:
        memory(where, traced=sys.argv[1] == "traced")
