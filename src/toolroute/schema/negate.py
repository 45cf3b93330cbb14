"""What it means not to satisfy a schema, written as a schema again.

Theory. A value fails a schema when it fails one of its keywords, so a negation is an alternative for each keyword, with the negation
pushed one level down: not ``minLength: 3`` is a string of at most two characters, not ``properties: {a: S}`` is an object that has ``a``
with a value that is not ``S``. The lowering therefore knows negation only as more alternatives; it meets ``not`` again one level below.
Where no keyword of JSON Schema says it, a key that is not text stands for it (``NOT_ENUM`` and so on), which no document can contain.

What cannot be said is given back by name: the caller then admits more than it should and checks the finished reply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .keywords import SHAPES, TYPES

Key = tuple[str, str]
NOT_ENUM: Final[Key] = ("not", "enum")
"""A list of values, none of which it may equal."""
NOT_PATTERN: Final[Key] = ("not", "pattern")
NOT_MULTIPLE: Final[Key] = ("not", "multipleOf")
NOT_FORMAT: Final[Key] = ("not", "format")
SOME_ITEM: Final[Key] = ("some", "item")
"""``(start, schema)``: an item from ``start`` on satisfies ``schema``."""
SOME_MEMBER: Final[Key] = ("some", "member")
"""``(names, patterns, schema)``: a member that is not among ``names`` and matches none of ``patterns`` satisfies ``schema``."""

MAX_PAIRS: Final = 8
"""Branches of a ``oneOf`` whose pairs are written out under a negation (count)."""

Schema = Any
Alternatives = list[Schema]


def negation(schema: Schema, draft: int, formats: bool) -> tuple[Alternatives, list[str]]:
    """Schemas whose union is the values that ``schema`` refuses, and the keywords for which that could not be said.

    ``formats``: whether ``format`` asserts something.
    """
    if isinstance(schema, bool):
        return ([], []) if schema else ([True], [])
    found: Alternatives = []
    lost: list[str] = []
    for keyword, value in schema.items():
        if keyword == "format":
            found += [{"type": "string", NOT_FORMAT: value}] if formats else []
        elif keyword == "items":
            start = len(schema.get("prefixItems", ())) if draft == 2020 else 0
            found += _items(value, start)
        elif keyword == "additionalItems":
            head = schema.get("items")
            found += _some_item(len(head), value) if isinstance(head, list) else []
        elif keyword == "additionalProperties":
            declared = (tuple(schema.get("properties", ())), tuple(schema.get("patternProperties", ())))
            found += [] if value is True else [{"type": "object", SOME_MEMBER: (*declared, _not(value))}]
        elif keyword in ("minimum", "maximum") and draft == 4:
            found.append(_legacy_bound(keyword, value, schema))
        elif keyword in ("exclusiveMinimum", "exclusiveMaximum") and draft == 4:
            pass
        elif keyword in ("contains", "minContains", "maxContains"):
            found += _contains(schema, draft) if keyword == "contains" else []
        elif keyword in ("if", "then", "else"):
            found += _conditional(schema) if keyword == "if" else []
        elif keyword == "oneOf" and len(value) > MAX_PAIRS:
            lost.append(keyword)
        elif (rule := _RULES.get(keyword)) is not None:
            found += rule(value)
        elif keyword in SHAPES:
            lost.append(keyword)
    return found, lost


def _not(schema: Schema) -> Schema:
    return not schema if isinstance(schema, bool) else {"not": schema}


def _type(value: Any) -> Alternatives:
    named = {value} if isinstance(value, str) else set(value)
    left = [name for name in TYPES if name not in named and not (name == "integer" and "number" in named)]
    if "integer" not in named or "number" in named:
        return [{"type": left}] if left else []
    left.remove("number")
    return [*([{"type": left}] if left else []), {"type": "number", NOT_MULTIPLE: 1}]


def _enum(values: list[Any]) -> Alternatives:
    return [{NOT_ENUM: values}]


def _items(value: Any, start: int) -> Alternatives:
    if isinstance(value, list):
        return [_at_least(i, {"items": [*[True] * i, _not(item)]}) for i, item in enumerate(value)]
    return _some_item(start, value)


def _some_item(start: int, schema: Schema) -> Alternatives:
    return [] if schema is True else [{"type": "array", SOME_ITEM: (start, _not(schema))}]


def _at_least(index: int, schema: dict[str, Any]) -> Schema:
    return {"type": "array", "minItems": index + 1, **schema}


def _prefix(values: list[Any]) -> Alternatives:
    return [_at_least(i, {"prefixItems": [*[True] * i, _not(item)]}) for i, item in enumerate(values)]


def _contains(schema: dict[str, Any], draft: int) -> Alternatives:
    low, high = (schema.get("minContains", 1), schema.get("maxContains")) if draft >= 2019 else (1, None)
    found: Alternatives = []
    if low > 0:
        found.append({"type": "array", "contains": schema["contains"], "minContains": 0, "maxContains": low - 1})
    if high is not None:
        found.append({"type": "array", "contains": schema["contains"], "minContains": high + 1})
    return found


def _conditional(schema: dict[str, Any]) -> Alternatives:
    found: Alternatives = []
    if "then" in schema:
        found.append({"allOf": [schema["if"], _not(schema["then"])]})
    if "else" in schema:
        found.append({"allOf": [_not(schema["if"]), _not(schema["else"])]})
    return found


def _legacy_bound(keyword: str, value: Any, schema: dict[str, Any]) -> Schema:
    """Draft-04: the exclusive keyword is a flag of the other."""
    low = keyword == "minimum"
    strict = schema.get("exclusiveMinimum" if low else "exclusiveMaximum") is True
    other, flag = ("maximum", "exclusiveMaximum") if low else ("minimum", "exclusiveMinimum")
    return {"type": "number", other: value, **({} if strict else {flag: True})}


def _one_of(branches: list[Any]) -> Alternatives:
    pairs = [{"allOf": [a, b]} for i, a in enumerate(branches) for b in branches[:i]]
    return [{"allOf": [_not(branch) for branch in branches]}, *pairs]


def _dependent_names(value: dict[str, list[str]]) -> Alternatives:
    return [{"type": "object", "required": [name], "properties": {other: False}} for name, names in value.items() for other in names]


def _dependent_schemas(value: dict[str, Any]) -> Alternatives:
    return [{"type": "object", "required": [name], "allOf": [_not(schema)]} for name, schema in value.items()]


def _dependencies(value: dict[str, Any]) -> Alternatives:
    found: Alternatives = []
    for name, item in value.items():
        found += _dependent_names({name: item}) if isinstance(item, list) else _dependent_schemas({name: item})
    return found


def _fewer(kind: str, keyword: str) -> Callable[[Any], Alternatives]:
    return lambda low: [{"type": kind, keyword: int(low) - 1}] if low > 0 else []


def _more(kind: str, keyword: str) -> Callable[[Any], Alternatives]:
    return lambda high: [{"type": kind, keyword: int(high) + 1}]


def _bound(keyword: str) -> Callable[[Any], Alternatives]:
    return lambda value: [{"type": "number", keyword: value}]


_RULES: Final[dict[str, Callable[[Any], Alternatives]]] = {
    "type": _type,
    "enum": _enum,
    "const": lambda value: _enum([value]),
    "properties": lambda value: [
        {"type": "object", "required": [name], "properties": {name: _not(schema)}} for name, schema in value.items() if schema is not True
    ],
    "required": lambda names: [{"type": "object", "properties": {name: False}} for name in names],
    "prefixItems": _prefix,
    "minItems": _fewer("array", "maxItems"),
    "maxItems": _more("array", "minItems"),
    "minLength": _fewer("string", "maxLength"),
    "maxLength": _more("string", "minLength"),
    "minProperties": _fewer("object", "maxProperties"),
    "maxProperties": _more("object", "minProperties"),
    "minimum": _bound("exclusiveMaximum"),
    "maximum": _bound("exclusiveMinimum"),
    "exclusiveMinimum": _bound("maximum"),
    "exclusiveMaximum": _bound("minimum"),
    "multipleOf": lambda value: [{"type": "number", NOT_MULTIPLE: value}],
    "pattern": lambda value: [{"type": "string", NOT_PATTERN: value}],
    "anyOf": lambda branches: [{"allOf": [_not(branch) for branch in branches]}],
    "allOf": lambda branches: [_not(branch) for branch in branches],
    "oneOf": _one_of,
    "not": lambda schema: [schema],
    "$ref": lambda reference: [{"not": {"$ref": reference}}],
    "dependentRequired": _dependent_names,
    "dependentSchemas": _dependent_schemas,
    "dependencies": _dependencies,
}
