"""A schema in a few words: its type, its constraints, its members, for a model to read.

Theory. A model reads types as people write them: ``array<string>``, ``"c"|"f"``, ``integer|null``. What a schema says in other ways (a
reference, one alternative, parts to be met together) is resolved as far as a line of text can say it, which is always less than the
schema: this is documentation, and the mask and the validator decide. Everything from the schema is data: names and values that are not
plain words are written as JSON strings, so no line break and no marker of a template gets in unquoted.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from ..catalogue.positions import follow, parse_fragment

MAX_ENUM = 12
"""How many values of an enumeration are listed."""
MAX_LITERAL = 80
"""Longest value shown, in characters."""
_MAX_HOPS = 8
_MAX_ARRAYS = 3

_WORD = re.compile(r"[\w.$@/+-]+")
_BREAKS = frozenset(("Cc", "Zl", "Zp"))
_TYPES = frozenset(("string", "integer", "number", "boolean", "array", "object", "null"))
_BOUNDS = (
    ("format", "format {}"), ("pattern", "pattern {}"), ("minimum", ">= {}"), ("exclusiveMinimum", "> {}"), ("maximum", "<= {}"),
    ("exclusiveMaximum", "< {}"), ("multipleOf", "multiple of {}"), ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"), ("minItems", "at least {} items"), ("maxItems", "at most {} items"),
    ("minProperties", "at least {} members"), ("maxProperties", "at most {} members"),
)  # fmt: skip


def as_list(value: Any) -> list[Any]:
    """``value`` where it is a list, else none of it: a bad schema is described as far as it goes."""
    return value if isinstance(value, list) else []


def one_line(text: str) -> str:
    """``text`` with every run of white space (line breaks of any script included) as one blank."""
    return " ".join(text.split())


def literal(value: Any) -> str:
    """``value`` as JSON on one line, cut to ``MAX_LITERAL`` characters."""
    text = json.dumps(value, ensure_ascii=False)
    if any(unicodedata.category(char) in _BREAKS for char in text):
        text = json.dumps(value)
    return text if len(text) <= MAX_LITERAL else text[: MAX_LITERAL - 1] + "…"


def word(name: str) -> str:
    """``name`` as it is where it is a plain word, else as a JSON string."""
    return name if _WORD.fullmatch(name) else literal(name)


def resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """``schema`` with local references followed, siblings kept; ``{}`` for true, ``{"not": {}}`` for false."""
    whole: dict[str, Any] = schema if isinstance(schema, dict) else {"not": {}} if schema is False else {}
    for _ in range(_MAX_HOPS):
        reference = whole.get("$ref")
        pointer = parse_fragment(reference) if isinstance(reference, str) else None
        target = None if pointer is None else follow(root, pointer)
        if not isinstance(target, dict):
            break
        whole = {**target, **{key: value for key, value in whole.items() if key != "$ref"}}
    return whole


def _parts(schema: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema and the parts of its ``allOf``, resolved."""
    whole = resolved(schema, root)
    return [whole, *(resolved(part, root) for part in as_list(whole.get("allOf")))]


def members(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """The declared members of an object schema, the first declaration of each; those of its alternatives come last."""
    found: dict[str, Any] = {}
    parts = _parts(schema, root)
    if parts[0].get("type") in ("object", ["object"]) or "properties" in parts[0]:
        for keyword in ("anyOf", "oneOf"):
            parts.extend(resolved(part, root) for part in as_list(parts[0].get(keyword)))
    for part in parts:
        declared = part.get("properties")
        for key, value in declared.items() if isinstance(declared, dict) else ():
            found.setdefault(key, value)
    return found


def required(schema: Any, root: dict[str, Any]) -> frozenset[str]:
    """The names of the required members."""
    lists = [as_list(part.get("required")) for part in _parts(schema, root)]
    return frozenset(name for names in lists for name in names if isinstance(name, str))


def _joined(texts: list[str]) -> str:
    """Alternatives once each, ``null`` last."""
    unique = list(dict.fromkeys(part for text in texts for part in _split(text)))
    return "|".join([text for text in unique if text != "null"] + [text for text in unique if text == "null"]) or "any"


def _split(text: str) -> list[str]:
    """Take a trailing ``|null`` off, so that it is said once."""
    return [text.removesuffix("|null"), "null"] if text.endswith("|null") else [text]


def type_text(schema: Any, root: dict[str, Any], depth: int = 0) -> str:
    """The type of a value: ``string``, ``array<integer>``, ``"a"|"b"``, ``number|null``, ``object``, ``any``."""
    whole = resolved(schema, root)
    if whole == {"not": {}}:
        return "never"
    if "const" in whole:
        return literal(whole["const"])
    if values := as_list(whole.get("enum")):
        return "|".join([literal(value) for value in values[:MAX_ENUM]] + ["…"] * (len(values) > MAX_ENUM))
    kinds = whole.get("type")
    names = [name for name in ([kinds] if isinstance(kinds, str) else as_list(kinds)) if isinstance(name, str) and name in _TYPES]
    if names:
        return _joined([_NESTED[name](whole, root, depth) if name in _NESTED else name for name in names])
    for keyword in ("anyOf", "oneOf"):
        if isinstance(whole.get(keyword), list) and depth < _MAX_ARRAYS:
            return _joined([type_text(part, root, depth + 1) for part in whole[keyword]])
    if "properties" in whole or "additionalProperties" in whole:
        return _object_text(whole, root, depth)
    if "items" in whole or "prefixItems" in whole:
        return _array_text(whole, root, depth)
    parts = [type_text(part, root, depth + 1) for part in as_list(whole.get("allOf"))] if depth < _MAX_ARRAYS else []
    return next((text for text in parts if text != "any"), "any")


def _array_text(schema: dict[str, Any], root: dict[str, Any], depth: int) -> str:
    """``array<T>``, ``[A, B]`` for a tuple, ``array`` where the items may be anything."""
    items = schema.get("items")
    first = schema.get("prefixItems", items)
    if depth < _MAX_ARRAYS and isinstance(first, list):
        return "[" + ", ".join(type_text(item, root, depth + 1) for item in first[:MAX_ENUM]) + ", …" * (len(first) > MAX_ENUM) + "]"
    return f"array<{type_text(items, root, depth + 1)}>" if depth < _MAX_ARRAYS and isinstance(items, dict) and items else "array"


def _object_text(schema: dict[str, Any], root: dict[str, Any], depth: int) -> str:
    """``object<T>`` for a map to values of one type, else ``object``."""
    values = schema.get("additionalProperties")
    if depth < _MAX_ARRAYS and isinstance(values, dict) and values and not schema.get("properties"):
        return f"object<{type_text(values, root, depth + 1)}>"
    return "object"


_NESTED = {"array": _array_text, "object": _object_text}


def constraints(schema: Any, root: dict[str, Any]) -> list[str]:
    """What a value must satisfy beyond its type, and its default; what every item must, marked ``each``."""
    whole = resolved(schema, root)
    facts = []
    for keyword, text in _BOUNDS:
        value = whole.get(keyword)
        if isinstance(value, str):
            facts.append(text.format(value if _plain(value) else literal(value)))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            facts.append(text.format(literal(value)))
    if whole.get("uniqueItems") is True:
        facts.append("unique items")
    if isinstance(whole.get("items"), dict):
        facts.extend("each " + fact for fact in constraints({**resolved(whole["items"], root), "items": None}, root))
    if "default" in whole:
        facts.append(f"default {literal(whole['default'])}")
    return facts


def _plain(text: str) -> bool:
    return len(text) <= MAX_LITERAL and text == one_line(text) and text.isprintable()
