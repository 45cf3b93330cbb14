"""Values against schemas at compile time: equality as JSON Schema means it, and whether a listed value passes its sibling keywords.

The one place where ``jsonschema`` is asked about a schema (the other place validates arguments: ``route.validate``).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import jsonschema
from jsonschema.protocols import Validator

from ..errors import SchemaError
from .document import Document, Part
from .keywords import CHECKED, ENFORCED

_VALIDATORS: dict[int, type[Validator]] = {
    4: jsonschema.Draft4Validator,
    6: jsonschema.Draft6Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}
_SCALARS = {str: "string", bool: "boolean", type(None): "null"}


def canonical(value: Any) -> Any:
    """A hashable key; equal for values that JSON Schema calls equal (1 is 1.0, and neither is true)."""
    if value is None or isinstance(value, bool | str):
        return (type(value).__name__, value)
    if isinstance(value, int | float | Decimal):
        return ("number", value)  # Python hashes and compares numbers across these types by exact value
    if isinstance(value, list):
        return ("array", tuple(canonical(item) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, canonical(item)) for name, item in value.items()))
    raise SchemaError(f"a listed value of Python type {type(value).__name__} is not JSON")


def admits(part: Part, value: Any, document: Document) -> bool:
    """Whether ``part`` alone, apart from the keywords it skips and its own listing, admits ``value``."""
    rest = {k: v for k, v in part.schema.items() if (k in ENFORCED or k in CHECKED) and k not in part.skip and k not in ("enum", "const")}
    if rest.keys() == {"type"} and (name := _SCALARS.get(type(value))) is not None:
        return name == rest["type"] or (isinstance(rest["type"], list) and name in rest["type"])
    if not rest:
        return True
    root = _VALIDATORS[document.draft](document.root)
    try:
        return bool(root.evolve(schema=rest).is_valid(value))
    except Exception as error:  # a broken pattern, a reference loop: jsonschema raises what it likes
        raise SchemaError(f"a listed value could not be checked: {error}", pointer=part.pointer) from None
