"""Whether a listed value passes the keywords that stand beside its ``enum`` or ``const``: all of them, as ``jsonschema`` means them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..errors import SchemaError
from ..route.dialects import dialect
from ..route.ecma import compile_pattern
from ..route.formats import FORMATS
from .document import Document, Part
from .keywords import SHAPES

_SCALARS = {str: "string", bool: "boolean", type(None): "null"}
_LISTING = frozenset(("enum", "const"))


def admits(part: Part, value: Any, document: Document, formats: bool) -> bool:
    """Whether ``part`` alone, apart from the keywords it skips and its own listing, admits ``value``.

    Raises ``SchemaError`` where ``jsonschema`` cannot tell.
    """
    rest = {k: v for k, v in part.schema.items() if k in SHAPES and k not in part.skip and k not in _LISTING}
    if formats and "format" in part.schema:
        rest["format"] = part.schema["format"]
    if not rest:
        return True
    if rest.keys() == {"type"} and (name := _SCALARS.get(type(value))) is not None:
        return name == rest["type"] or (isinstance(rest["type"], list) and name in rest["type"])
    return satisfies(rest, value, document, formats, part.place)


def satisfies(schema: Any, value: Any, document: Document, formats: bool, place: str) -> bool:
    """Whether ``value`` is valid against ``schema``, a part of ``document``. Raises ``SchemaError`` where ``jsonschema`` cannot tell."""
    try:
        validator = _validator(document.dialect)(document.root, format_checker=_checker() if formats else None)
        return bool(validator.evolve(schema=schema).is_valid(value))
    except SchemaError:
        raise
    except Exception as error:  # a reference loop, say: jsonschema raises what it likes, and none of it may pass
        raise SchemaError(f"a listed value could not be checked: {error}", pointer=place) from None


@lru_cache(maxsize=8)
def _validator(name: str) -> Any:
    """The dialect's validator for schemas as they stand in a document, with patterns of ECMA-262."""
    import jsonschema

    fault = jsonschema.ValidationError

    def pattern(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not compile_pattern(wanted).search(instance):
            yield fault("the pattern does not match")

    def matched(patterns: Any, name: str) -> list[str]:
        return [text for text in patterns if compile_pattern(text).search(name)]

    def pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
        for name, item in instance.items() if isinstance(instance, dict) else ():
            for text in matched(patterns, name):
                yield from validator.descend(item, patterns[text], path=name)

    def additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        for name, item in instance.items() if isinstance(instance, dict) else ():
            if name not in schema.get("properties", {}) and not matched(schema.get("patternProperties", {}), name):
                yield from validator.descend(item, wanted, path=name)

    keywords = {"pattern": pattern, "patternProperties": pattern_properties, "additionalProperties": additional_properties}
    extend: Any = jsonschema.validators.extend
    return extend(dialect(name).validator, keywords)


@lru_cache(maxsize=1)
def _checker() -> Any:
    import jsonschema

    checker = jsonschema.FormatChecker(formats=())
    for name, test in FORMATS.items():
        checker.checks(name)(lambda value, test=test: not isinstance(value, str) or test(value))
    return checker
