"""The validators of ``jsonschema``, one per dialect, with the meaning this package gives to numbers, equality and patterns.

Theory. ``jsonschema`` is the judge of arguments, and it is right about everything except what Python's own types get wrong: a float
division for ``multipleOf``, binary comparison of decimals, sorting for ``uniqueItems``, errors of ``additionalProperties`` in the order
of a set. Those keywords are replaced here, the rest is inherited, so a new keyword of a dialect comes with the library. Patterns reach
these classes already in Python's syntax (see ``patterns``).

The import of ``jsonschema`` takes about 0.1 s and happens on first use.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import SchemaError
from .jsontext import dump
from .numbers import canonical, exact, is_integer, is_multiple

DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_DIALECTS = {
    "json-schema.org/draft-04/schema": ("Draft4Validator", "DRAFT4"),
    "json-schema.org/draft-06/schema": ("Draft6Validator", "DRAFT6"),
    "json-schema.org/draft-07/schema": ("Draft7Validator", "DRAFT7"),
    "json-schema.org/draft/2019-09/schema": ("Draft201909Validator", "DRAFT201909"),
    "json-schema.org/draft/2020-12/schema": ("Draft202012Validator", "DRAFT202012"),
}

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any]]


def registry() -> Any:
    """Where references are looked up beside the document itself: the metaschemas, and nothing else. It fetches nothing."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    return REGISTRY


@dataclass(frozen=True)
class Dialect:
    """A dialect: its URI without scheme, the validator class, and how references are read in it."""

    name: str
    validator: Any
    specification: Any


def known_dialect(uri: object) -> str | None:
    """The known dialect that ``$schema`` names (http or https, with or without a final ``#``), or None."""
    text = uri.removesuffix("#") if isinstance(uri, str) else ""
    name = text.removeprefix("https://").removeprefix("http://")
    return name if name in _DIALECTS and name != text else None


def dialect_name(uri: object) -> str:
    """The known dialect that ``$schema`` names. Raises ``SchemaError`` for any other."""
    name = known_dialect(uri)
    if name is None:
        raise SchemaError(f"unknown dialect {uri!r:.64}", pointer="/$schema", keyword="$schema")
    return name


@lru_cache(maxsize=8)
def dialect(name: str) -> Dialect:
    """The dialect of that name (see ``dialect_name``)."""
    import jsonschema
    import referencing.jsonschema

    class_name, specification = _DIALECTS[name]
    base = getattr(jsonschema, class_name)
    legacy = class_name == "Draft4Validator"
    keywords = dict(_keywords(jsonschema.ValidationError))
    keywords.update(_legacy_bounds(jsonschema.ValidationError) if legacy else _bounds(jsonschema.ValidationError))
    if legacy:
        del keywords["const"]
    checker = base.TYPE_CHECKER if legacy else base.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value))
    extend: Any = jsonschema.validators.extend
    validator = extend(base, keywords, type_checker=checker)
    return Dialect(name, validator, getattr(referencing.jsonschema, specification))


def _shown(value: Any) -> str:
    """A number as JSON writes it."""
    return dump(value)


def _comparison(fault: Any, outside: Callable[[Any, Any], bool], text: str) -> Keyword:
    def keyword(validator: Any, bound: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "number") and outside(exact(instance), exact(bound)):
            yield fault(f"{_shown(instance)} is {text} of {_shown(bound)}")

    return keyword


def _bounds(fault: Any) -> dict[str, Keyword]:
    return {
        "minimum": _comparison(fault, operator.lt, "less than the minimum"),
        "maximum": _comparison(fault, operator.gt, "greater than the maximum"),
        "exclusiveMinimum": _comparison(fault, operator.le, "less than or equal to the exclusive minimum"),
        "exclusiveMaximum": _comparison(fault, operator.ge, "greater than or equal to the exclusive maximum"),
    }


def _legacy_bounds(fault: Any) -> dict[str, Keyword]:
    """Draft-04: ``exclusiveMinimum`` and ``exclusiveMaximum`` are flags of the other keyword."""
    bounds = _bounds(fault)

    def flagged(plain: str, exclusive: str) -> Keyword:
        def keyword(validator: Any, bound: Any, instance: Any, schema: Any) -> Iterator[Any]:
            chosen = exclusive if schema.get(exclusive) is True else plain
            return bounds[chosen](validator, bound, instance, schema)

        return keyword

    return {"minimum": flagged("minimum", "exclusiveMinimum"), "maximum": flagged("maximum", "exclusiveMaximum")}


def _keywords(fault: Any) -> dict[str, Keyword]:
    """The replaced keywords that are the same in every dialect."""

    def multiple_of(validator: Any, step: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "number") and not is_multiple(instance, step):
            yield fault(f"{_shown(instance)} is not a multiple of {_shown(step)}")

    def const(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if canonical(instance) != canonical(value):
            yield fault(f"{value!r} was expected")

    def enum(validator: Any, values: Any, instance: Any, schema: Any) -> Iterator[Any]:
        key = canonical(instance)
        if all(canonical(value) != key for value in values):
            yield fault(f"{instance!r} is not one of {values!r}")

    def unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if wanted and validator.is_type(instance, "array") and len(set(map(canonical, instance))) < len(instance):
            yield fault(f"{instance!r} has non-unique elements")

    def additional_properties(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "object"):
            return
        declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name, value in instance.items():
            if name in declared or any(re.search(pattern, name) for pattern in patterns):
                continue
            if additional is False:
                yield fault(f"the member {name!r} is not allowed")
            else:
                yield from validator.descend(value, additional, path=name)

    return {
        "multipleOf": multiple_of,
        "const": const,
        "enum": enum,
        "uniqueItems": unique_items,
        "additionalProperties": additional_properties,
    }
