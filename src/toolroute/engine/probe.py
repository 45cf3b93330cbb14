"""Do llama.cpp's repacked weight buffers work on this machine? Tried once, in a child process, and remembered.

Theory: `use_extra_bufts` lets llama.cpp repack weights for wider instructions. Some builds die of a segmentation fault in that code
(AMX tiles, with some compilers), and a dead process cannot report. So a child loads the model that way and runs one batch; only if it
lives to say so is the switch turned on. The answer holds for one library file, one processor and one model file's header (which
names architecture and quantisation), and is kept in the cache directory; an unreadable cache is an empty one.

Cost: one load of the model, once. A crash leaves no core file and prints nothing.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolroute.engine.cache import read_note, write_note

TIMEOUT = 120.0
"""Seconds the child may take; after that the switch stays off."""

_HEADER = 1 << 16
_WORKS, _BROKEN = "works", "broken"


@dataclass(frozen=True)
class Build:
    """Which llama.cpp this is. ``library``: path of the shared library; ``features``: its own list of instruction sets."""

    version: str
    library: str
    features: str


def extra_bufts_work(path: Path, build: Build, *, command: Sequence[str] | None = None, timeout: float = TIMEOUT) -> bool:
    """Whether the model at `path` runs with extra buffers. ``command``: the child to run instead of the usual one (for tests)."""
    key = _key(path, build)
    known = read_note("probe.json", key)
    if known in (_WORKS, _BROKEN):
        return known == _WORKS
    if command is None:
        if not sys.executable:
            return False
        command = [sys.executable, "-W", "ignore", "-m", "toolroute.engine.probe", "--child", str(path)]
    code = _run(command, timeout)
    if code is None:
        return False
    # A child that ended by itself with an error (no memory, a bad file) tells nothing about the instructions: ask again next time.
    crashed = code < 0 or code > 128
    if code == 0 or crashed:
        write_note("probe.json", key, _WORKS if code == 0 else _BROKEN)
    return code == 0


def _run(command: Sequence[str], timeout: float) -> int | None:
    """The child's exit status, -9 when it took too long, None when it could not be started."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part), "GGML_NO_BACKTRACE": "1"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=environment, timeout=timeout, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -9
    except OSError:
        return None
    return done.returncode


def _key(path: Path, build: Build) -> str:
    """One string for everything the answer depends on."""
    digest = hashlib.sha256()
    digest.update(f"{build.version}\n{build.features}\n{platform.machine()}\n{_cpu_flags()}\n".encode())
    digest.update(f"{_stamp(Path(build.library))}\n{path.stat().st_size}\n".encode())
    with path.open("rb") as file:
        digest.update(file.read(_HEADER))
    return digest.hexdigest()


def _stamp(path: Path) -> str:
    try:
        state = path.stat()
    except OSError:
        return str(path)
    return f"{path} {state.st_size} {state.st_mtime_ns}"


def _cpu_flags() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return line
    except OSError:
        pass
    return platform.processor()


def _child(path: str) -> None:
    """Load with extra buffers and run a batch large enough for the matrix kernels, then single tokens."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from toolroute.engine.llama import LlamaEngine

    with LlamaEngine.load(path, use_extra_bufts=True, n_ctx=256, n_batch=64, n_seq_max=1) as engine:
        usable = [token for token in range(min(engine.vocabulary.size, 64)) if engine.vocabulary.pieces[token]] or [0]
        engine.evaluate((usable * 32)[:32])
        for token in usable[:2]:
            engine.evaluate([token])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--child":
        sys.exit("usage: python -m toolroute.engine.probe --child MODEL.gguf")
    _child(sys.argv[2])
