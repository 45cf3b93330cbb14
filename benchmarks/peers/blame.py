"""Which keywords a miss is owed to: a diagnosis for whoever works misses off, not a judgement.

A valid instance that the mask refuses: the byte where the language ended gives the place in the instance, and the place gives the
subschemas that spoke there; their assertion keywords are named. An invalid instance that the mask admits: the validator says which
keywords it breaks, and the report says whether those were left for after. A keyword that is broken, admitted and *not* reported is the
worst there is, and is called a hole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolroute.grammar.automaton import advance
from toolroute.route.jsontext import JsonFault, load
from toolroute.schema import Route

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_SILENT: Final = frozenset((
    "$schema", "$id", "id", "$comment", "title", "description", "default", "examples", "definitions", "$defs", "$ref", "properties",
    "items", "type", "readOnly", "writeOnly", "deprecated",
))  # fmt: skip
MAX_PLACES: Final = 200
"""Subschemas followed for one place (count)."""

JOINT: Final = " + "
"""Between several faults of one instance."""

Path = list[str | int | None]


def blame_refused(route: Route, schema: Any, text: str) -> str:
    """Why the mask refuses ``text``, as far as can be told."""
    value = json.loads(text)
    if route.accepts(json.dumps(ordered(value, schema, []), ensure_ascii=False)):
        return "member order"
    data = text.encode()
    low, high = 0, len(data)  # the longest prefix that is alive, by halves
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if advance(route.start, data[:middle]) is not None else (low, middle - 1)
    if low == len(data):
        return "the whole text is alive but not complete"
    prefix = data[:low].decode(errors="ignore")
    path, name = place(prefix)
    there = list(subschemas(schema, path[:-1] if name is not None else path))
    spoken = sorted({keyword for one in there for keyword in one if keyword not in _SILENT})
    if name is not None:
        declared = any(full in one.get("properties", {}) for one in there for full in [name_at(text, len(prefix))])
        what = "declared member" if declared else "undeclared member"
    else:
        kind = text[len(prefix)]
        last = (_TOKEN.findall(prefix) or [""])[-1]
        inside = last.startswith('"') and not complete(last)
        what = "string" if inside or kind == '"' else "number" if kind.isdigit() or kind in "-+.eE" else f"at {kind}"
        formats = sorted({str(one["format"]) for one in there if "format" in one})
        spoken = [f"format {' '.join(formats)}" if keyword == "format" else keyword for keyword in spoken]
    return f"{what} refused under {', '.join(spoken) or 'no assertion'}"


def ordered(value: Any, schema: Any, path: Path) -> Any:
    """The value with its members in the order in which the subschemas at each place declare them, the others after those."""
    if isinstance(value, list):
        return [ordered(item, schema, [*path, index]) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    declared = dict.fromkeys(name for one in subschemas(schema, path) for name in [*one.get("properties", {}), *one.get("required", [])])
    names = [*(name for name in declared if name in value), *(name for name in value if name not in declared)]
    return {name: ordered(value[name], schema, [*path, name]) for name in names}


def complete(token: str) -> bool:
    """Whether a string token is closed."""
    try:
        json.loads(token)
    except ValueError:
        return False
    return True


def place(prefix: str) -> tuple[Path, str | None]:
    """Where in the document ``prefix`` breaks off: the path (member names, indexes), and what there is of a member name, if in one."""
    stack: list[list[Any]] = []  # [is it an object, name or index, has its colon come]
    for token in _TOKEN.findall(prefix):
        if token == "{":
            stack.append([True, None, False])
        elif token == "[":
            stack.append([False, 0, True])
        elif token in "}]":
            stack.pop()
        elif token == ",":
            stack[-1][1:] = [None, False] if stack[-1][0] else [stack[-1][1] + 1, True]
        elif token == ":":
            stack[-1][2] = True
        elif stack and stack[-1][0] and not stack[-1][2]:
            stack[-1][1] = json.loads(token) if complete(token) else token[1:]
    path: Path = [entry[1] for entry in stack]
    naming = bool(stack) and stack[-1][0] and not stack[-1][2] and prefix.rstrip()[-1:] != "}"
    return path, (stack[-1][1] or "") if naming else None


def name_at(text: str, offset: int) -> str:
    """The member name that stands around ``offset``."""
    for match in _TOKEN.finditer(text):
        if match.end() > offset and match.group().startswith('"'):
            return str(json.loads(match.group()))
    return ""


def subschemas(schema: Any, path: Path) -> Iterator[dict[str, Any]]:
    """The subschemas that speak about the value at ``path``, alternatives and all."""
    here = list(spread(schema, [schema]))
    for step in path:
        here = list(spread(schema, [deeper for one in here for deeper in below(one, step)]))
    yield from here


def spread(root: Any, schemas: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The schemas with those they bring in at the same place."""
    seen: set[int] = set()
    stack = list(schemas)
    while stack and len(seen) < MAX_PLACES:
        one = stack.pop()
        if not isinstance(one, dict) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        for keyword in ("allOf", "anyOf", "oneOf"):
            stack += one.get(keyword, [])
        stack += [one[keyword] for keyword in ("if", "then", "else", "not") if keyword in one]
        ref = one.get("$ref")
        if isinstance(ref, str) and ref.startswith("#"):
            target = root
            for token in ref[1:].split("/")[1:]:
                token = token.replace("~1", "/").replace("~0", "~")
                target = target.get(token) if isinstance(target, dict) else None
            stack.append(target)


def below(schema: dict[str, Any], step: str | int | None) -> list[Any]:
    """What ``schema`` says about a member or item."""
    if isinstance(step, int):
        items, prefix = schema.get("items"), schema.get("prefixItems", [])
        prefix = items if isinstance(items, list) else prefix
        return [prefix[step]] if step < len(prefix) else [items if isinstance(items, dict) else schema.get("additionalItems")]
    if step in schema.get("properties", {}):
        return [schema["properties"][step]]
    return [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]


def blame_accepted(route: Route, validator: Any, text: str) -> str:
    """Which keywords the instance breaks, each with what the report says of it."""
    if validator is None:
        return "the schema cannot be checked"
    try:
        faults = validator.faults(load(text))
    except (JsonFault, RecursionError) as error:
        return f"the text is refused: {error}"
    if not faults:
        return "the validator accepts it too"
    after = {entry.keyword for entry in route.report.after}
    return JOINT.join(sorted({named(fault, after) for fault in faults}))


def named(fault: Any, after: set[str]) -> str:
    """A fault by its keyword, those of its alternatives behind it."""
    keyword = str(fault.validator)
    name = f"format {fault.validator_value}" if keyword == "format" else keyword
    parents = {str(part) for part in fault.absolute_schema_path}
    if fault.context:
        name += " of " + "/".join(sorted({str(inner.validator) for inner in fault.context}))
    if after & (parents | {keyword}) or any(str(inner.validator) in after for inner in fault.context):
        return f"{name} (after)"
    return f"{name} (not in the report)" if keyword == "format" else f"{name} (HOLE: not in the report)"
