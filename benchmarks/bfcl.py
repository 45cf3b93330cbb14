"""The Berkeley Function-Calling Leaderboard: its rows, its gold replies, and its rule for what counts as right.

Theory. The data is read from the wheel that its authors publish, at one version and one hash; nothing is installed or imported from it.
Its tools are nearly JSON Schema (``dict`` for ``object``, ``float`` for ``number``, ``any`` for no type), and only the names of types are
changed here.

An answer lists, for every argument, the values that are acceptable; ``""`` among them means that an optional argument may be left out.
The values of an object argument are again lists of acceptable values, one level deep; what is deeper is meant literally. ``gold_reply``
writes the first acceptable value of each argument, in the order in which the tool declares them, so that it is a text the route admits.

``matches`` is the leaderboard's rule ("AST evaluation") written anew: values are equal when they are the same JSON values, numbers by
value, and strings after case, blanks, the characters ``,./-_*^`` and the kind of quote are taken away; ``strict`` compares strings exactly.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from toolroute.catalogue import Catalogue
from toolroute.errors import RouteError
from toolroute.schema import compile_route

PACKAGE: Final = "bfcl-eval"
VERSION: Final = "2026.3.23"
SHA256: Final = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
CATEGORIES: Final = (
    "simple_python",
    "multiple",
    "live_simple",
    "live_multiple",
    "irrelevance",
    "live_irrelevance",
    "live_relevance",
    "simple_java",
    "simple_javascript",
)
"""The categories with one request and at most one call a row."""

Style = Literal["spaced", "compact"]
SEPARATORS: Final[dict[str, tuple[str, str]]] = {"spaced": (", ", ": "), "compact": (",", ":")}

_TYPES: Final = {
    "dict": "object",
    "HashMap": "object",
    "float": "number",
    "double": "number",
    "tuple": "array",
    "Array": "array",
    "ArrayList": "array",
    "String": "string",
    "char": "string",
    "Boolean": "boolean",
    "long": "integer",
}
_JSON_TYPES: Final = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_SUBSCHEMAS: Final = frozenset(("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"))
_SCHEMA_LISTS: Final = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_SCHEMA_MAPS: Final = frozenset(("properties", "patternProperties", "$defs", "definitions"))
_LOOSE: Final = re.compile(r"[ ,./\-_*^]")

Answer = dict[str, dict[str, list[Any]]]
"""Tool name → argument name → acceptable values."""


@dataclass(frozen=True)
class Row:
    """One row.

    ``request``: the user's text where that is all there is; ``messages``: the whole first turn; ``answers``: None where no call is listed.
    """

    id: str
    category: str
    request: str | None
    messages: list[dict[str, str]]
    tools: list[dict[str, Any]]
    answers: list[Answer] | None


def load(category: str, source: str | os.PathLike[str] | None = None) -> list[Row]:
    """The rows of one category, in the order of the file. ``source``: see ``read``.

    Raises ``FileNotFoundError`` for an unknown category.
    """
    name = f"BFCL_v4_{category}.json"
    rows = [json.loads(line) for line in read(name, source).splitlines() if line.strip()]
    try:
        answer_lines = read(f"possible_answer/{name}", source).splitlines()
    except FileNotFoundError:
        answer_lines = []
    answers = {row["id"]: row["ground_truth"] for row in map(json.loads, filter(None, answer_lines))}
    found = []
    for row in rows:
        messages = row["question"][0]
        alone = len(messages) == 1 and messages[0]["role"] == "user"
        tools = [normalised_tool(tool) for tool in row["function"]]
        found.append(Row(row["id"], category, messages[0]["content"] if alone else None, messages, tools, answers.get(row["id"])))
    return found


# -- where the data comes from -------------------------------------------------------------------------------------------------------


def read(name: str, source: str | os.PathLike[str] | None = None) -> str:
    """A data file of the wheel, as text.

    ``source`` (or the environment variable ``BFCL_WHEEL``): the wheel, a directory that has it, or a directory it was unpacked to; None:
    the cache of this user, to which pip fetches the wheel once. Raises ``FileNotFoundError`` for a file that is not there, ``ValueError``
    for another wheel than the pinned one.
    """
    place = Path(source or os.environ.get("BFCL_WHEEL") or _cache())
    inside = f"bfcl_eval/data/{name}"
    if (place / "bfcl_eval" / "data").is_dir():
        return (place / inside).read_text(encoding="utf-8")
    if place.is_dir():
        wheels = sorted(place.glob(f"{PACKAGE.replace('-', '_')}-{VERSION}-*.whl"))
        if not wheels:
            raise FileNotFoundError(f"{place} has no wheel of {PACKAGE} {VERSION}")
        place = wheels[0]
    check(place)
    with zipfile.ZipFile(place) as wheel:
        try:
            return wheel.read(inside).decode("utf-8")
        except KeyError:
            raise FileNotFoundError(f"{place} has no {inside}") from None


@lru_cache
def check(wheel: Path) -> None:
    """Refuse a wheel that is not the pinned one."""
    found = sha256(wheel.read_bytes()).hexdigest()
    if found != SHA256:
        raise ValueError(f"{wheel} is not {PACKAGE} {VERSION}: its SHA-256 is {found}")


def _cache() -> Path:
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("toolroute")) / "bfcl"
    if not any(folder.glob(f"*-{VERSION}-*.whl")):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
        subprocess.run(command, check=True, timeout=600, stdout=sys.stderr)
    return folder


# -- tools ---------------------------------------------------------------------------------------------------------------------------


def normalised_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of the leaderboard as name, description and JSON Schema parameters."""
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": normalised(tool["parameters"])}


def normalised(schema: Any) -> Any:
    """The same schema with JSON Schema's names for the types, at every level; a type that is none of them is left out."""
    if not isinstance(schema, dict):
        return schema
    new: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            kind = _TYPES.get(value, value)
            if kind in _JSON_TYPES:
                new[key] = kind
        elif key == "type" and isinstance(value, list):
            kinds = list(dict.fromkeys(_TYPES.get(kind, kind) for kind in value))
            if all(kind in _JSON_TYPES for kind in kinds):
                new[key] = kinds
        elif key in _SUBSCHEMAS:
            new[key] = normalised(value)
        elif key in _SCHEMA_LISTS and isinstance(value, list):
            new[key] = [normalised(item) for item in value]
        elif key in _SCHEMA_MAPS and isinstance(value, dict):
            new[key] = {name: normalised(item) for name, item in value.items()}
        else:
            new[key] = value
    return new


def pooled(count: int, source: str | os.PathLike[str] | None = None) -> Catalogue:
    """A catalogue of ``count`` tools with different names, the first ones of all categories in order that compile.

    Raises ``ValueError`` where there are not so many.
    """
    tools: dict[str, dict[str, Any]] = {}
    for category in CATEGORIES:
        for row in load(category, source):
            for tool in row.tools:
                if len(tools) == count:
                    return Catalogue.from_tools(tools.values())
                if tool["name"] not in tools and _compiles(tool):
                    tools[tool["name"]] = tool
    if len(tools) < count:
        raise ValueError(f"there are {len(tools)} different tools, not {count}")
    return Catalogue.from_tools(tools.values())


def _compiles(tool: dict[str, Any]) -> bool:
    try:
        compile_route([tool])
    except RouteError:
        return False
    return True


# -- gold replies --------------------------------------------------------------------------------------------------------------------


def gold_reply(row: Row, style: Style = "spaced") -> str | None:
    """The canonical text of the right reply.

    None where the leaderboard's own answer does not satisfy the tool's schema, or is not one call.
    """
    call = gold_call(row)
    if call is None:
        return None
    name, arguments = call
    reply = {"tool": "none"} if name is None else {"tool": name, "arguments": arguments}
    return json.dumps(reply, ensure_ascii=False, separators=SEPARATORS[style])


def gold_call(row: Row) -> tuple[str | None, dict[str, Any]] | None:
    """Tool (None: no call is right) and arguments of the right reply; None where there is no such reply (see ``gold_reply``)."""
    import jsonschema

    if row.answers is None:
        return (None, {}) if "irrelevance" in row.category else None
    if len(row.answers) != 1 or len(row.answers[0]) != 1:
        return None
    ((name, answer),) = row.answers[0].items()
    parameters = next((tool["parameters"] for tool in row.tools if tool["name"] == name), None)
    if parameters is None or not all(answer.values()):
        return None
    arguments = ordered(_first(answer, parameters), parameters)
    try:
        jsonschema.validate(arguments, parameters)
    except (jsonschema.ValidationError, jsonschema.SchemaError):
        return None
    return name, arguments


def _first(answer: Mapping[str, Sequence[Any]], schema: Mapping[str, Any], literal: bool = False) -> dict[str, Any]:
    """The first acceptable value of every member that may not be left out; ``literal``: objects in it are meant as they are."""
    properties, required = schema.get("properties", {}), schema.get("required", ())
    chosen = {}
    for name, values in answer.items():
        if not ("" in values and name not in required):
            chosen[name] = _value(values[0] if values else None, properties.get(name, {}), literal)
    return chosen


def _value(value: Any, schema: Any, literal: bool) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        return value if literal else _first(value, schema, True)
    if isinstance(value, list) and not literal:
        return [_value(item, schema.get("items", {}), False) for item in value]
    return value


def ordered(value: Any, schema: Any) -> Any:
    """``value`` with members in declared order (others last) and whole floats as integers where an integer is asked for, at every level."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        names = [name for name in properties if name in value] + [name for name in value if name not in properties]
        return {name: ordered(value[name], properties.get(name, {})) for name in names}
    if isinstance(value, list):
        return [ordered(item, schema.get("items", {})) for item in value]
    if schema.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


# -- what counts as right ------------------------------------------------------------------------------------------------------------


def matches(row: Row, name: str | None, arguments: Mapping[str, Any] | None, strict: bool = False) -> bool:
    """Whether a call is right. ``name`` None (or ``"none"`` where no tool has that name): no call was made."""
    if name is None or (name == "none" and all(tool["name"] != "none" for tool in row.tools)):
        return row.answers is None and "irrelevance" in row.category
    for call in row.answers or ():
        if name in call:
            required = next((t["parameters"].get("required", ()) for t in row.tools if t["name"] == name), ())
            given = arguments or {}
            return all(argument in given for argument in required) and _members(given, call[name], strict)
    return False


def _members(given: Mapping[str, Any], answer: Mapping[str, Sequence[Any]], strict: bool, literal: bool = False) -> bool:
    """Every given member acceptable, every missing one allowed to be missing."""
    if any(name not in answer or not _acceptable(value, answer[name], strict, literal) for name, value in given.items()):
        return False
    return all(name in given or "" in values for name, values in answer.items())


def _acceptable(value: Any, options: Iterable[Any], strict: bool, literal: bool) -> bool:
    for option in options:
        if literal or not isinstance(option, (dict, list)):
            right = same(value, option, strict)
        elif isinstance(option, dict):
            right = isinstance(value, dict) and _members(value, option, strict, literal=True)
        else:
            right = isinstance(value, list) and len(value) == len(option)
            right = right and all(_acceptable(a, (b,), strict, False) for a, b in zip(value, option, strict=True))
        if right:
            return True
    return False


def same(a: Any, b: Any, strict: bool = False) -> bool:
    """Whether two JSON values are the same: numbers by value, strings loosely unless ``strict``, members in any order."""
    if isinstance(a, str) and isinstance(b, str):
        return a == b if strict else loose(a) == loose(b)
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, strict) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name], strict) for name in a)
    return False


def loose(text: str) -> str:
    """``text`` as the leaderboard compares it."""
    return _LOOSE.sub("", text).lower().replace("'", '"')
