"""Arguments against a tool's own schema: the one place where ``jsonschema`` validates arguments.

Theory. Parsing says that a reply is an offered action; this says that its arguments suit the tool, including everything a mask leaves to
be checked afterwards. The schema is judged once per tool, when the validator is built: what is wrong with it is a ``SchemaError`` there,
never a surprise while a model runs. A check never raises: whatever goes wrong inside it is a refusal, because arguments that could not
be checked are not dispatched.

The answer is one sentence and deterministic: of all faults the one nearest to the root, and of those the first in the schema's order.

Cost: about 2 ms to build a validator (cached by the tool's content), then time proportional to the arguments.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ..catalogue import Tool
from ..catalogue.positions import Pointer, pointer_text, positions
from ..errors import SchemaError, UnsupportedSchema
from .dialects import DEFAULT_DIALECT, Dialect, dialect, dialect_name, registry
from .formats import FORMATS, UNCHECKED
from .patterns import Positions, PythonPatterns, check_references

MAX_MESSAGE = 300
"""Longest message about one fault, in characters; it may quote the value at fault, and is cut in the middle."""

_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")


class ArgumentValidator:
    """The validator of one tool's arguments.

    Raises ``SchemaError`` (``tool``, ``pointer``, ``keyword``) where the parameters are not valid in their dialect, have a reference that
    does not resolve within them, or a pattern that is not ECMA-262; ``UnsupportedSchema`` where a pattern, or with ``format_assertion`` a
    format, cannot be checked.
    """

    def __init__(self, tool: Tool, *, format_assertion: bool = False) -> None:
        self.tool = tool
        try:
            self._build(tool.parameters, format_assertion)
        except SchemaError as error:
            reason = error.reason
            raise type(error)(reason, pointer=error.pointer, keyword=error.keyword, tool=tool.name) from error.__cause__

    def _build(self, schema: dict[str, Any], format_assertion: bool) -> None:
        chosen = dialect(dialect_name(schema.get("$schema", DEFAULT_DIALECT)))
        _check_schema(schema, chosen)
        found = positions(schema)
        check_references(schema, found, chosen)
        prepared = PythonPatterns(schema, found)
        self._originals = prepared.originals
        checker = _format_checker(found) if format_assertion else None
        self._validator = chosen.validator(prepared.schema, registry=registry(), format_checker=checker)

    def check(self, arguments: object) -> str | None:
        """None, or ``invalid arguments for NAME: MESSAGE``. Never raises."""
        try:
            faults = [(len(fault.absolute_path), fault) for fault in self._validator.iter_errors(arguments)]
        except RecursionError:
            return self._refusal("they, or the schema's references, nest too deeply to be checked")
        except Exception as error:  # unchecked arguments are refused, whatever the reason
            return self._refusal(f"they cannot be checked ({type(error).__name__}: {error})")
        if not faults:
            return None
        fault = min(faults, key=lambda pair: pair[0])[1]
        message = _DECIMAL.sub(r"\1", str(fault.message))
        if fault.validator in ("pattern", "patternProperties", "unevaluatedProperties"):
            for text, original in self._originals.items():
                message = message.replace(repr(text), repr(original))
        where: Pointer = tuple(map(str, fault.absolute_path))
        return self._refusal(message, f" at {pointer_text(where)}" if where else "")

    def _refusal(self, message: str, where: str = "") -> str:
        short = message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE // 2]}…{message[-MAX_MESSAGE // 2 :]}"
        return f"invalid arguments for {self.tool.name}: {short}{where}"


def _check_schema(schema: dict[str, Any], chosen: Dialect) -> None:
    """The schema against its metaschema. Formats are not asserted: ``regex`` there would mean Python's."""
    import jsonschema

    try:
        chosen.validator.check_schema(schema, format_checker=jsonschema.FormatChecker(formats=()))
    except jsonschema.SchemaError as error:
        where = tuple(map(str, error.absolute_path))
        keyword = next((token for token in reversed(where) if not token.isdigit()), None)
        raise SchemaError(f"{error.message:.{MAX_MESSAGE}}", pointer=pointer_text(where), keyword=keyword) from error
    except RecursionError as error:
        raise SchemaError("the schema nests too deeply to be checked") from error


def _format_checker(found: Positions) -> Any:
    """A checker of the formats in ``FORMATS``; raises ``UnsupportedSchema`` for a standard format that is not among them."""
    import jsonschema

    for pointer, position in found.items():
        name = position.schema.get("format")
        if isinstance(name, str) and name in UNCHECKED:
            raise UnsupportedSchema(f"the format {name!r} cannot be checked", pointer=f"{pointer_text(pointer)}/format", keyword="format")
    checker = jsonschema.FormatChecker(formats=())
    for name, test in FORMATS.items():
        checker.checks(name)(lambda value, test=test: not isinstance(value, str) or test(value))
    return checker


@lru_cache(maxsize=512)
def argument_validator(tool: Tool, format_assertion: bool = False) -> ArgumentValidator:
    """The validator for ``tool``, built once per content. Raises as ``ArgumentValidator`` does."""
    return ArgumentValidator(tool, format_assertion=format_assertion)


def validate_arguments(tool: Tool, arguments: object, *, format_assertion: bool = False) -> str | None:
    """None if ``arguments`` suit ``tool``, else ``invalid arguments for NAME: MESSAGE``.

    Raises ``SchemaError`` where the tool's own schema is at fault, as ``ArgumentValidator`` does; never for the arguments.
    """
    return argument_validator(tool, format_assertion).check(arguments)
