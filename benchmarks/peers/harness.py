"""What every engine is asked to do, and how it is timed; runs in the engine's own process and needs the standard library only.

Theory. An engine first prepares the vocabulary, and does one action that is not timed. Then, for every row, it does one action three ways:

* *cold*: everything learned from other routes is forgotten, then compile, and for every token of the reply the mask and the accept;
* *warm*: the same compiled route again at once, without compiling (the least of three runs, as the first may still pay for memory);
* *warm with compile*: compile and all the rest once more, with whatever caches the engine keeps.

Cold runs are repeated (``REPEATS`` times, slow ones less) and the median is kept. Single masks and accepts are timed in the
cold run (*first visit*) and in one extra warm run (*repeat*); warm totals are taken without clocks in between. The engine's functions are
called directly, no wrapper of this module stands between the clock and them. Times are nanoseconds. An engine that cannot compile a row,
or refuses a token of its reply, says why and is not timed on it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import statistics
import sys
import traceback
from array import array
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns as now
from typing import Any, NamedTuple, Protocol

REPEATS = 5
ENOUGH = 200_000_000
"""Cold runs of one row are not repeated any more once they took this many nanoseconds together."""


class Session(NamedTuple):
    """One reply under way.

    ``accept`` returns False or raises for a token that is refused; ``allowed``: tokens in the last mask (not timed); ``ends``: whether the
    reply may end here (not timed).
    """

    mask: Callable[[], object]
    accept: Callable[[int], object]
    allowed: Callable[[], int]
    ends: Callable[[], bool]


class Peer(Protocol):
    """An engine. ``style``: the text form of the replies it admits, "compact" or "spaced"."""

    style: str

    def versions(self) -> dict[str, str]:
        """Whatever the numbers depend on."""

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        """Take the vocabulary: ``b""`` for a token that has no text of its own."""

    def forget(self) -> None:
        """Drop everything learned since ``prepare``."""

    def compile(self, row: dict[str, Any]) -> Any:
        """Compile a row's route: ``schema`` (JSON text) and ``tools``."""

    def start(self, compiled: Any) -> Session:
        """Begin a reply; more than one may be begun after another."""


class Inputs:
    """A directory with a vocabulary and the rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, pieces: list[bytes], eog: list[int], rows: list[dict[str, Any]], model: str) -> None:
        """Write them."""
        (self.folder / "pieces.bin").write_bytes(b"".join(pieces))
        (self.folder / "lengths.bin").write_bytes(array("I", map(len, pieces)).tobytes())
        (self.folder / "rows.json").write_text(json.dumps({"eog": eog, "rows": rows, "model": model}), encoding="utf-8")

    def pieces(self) -> list[bytes]:
        """The tokens by id."""
        lengths, data = array("I"), (self.folder / "pieces.bin").read_bytes()
        lengths.frombytes((self.folder / "lengths.bin").read_bytes())
        found, start = [], 0
        for length in lengths:
            found.append(data[start : start + length])
            start += length
        return found

    def rest(self) -> tuple[list[int], list[dict[str, Any]], str]:
        """End tokens, rows, and the model file."""
        data = json.loads((self.folder / "rows.json").read_text(encoding="utf-8"))
        return data["eog"], data["rows"], data["model"]


def say(**facts: Any) -> None:
    """One JSON line for the parent."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def resident() -> int:
    """Bytes of this process in memory now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return peak()


def peak() -> int:
    """The most bytes this process has had in memory."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def main(peer: Peer) -> None:
    """Run all rows of the directory named on the command line; with ``schemas N`` after it, from row N on and as ``schemas`` says."""
    if sys.argv[2:3] == ["schemas"]:
        from benchmarks.peers import schemas

        schemas.run(peer, Inputs(Path(sys.argv[1])), int(sys.argv[3]))
        return
    inputs = Inputs(Path(sys.argv[1]))
    eog, rows, model = inputs.rest()
    pieces = inputs.pieces()
    gc.collect()
    before = resident()
    start = now()
    peer.prepare(pieces, eog, model)
    prepared = now() - start
    gc.collect()
    say(prepare=prepared, versions={"python": sys.version.split()[0], **peer.versions()}, rss_before=before, rss_prepared=resident())
    for row in rows[:1]:
        with contextlib.suppress(Exception):
            _timed(peer.start(peer.compile(row)), row["replies"][peer.style]["tokens"], "")  # modules that are imported when first needed
    for row in rows:
        try:
            say(row=row["id"], **measure(peer, row))
        except Refused as refusal:
            say(row=row["id"], refused=str(refusal)[:200])
        except Exception as error:
            traceback.print_exc()
            say(row=row["id"], failed=f"{type(error).__name__}: {error}"[:200])
    gc.collect()
    say(rss_end=resident(), rss_peak=peak())


class Refused(Exception):
    """The engine does not admit the row's reply."""


def measure(peer: Peer, row: dict[str, Any]) -> dict[str, Any]:
    """One row."""
    reply = row["replies"][peer.style]
    tokens: list[int] = reply["tokens"]
    compiles: list[int] = []
    colds: list[int] = []
    firsts: list[list[int]] = []
    accepts: list[list[int]] = []
    while len(colds) < REPEATS and sum(colds) < ENOUGH:
        peer.forget()
        begin = now()
        compiled = peer.compile(row)
        after = now()
        first, accept = _timed(peer.start(compiled), tokens, reply["text"])
        colds.append(now() - begin)
        compiles.append(after - begin)
        firsts.append(first)
        accepts.append(accept)
    warm = min(_untimed(peer, compiled, tokens) for _ in range(3))
    repeat, _ = _timed(peer.start(compiled), tokens, reply["text"])
    counts = _counts(peer.start(compiled), tokens)
    begin = now()
    compiled = peer.compile(row)
    after = now()
    _untimed(peer, compiled, tokens)
    return {
        "tokens": len(tokens),
        "compile": int(statistics.median(compiles)),
        "cold": int(statistics.median(colds)),
        "first": [int(statistics.median(times)) for times in zip(*firsts, strict=True)],
        "accept": [int(statistics.median(times)) for times in zip(*accepts, strict=True)],
        "warm": warm,
        "warm_compile": now() - begin,
        "compile_again": after - begin,
        "repeat": repeat,
        "allowed": counts,
    }


def _timed(session: Session, tokens: list[int], text: str) -> tuple[list[int], list[int]]:
    mask, accept, *_ = session
    masks: list[int] = []
    accepts: list[int] = []
    for token in tokens:
        begin = now()
        mask()
        after = now()
        taken = accept(token)
        end = now()
        if taken is False:
            raise Refused(f"token {len(masks)} of {text}")
        masks.append(after - begin)
        accepts.append(end - after)
    return masks, accepts


def _untimed(peer: Peer, compiled: Any, tokens: list[int]) -> int:
    begin = now()
    mask, accept, *_ = peer.start(compiled)
    for token in tokens:
        mask()
        accept(token)
    return now() - begin


def _counts(session: Session, tokens: list[int]) -> list[int]:
    counts = []
    for token in tokens:
        session.mask()
        counts.append(session.allowed())
        session.accept(token)
    return counts
