"""One tool: what may be called, with what.

Theory. A tool is a value. Its parameters are a detached copy, so nothing the caller does later changes what was compiled, and its
identity is its content: two tools are equal when name, description and parameters are, *including the order of members*, because the
order of ``properties`` is the order in which the model writes. The function, if there is one, does not take part: it changes what a call
does, not what may be said.

Route arguments are always an object. So parameters are always an object schema: absent ones are the closed empty object, ones without
``type`` get ``"type": "object"``, any other type is refused. Nothing else in them is changed, and whether they are good JSON Schema is
the compiler's question, not this module's.

The copy must be JSON all the way down: string keys, finite numbers, no lone surrogate, at most ``MAX_NESTING`` levels (which a Python
cycle would exceed). Cost: one walk and one SHA-256 per tool.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import CatalogueError
from .positions import Pointer, pointer_text

MAX_NAME = 128
"""Longest tool name, in characters (the bound of MCP)."""
MAX_NESTING = 200
"""Deepest parameters, in levels of objects and arrays; keeps every recursive consumer inside Python's own recursion limit."""
MAX_INTEGER_BITS = 14_281
"""Largest integer in a schema, in bits (4,300 decimal digits less one: what Python converts to text by default)."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKS = frozenset(("Cc", "Zl", "Zp"))


def no_parameters() -> dict[str, Any]:
    """The schema of a tool without parameters: exactly ``{}``."""
    return {"type": "object", "properties": {}, "additionalProperties": False}


def check_name(name: object) -> str:
    """The name itself, or ``CatalogueError`` with the reason it cannot be one.

    A name is a non-blank string of at most ``MAX_NAME`` characters without control characters, line or paragraph separators, lone
    surrogates, or white space at an end. Dots, dashes, inner blanks and any script are accepted, exactly as spelled.
    """
    if name is None:
        raise CatalogueError("it has no name")
    if not isinstance(name, str):
        raise CatalogueError(f"the name is not a string but {type(name).__name__}")
    if not name.strip():
        raise CatalogueError("the name is blank")
    if _SURROGATE.search(name):
        raise CatalogueError("the name contains a lone surrogate")
    if len(name) > MAX_NAME:
        raise CatalogueError(f"the name has {len(name)} characters, the limit is {MAX_NAME}", tool=name[:32] + "…")
    if any(unicodedata.category(char) in _BREAKS for char in name):
        raise CatalogueError("the name contains a control character or line break", tool=name)
    if name != name.strip():
        raise CatalogueError("the name begins or ends with white space", tool=name)
    return name


def _detached(value: object, pointer: Pointer) -> Any:
    """A deep copy of plain JSON; ``CatalogueError`` with the pointer for anything else."""
    if len(pointer) > MAX_NESTING:
        raise CatalogueError(f"parameters nest deeper than {MAX_NESTING} levels", pointer=pointer_text(pointer[:3]))
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise CatalogueError("a string contains a lone surrogate", pointer=pointer_text(pointer))
        return str(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise CatalogueError(f"an integer has more than {MAX_INTEGER_BITS} bits", pointer=pointer_text(pointer))
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CatalogueError("a number is not finite", pointer=pointer_text(pointer))
        return float(value)
    if isinstance(value, Mapping):
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise CatalogueError(f"a member name is not a string but {type(key).__name__}", pointer=pointer_text(pointer))
            copy[_detached(key, pointer)] = _detached(item, (*pointer, key))
        return copy
    if isinstance(value, (list, tuple)):
        return [_detached(item, (*pointer, str(index))) for index, item in enumerate(value)]
    raise CatalogueError(f"{type(value).__name__} is not a JSON type", pointer=pointer_text(pointer))


def object_schema(parameters: object) -> dict[str, Any]:
    """``parameters`` as a detached object schema.

    Missing, None and ``{}`` give ``no_parameters()``. Raises ``CatalogueError`` ("parameters are not an object schema") for anything that
    is not a mapping or has a ``type`` other than ``"object"`` or ``["object"]``, and for content that is not JSON.
    """
    if parameters is None:
        return no_parameters()
    if not isinstance(parameters, Mapping):
        raise CatalogueError(f"parameters are not an object schema but {type(parameters).__name__}")
    schema: dict[str, Any] = _detached(parameters, ())
    if not schema:
        return no_parameters()
    if "type" not in schema:
        return {"type": "object", **schema}
    if schema["type"] not in ("object", ["object"]):
        shown = json.dumps(schema["type"])[:64]
        raise CatalogueError(f"parameters are not an object schema: type is {shown}", pointer="/type")
    return schema


@dataclass(frozen=True, eq=False)
class Tool:
    """A name, a description, an object schema for the arguments and, where it is local, the function to call.

    ``parameters`` is the tool's own copy and must not be changed. Equal content means equal tool and equal ``digest``.
    Raises ``CatalogueError`` (with ``tool`` where the name is usable) when a part is not what its field says.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=no_parameters)
    function: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        description: object = self.description
        if description is None:
            description = ""
        if not isinstance(description, str):
            raise CatalogueError(f"the description is not a string but {type(description).__name__}", tool=self.name)
        if _SURROGATE.search(description):
            raise CatalogueError("the description contains a lone surrogate", tool=self.name)
        if self.function is not None and not callable(self.function):
            raise CatalogueError(f"the function is not callable but {type(self.function).__name__}", tool=self.name)
        try:
            parameters = object_schema(self.parameters)
        except CatalogueError as error:
            raise CatalogueError(error.reason, tool=self.name, pointer=error.pointer) from None
        object.__setattr__(self, "description", description)
        object.__setattr__(self, "parameters", parameters)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the content as JSON, members in their own order."""
        content = json.dumps([self.name, self.description, self.parameters], separators=(",", ":"))
        return hashlib.sha256(content.encode("ascii")).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Tool) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_openai(self) -> dict[str, Any]:
        """The tool in the chat-completions form, detached; an empty description is left out."""
        function: dict[str, Any] = {"name": self.name}
        if self.description:
            function["description"] = self.description
        function["parameters"] = _detached(self.parameters, ())
        return {"type": "function", "function": function}
