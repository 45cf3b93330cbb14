"""A request backend that carries the route schema and a cap: for providers outside this process.

Theory. The router of this package constrains its own model. A backend that talks to a server constrains by asking: it sends a JSON
schema and a token limit with the request. Any object of this shape will do, and nothing is imported to recognise it:

    backend.settings                  with json_schema, json_schema_name, max_tokens (None: no cap of its own) and clone()
    backend.clone(settings=settings)  a copy of the backend that uses those settings

The original is never touched, so a later phase on the same backend keeps its own schema and its own budget. A routing cap only ever
lowers a budget.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..errors import EngineError

SCHEMA_NAME = "tool_route"
"""The name the schema is sent under."""

_SETTINGS = ("json_schema", "json_schema_name", "max_tokens")


def _missing(backend: Any) -> str | None:
    """What ``backend`` lacks, or None."""
    if not callable(getattr(backend, "clone", None)):
        return "clone()"
    settings = getattr(backend, "settings", None)
    if settings is None:
        return "settings"
    absent = [name for name in _SETTINGS if not hasattr(settings, name)]
    if absent:
        return f"settings.{absent[0]}"
    return None if callable(getattr(settings, "clone", None)) else "settings.clone()"


def _require(backend: Any) -> None:
    missing = _missing(backend)
    if missing is not None:
        raise EngineError(f"the backend {type(backend).__name__} cannot route: it has no {missing}")


def can_route(backend: Any) -> bool:
    """Whether ``backend`` has the shape above."""
    return _missing(backend) is None


def routed_backend(backend: Any, schema: Mapping[str, Any], max_tokens: int) -> Any:
    """A clone of ``backend`` with a clone of its settings that carries a copy of ``schema`` and ``max_tokens``.

    Raises ``EngineError`` naming what the backend lacks.
    """
    _require(backend)
    settings = backend.settings.clone()
    settings.json_schema = copy.deepcopy(dict(schema))
    settings.json_schema_name = SCHEMA_NAME
    settings.max_tokens = max_tokens
    return backend.clone(settings=settings)


def routing_cap(backend: Any, cap: int) -> int:
    """The cap of a routing request: ``cap``, or the backend's own ``max_tokens`` where that is lower.

    None, and the zero or negative numbers that servers read as "no limit", are no cap. Raises ``EngineError`` for a ``cap`` below 1, and
    where the backend cannot route.
    """
    _require(backend)
    if cap < 1:
        raise EngineError(f"a routing cap is at least 1 token, not {cap}")
    own = backend.settings.max_tokens
    return cap if own is None or own < 1 else min(cap, int(own))
