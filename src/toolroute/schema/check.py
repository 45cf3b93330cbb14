"""Whether a listed value passes the keywords that stand beside its ``enum`` or ``const``."""

from __future__ import annotations

from typing import Any

from ..errors import SchemaError
from ..route.dialects import dialect
from .document import Document, Part
from .keywords import SHAPES

_SCALARS = {str: "string", bool: "boolean", type(None): "null"}
_LISTING = frozenset(("enum", "const"))


def admits(part: Part, value: Any, document: Document) -> bool:
    """Whether ``part`` alone, apart from the keywords it skips and its own listing, admits ``value``.

    Raises ``SchemaError`` where ``jsonschema`` cannot tell.
    """
    rest = {k: v for k, v in part.schema.items() if k in SHAPES and k not in part.skip and k not in _LISTING}
    if not rest:
        return True
    if rest.keys() == {"type"} and (name := _SCALARS.get(type(value))) is not None:
        return name == rest["type"] or (isinstance(rest["type"], list) and name in rest["type"])
    try:
        return bool(dialect(document.dialect).validator(document.root).evolve(schema=rest).is_valid(value))
    except Exception as error:  # a broken pattern, a reference loop: jsonschema raises what it likes, and none of it may pass
        raise SchemaError(f"a listed value could not be checked: {error}", pointer=part.pointer) from None
