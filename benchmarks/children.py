"""Engines in processes of their own, which may get stuck or die on a row without taking the run with them.

Theory. ``peers/schemas.py`` says what it is about to do before it does it. A process that says nothing for too long is killed, and one that
ends before its last row has died; either way the row it was at gets an error, and a new process goes on after it. So a run always ends,
after at most (rows × stages × timeout).
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

Facts = dict[str, Any]

PREPARE_TIMEOUT: Final = 300.0
"""Seconds an engine may take to start and read the vocabulary."""


class Engine(NamedTuple):
    """A program of ``benchmarks.peers`` with the setting it runs under."""

    module: str
    setting: dict[str, str]
    ours: bool = False


class Child:
    """A process of ``benchmarks.peers.MODULE`` whose JSON lines are waited for with patience that ends."""

    def __init__(self, arguments: Sequence[str], python: str, setting: dict[str, str]) -> None:
        root = Path(__file__).resolve().parent.parent
        paths = [str(root), str(root / "src")] + [path for path in [os.environ.get("PYTHONPATH")] if path]
        single = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = {**os.environ, **single, **setting, "PYTHONPATH": os.pathsep.join(paths)}
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by end and kill)
        command = [python, "-m", *arguments]
        self.process = subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def line(self, timeout: float) -> Facts | None:
        """The next JSON line; None at the end. Raises ``queue.Empty`` where none comes in time."""
        while True:
            line = self._lines.get(timeout=timeout)
            if line is None:
                return None
            if line.startswith("{"):
                found: Facts = json.loads(line)
                return found

    def end(self) -> tuple[int, str]:
        """Exit code and the last line of the errors; the process is ended if need be."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)
        self.errors.seek(0)
        last = (self.errors.read().strip().splitlines() or [""])[-1]
        return self.kill(), last

    def kill(self) -> int:
        """End it now, if it has not ended; its exit code."""
        self.process.kill()
        code = self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.close()
        return code


def run_engine(engine: Engine, folder: Path, ids: Sequence[str], python: str, timeout: float, advance: Callable[[], None]) -> Facts:
    """Everything one engine reports: ``rows`` by id, what it said of itself, and ``unavailable`` where it did not start.

    A row on which the process is stuck or ends has ``error``, and a new process goes on after it.
    """
    result: Facts = {"rows": {}}
    start = 0
    while start < len(ids):
        child = Child([f"benchmarks.peers.{engine.module}", str(folder), "schemas", str(start)], python, engine.setting)
        stage, prepared, at = "compile", False, start
        try:
            while True:
                facts = child.line(timeout if prepared else PREPARE_TIMEOUT)
                if facts is None:
                    code, last = child.end()
                    why = f"the process ended with code {code}: {last}"[:300]
                    break
                if "row" in facts:
                    result["rows"][facts.pop("row")] = facts
                    at += 1
                    advance()
                elif "at" in facts:
                    at, stage = facts["at"], facts["stage"]
                else:
                    prepared = True
                    result.update(facts)
        except queue.Empty:
            child.kill()
            why = f"timeout: {stage} took more than {timeout:.0f} s" if prepared else "timeout: it did not start"
        if not prepared:
            return {**result, "unavailable": why}
        if at < len(ids):
            result["rows"][ids[at]] = {"error": why}
            advance()
        start = at + 1
    return result
