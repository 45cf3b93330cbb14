"""Any value against any schema: the validator of arguments, for a schema that need not be an object's.

What it means and costs is told in ``validate``; only the words of a refusal differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .validate import ArgumentValidator


class _Named(NamedTuple):
    """Stands where the errors of a validator name its tool."""

    name: str


class SchemaValidator(ArgumentValidator):
    """The validator of one schema (an object or a boolean). Raises ``SchemaError`` as ``ArgumentValidator`` does."""

    def __init__(self, schema: Any, *, format_assertion: bool = False) -> None:
        self.tool = _Named("the schema")  # type: ignore[assignment]
        self._build(schema if isinstance(schema, dict) else {} if schema else {"not": {}}, format_assertion)

    def faults(self, value: object) -> list[Any]:
        """All that is wrong with ``value``, as ``jsonschema`` reports it. Raises what it raises; ``check`` does not."""
        return list(self._validator.iter_errors(value))

    def _refusal(self, message: str, where: str = "") -> str:
        return super()._refusal(message, where).replace("invalid arguments for the schema", "invalid for the schema", 1)
