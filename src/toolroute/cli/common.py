"""What every command does the same way: errors, exit codes, text that any console can take.

Exit codes: 0 done; 2 wrong usage; 3 an error of this package (one line on stderr that names the file, index, tool and reason); 4
the reply was cut by the cap, so it is printed but must not be executed; 5 `compile --check` does not accept the reply; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import RouteError

FAILED, CUT, NOT_ACCEPTED, INTERRUPTED = 3, 4, 5, 130


class Style(str, Enum):
    spaced = "spaced"
    compact = "compact"


class OnError(str, Enum):
    raise_ = "raise"
    drop = "drop"


Terminal = Annotated[list[str] | None, typer.Option("--terminal", help="A reply that calls no tool; repeatable. [default: none]")]
Drop = Annotated[OnError, typer.Option("--on-error", help="A tool that cannot be offered: refuse the catalogue, or drop and report it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write everything as JSON on stdout.")]


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """A ``RouteError`` becomes one line on stderr and exit code 3, an interrupt exit code 130; bad input has no traceback."""
    try:
        yield
    except RouteError as error:
        say(f"error: {error}")
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def say(line: str) -> None:
    """A diagnostic line on stderr."""
    print(printable(line, sys.stderr.encoding), file=sys.stderr)


def printable(text: str, encoding: str | None) -> str:
    """``text``, with backslash escapes for what ``encoding`` lacks, on one line."""
    name = encoding or "ascii"
    return text.replace("\n", "\\n").encode(name, "backslashreplace").decode(name)


def write_json(value: Any, indent: int | None = None) -> None:
    """One JSON value on stdout; ASCII escapes where the console lacks a character, so that it is the same value anywhere."""
    write_json_text(json.dumps(value, ensure_ascii=False, indent=indent, default=str))


def write_json_text(text: str) -> None:
    """JSON text on stdout, escaped where the console lacks a character."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        # Outside ASCII, JSON text only ever stands inside strings, where the escape means the same.
        text = "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
    print(text)


def write_text(text: str) -> None:
    """Lines on stdout as UTF-8, whatever the console is set to: a file that is redirected there is read as UTF-8."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def read_request(words: str | None) -> str:
    """The request: the argument, or stdin for ``-`` or no argument. Raises ``RouteError`` where there is neither."""
    if words is not None and words != "-":
        return words
    if words is None and sys.stdin.isatty():
        raise RouteError("no request: give it as an argument, or - to read it from stdin")
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise RouteError(f"stdin is not UTF-8: {error}") from None
    if not text:
        raise RouteError("the request on stdin is empty")
    return text


def read_json_file(path: Path) -> Any:
    """A JSON file, its faults named with line and column. Raises ``RouteError``."""
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise RouteError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise RouteError(f"{path}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise RouteError(f"{path}: line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise RouteError(f"{path}: nested too deep") from None
