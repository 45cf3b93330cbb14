"""What may be called: tools, the forms they arrive in, catalogues and registries of them.

Reading order: ``tool`` (the value), ``adapters`` and ``callables`` (the forms), ``source`` (JSON text), ``catalogue`` (the ordered set),
``registry`` (names to functions), ``positions`` (where subschemas are; used wherever a schema is walked).
"""

from .adapters import to_tool
from .callables import function_tool
from .catalogue import Catalogue, OnError
from .registry import ToolRegistry, normalize_tool_name
from .tool import Tool, check_name, no_parameters, object_schema

__all__ = [
    "Catalogue",
    "OnError",
    "Tool",
    "ToolRegistry",
    "check_name",
    "function_tool",
    "no_parameters",
    "normalize_tool_name",
    "object_schema",
    "to_tool",
]
