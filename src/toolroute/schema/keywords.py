"""What each JSON Schema keyword is to the compiler: an assertion, or an annotation.

The list is explicit. A keyword that is not in the table is an annotation by JSON Schema's own rule (unknown keywords assert nothing).
Each entry checks the *shape* of the keyword's value, so that a malformed schema is refused at compile time with its place, and nothing
further down meets a surprise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..errors import SchemaError

TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
MASK: Final = "mask"
AFTER: Final = "after"


def _schema(value: object) -> str | None:
    return None if isinstance(value, dict | bool) else "is not a schema (an object or a boolean)"


def _schemas(value: object) -> str | None:
    if not isinstance(value, list) or not value:
        return "is not a non-empty array of schemas"
    return next((f"item {i} {why}" for i, item in enumerate(value) if (why := _schema(item))), None)


def _schema_map(value: object) -> str | None:
    if not isinstance(value, dict):
        return "is not an object of schemas"
    return next((f"member {name!r} {why}" for name, item in value.items() if (why := _schema(item))), None)


def _items(value: object) -> str | None:
    return _schemas(value) if isinstance(value, list) and value else None if value == [] else _schema(value)


def _size(value: object) -> str | None:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value % 1 == 0  # infinity % 1 is NaN
    return None if whole else "is not a non-negative integer"


def _number(value: object) -> str | None:
    finite = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    return None if finite else "is not a number"


def _exclusive(value: object) -> str | None:
    """Draft-04 wrote a boolean here; the lowering refuses it in later dialects, with a hint."""
    return None if isinstance(value, bool) else _number(value)


def _positive(value: object) -> str | None:
    return _number(value) or (None if value > 0 else "is not greater than 0")  # type: ignore[operator]


def _names(value: object) -> str | None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return "is not an array of strings"
    return None


def _type(value: object) -> str | None:
    names = value if isinstance(value, list) else [value]
    if not names:
        return "is an empty array"
    bad = next((name for name in names if not isinstance(name, str) or name not in TYPES), None)
    return None if bad is None and all(isinstance(n, str) for n in names) else f"names no JSON type: {bad!r}"


def _array(value: object) -> str | None:
    return None if isinstance(value, list) else "is not an array"


def _text(value: object) -> str | None:
    return None if isinstance(value, str) else "is not a string"


def _boolean(value: object) -> str | None:
    return None if isinstance(value, bool) else "is not a boolean"


def _anything(value: object) -> str | None:
    return None


def _dependencies(value: object) -> str | None:
    if not isinstance(value, dict):
        return "is not an object"
    return next((f"member {n!r} {why}" for n, v in value.items() if (why := _names(v) if isinstance(v, list) else _schema(v))), None)


def _dependent_names(value: object) -> str | None:
    if not isinstance(value, dict):
        return "is not an object"
    return next((f"member {n!r} {why}" for n, v in value.items() if (why := _names(v))), None)


SHAPES: Final[dict[str, Callable[[object], str | None]]] = {
    "type": _type,
    "enum": _array,
    "const": _anything,
    "properties": _schema_map,
    "required": _names,
    "additionalProperties": _schema,
    "items": _items,
    "prefixItems": _schemas,
    "additionalItems": _schema,
    "minItems": _size,
    "maxItems": _size,
    "minLength": _size,
    "maxLength": _size,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _exclusive,
    "exclusiveMaximum": _exclusive,
    "anyOf": _schemas,
    "oneOf": _schemas,
    "allOf": _schemas,
    "$ref": _text,
    "multipleOf": _positive,
    "pattern": _text,
    "uniqueItems": _boolean,
    "contains": _schema,
    "minContains": _size,
    "maxContains": _size,
    "minProperties": _size,
    "maxProperties": _size,
    "patternProperties": _schema_map,
    "propertyNames": _schema,
    "dependentRequired": _dependent_names,
    "dependentSchemas": _schema_map,
    "dependencies": _dependencies,
    "not": _schema,
    "if": _schema,
    "then": _schema,
    "else": _schema,
    "unevaluatedProperties": _schema,
    "unevaluatedItems": _schema,
    "$dynamicRef": _text,
    "$recursiveRef": _text,
}
"""Keywords that assert something. Each is enforced while decoding, except where the lowering says why not; it is then checked on the
finished reply by ``jsonschema`` and reported ``after``. ``format`` asserts something only where that is asked for."""


_SINCE_2019 = frozenset(
    ("dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems", "$recursiveRef")
)
_SINCE_7 = frozenset(("if", "then", "else")) | _SINCE_2019
FOREIGN: Final[dict[int, frozenset[str]]] = {
    4: frozenset(("const", "contains", "propertyNames", "prefixItems", "$dynamicRef")) | _SINCE_7,
    6: frozenset(("prefixItems", "$dynamicRef")) | _SINCE_7,
    7: frozenset(("prefixItems", "$dynamicRef")) | _SINCE_2019,
    2019: frozenset(("prefixItems", "$dynamicRef")),
    2020: frozenset(("$recursiveRef", "additionalItems")),
}
"""By draft: keywords of other drafts, which assert nothing there. (``dependencies`` is kept in all of them: later drafts renamed it, and
whoever writes it means it.)"""


def check_shapes(schema: dict[str, Any], pointer: str) -> None:
    """Refuse a keyword whose value has the wrong shape, naming its place.

    Raises ``SchemaError``.
    """
    for keyword, value in schema.items():
        shape = SHAPES.get(keyword)
        if shape is not None and (why := shape(value)) is not None:
            raise SchemaError(f"{keyword} {why}", pointer=f"{pointer}/{escape(keyword)}", keyword=keyword)


def escape(name: str) -> str:
    """``name`` as one reference token of a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def unescape(token: str) -> str:
    """The name that a reference token of a JSON Pointer stands for."""
    return token.replace("~1", "/").replace("~0", "~")

