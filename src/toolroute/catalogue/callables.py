"""A Python function, read as a ``Tool``.

Theory. What a function accepts is already written down: type hints say what each parameter may be, the docstring says what it means.
pydantic turns a hint into a schema (so ``Annotated``/``Field``, ``Literal``, ``Enum``, ``Optional`` and models all mean what they mean
there), docstring_parser reads Google, NumPy and reST docstrings. One schema per parameter, all with one shared ``$defs``.

* the tool's description is the part of the docstring before its sections; a parameter's is ``Field(description=…)``, else the docstring's;
* a parameter with a default is not required, and the default is shown where it is JSON; ``Optional[T]`` admits null and says nothing
  about being required;
* a parameter without a hint may be any JSON value;
* a parameter whose name begins with ``_`` must have a default and is not offered;
* generated titles are removed: they repeat the names and cost prompt tokens.

A call passes arguments by name only, so ``*args``, ``**kwargs`` and positional-only parameters are refused, as is whatever pydantic has
no schema for. Both libraries are imported on first use.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import typing
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import CatalogueError
from .positions import positions
from .tool import Tool, check_name

_REFUSED = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, and arguments are passed by name",
    inspect.Parameter.VAR_POSITIONAL: "collects positional arguments (*), and arguments are passed by name",
    inspect.Parameter.VAR_KEYWORD: "collects any arguments (**), which no closed schema describes",
}


def function_tool(function: Callable[..., Any], *, name: str | None = None, description: str | None = None) -> Tool:
    """The tool that ``function`` (plain, async, bound, or ``functools.partial``) is; ``name`` and ``description`` replace its own.

    Raises ``CatalogueError`` naming the parameter at fault and why, or the missing library.
    """
    if isinstance(function, type) or not callable(function):
        raise CatalogueError(f"{function!r:.64} is not a function")
    core = _core(function)
    own = name if name is not None else getattr(core, "__name__", None)
    if own in (None, "<lambda>", "__call__"):
        raise CatalogueError("the function has no name of its own; give one")
    own = check_name(own)
    text, documented = _docstring(core, own)
    properties, required, definitions = _parameters(function, own, documented)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if definitions:
        schema["$defs"] = definitions
    _strip_titles(schema)
    return Tool(own, text if description is None else description, schema, function)


def _core(function: Callable[..., Any]) -> Any:
    """The function that carries name, docstring and hints: below ``partial``, or the ``__call__`` of an instance."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return type(function).__call__


def _docstring(core: Any, name: str) -> tuple[str, dict[str, str]]:
    """The description and the text per parameter."""
    text = inspect.getdoc(core) or ""
    if not text:
        return "", {}
    parser = _library("docstring_parser", name)
    try:
        parsed = parser.parse(text)
    except parser.ParseError:
        return text.split("\n\n")[0], {}
    return (parsed.description or "").strip(), {param.arg_name: param.description or "" for param in parsed.params}


def _parameters(function: Callable[..., Any], name: str, documented: dict[str, str]) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
    """The schema per parameter in signature order, the names without a default, and the shared definitions."""
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(_core(function), include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise CatalogueError(f"its signature cannot be read: {error}", tool=name) from error
    pydantic = _library("pydantic", name, ("errors", "fields", "json_schema"))
    adapters: dict[str, Any] = {}
    required: list[str] = []
    defaults: dict[str, Any] = {}
    for position, (key, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in _REFUSED:
            raise CatalogueError(f"parameter {key!r} {_REFUSED[parameter.kind]}", tool=name)
        if position == 0 and key in ("self", "cls") and key not in hints:
            raise CatalogueError(f"parameter {key!r} is not bound; give the bound method", tool=name)
        default, hint = parameter.default, hints.get(key, Any)
        if isinstance(default, pydantic.fields.FieldInfo):
            hint, default = typing.Annotated[hint, default], _field_default(default)
        if key.startswith("_"):
            if default is inspect.Parameter.empty:
                raise CatalogueError(f"parameter {key!r} is hidden by its name and has no default", tool=name)
            continue
        if default is inspect.Parameter.empty:
            required.append(key)
        else:
            defaults[key] = default
        adapters[key] = _adapter(pydantic, hint, key, name)
    schemas, definitions = _schemas(pydantic, adapters, name)
    for key, schema in schemas.items():
        if documented.get(key) and "description" not in schema:
            schema["description"] = documented[key]
        if key in defaults:
            _show_default(schema, adapters[key], defaults[key])
    return schemas, required, definitions


def _adapter(pydantic: Any, hint: Any, key: str, name: str) -> Any:
    try:
        return pydantic.TypeAdapter(hint)
    except (pydantic.errors.PydanticUserError, NameError, TypeError) as error:
        raise CatalogueError(f"parameter {key!r}: {_first_line(error)}", tool=name) from error


def _schemas(pydantic: Any, adapters: dict[str, Any], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    inputs = [(key, "validation", adapter) for key, adapter in adapters.items()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pydantic.json_schema.PydanticJsonSchemaWarning)
            table, shared = pydantic.TypeAdapter.json_schemas(inputs)
    except pydantic.errors.PydanticUserError as error:
        raise CatalogueError(f"its parameters have no JSON Schema: {_first_line(error)}", tool=name) from error
    return {key: dict(table[key, "validation"]) for key in adapters}, shared.get("$defs", {})


def _field_default(info: Any) -> Any:
    """The default a ``Field(...)`` in the place of a default value stands for."""
    return inspect.Parameter.empty if info.is_required() else info.get_default(call_default_factory=True)


def _show_default(schema: dict[str, Any], adapter: Any, default: Any) -> None:
    """Write the default into the schema where pydantic can say it in JSON; elsewhere it stays the function's own business."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            schema["default"] = adapter.dump_python(default, mode="json")
        except (ValueError, TypeError, UserWarning):
            schema.pop("default", None)


def _strip_titles(schema: dict[str, Any]) -> None:
    for position in positions(schema).values():
        if isinstance(position.schema.get("title"), str):
            del position.schema["title"]


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def _library(module: str, name: str, parts: tuple[str, ...] = ()) -> Any:
    """The module, with its submodules ``parts`` loaded."""
    try:
        for part in parts:
            importlib.import_module(f"{module}.{part}")
        return importlib.import_module(module)
    except ImportError as error:
        raise CatalogueError(f"reading a Python function needs {module}, which is not installed", tool=name) from error
