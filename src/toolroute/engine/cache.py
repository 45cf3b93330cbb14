"""Where this package keeps what it can make again: model files, file hashes, probe results.

``TOOLROUTE_CACHE`` names the directory; without it, it is the user's cache directory. Files appear whole or not at all (written
beside their place, then renamed), and a note that cannot be read is a note that is not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

CACHE_VARIABLE = "TOOLROUTE_CACHE"


def cache_dir() -> Path:
    """The directory, not necessarily there yet."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("toolroute"))


def read_note(name: str, key: str) -> object:
    """What `write_note` stored under `key` in the note file `name`, or None."""
    return _read(cache_dir() / name).get(key)


def write_note(name: str, key: str, value: object) -> None:
    """Store a JSON value. A cache that cannot be written is not an error: the value is made again next time."""
    path = cache_dir() / name
    notes = _read(path)
    notes[key] = value
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(notes, file, indent=1, sort_keys=True)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise


def _read(path: Path) -> dict[str, object]:
    try:
        notes = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex (about 1 s per GB)."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def cached_sha256(path: Path) -> str:
    """`sha256_of`, remembered by absolute path, size and time of change."""
    state = path.stat()
    key = f"{path.resolve()}|{state.st_size}|{state.st_mtime_ns}"
    known = read_note("hashes.json", key)
    if isinstance(known, str):
        return known
    digest = sha256_of(path)
    write_note("hashes.json", key, digest)
    return digest
