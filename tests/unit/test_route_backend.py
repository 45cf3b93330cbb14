"""A request backend that carries a route."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from toolroute.errors import EngineError
from toolroute.route import can_route, route_schema, routed_backend, routing_cap


@dataclass
class Settings:
    json_schema: dict[str, Any] | None = None
    json_schema_name: str = "response"
    max_tokens: int | None = None
    temperature: float = 0.5

    def clone(self) -> Settings:
        return copy.copy(self)


@dataclass
class Backend:
    settings: Settings = field(default_factory=Settings)
    url: str = "here"

    def clone(self, settings: Settings | None = None) -> Backend:
        return Backend(settings or self.settings.clone(), self.url)


def test_a_clone_carries_the_route_and_the_original_does_not() -> None:
    backend = Backend(Settings({"a": 1}, "plan", 900))
    schema = route_schema([{"name": "ping"}])
    routed = routed_backend(backend, schema, 64)
    assert routed is not backend and routed.url == "here"
    assert routed.settings == Settings(schema, "tool_route", 64, 0.5)
    assert backend.settings == Settings({"a": 1}, "plan", 900)
    routed.settings.json_schema["anyOf"].clear()
    assert schema["anyOf"], "the schema is a copy"


@pytest.mark.parametrize(
    ("own", "cap", "wanted"), [(None, 512, 512), (256, 512, 256), (900, 512, 512), (512, 512, 512), (-1, 512, 512), (0, 512, 512)]
)
def test_a_cap_only_lowers(own: int | None, cap: int, wanted: int) -> None:
    assert routing_cap(Backend(Settings(max_tokens=own)), cap) == wanted


def test_a_cap_is_at_least_one_token() -> None:
    with pytest.raises(EngineError, match="at least 1 token"):
        routing_cap(Backend(), 0)


@pytest.mark.parametrize(
    ("backend", "missing"),
    [
        (None, "clone"),
        (SimpleNamespace(settings=Settings()), "clone"),
        (SimpleNamespace(clone=print), "settings"),
        (SimpleNamespace(clone=print, settings=SimpleNamespace(json_schema=None, json_schema_name="", clone=print)), "settings.max_tokens"),
        (SimpleNamespace(clone=print, settings=SimpleNamespace(json_schema=None, json_schema_name="", max_tokens=1)), "settings.clone"),
    ],
)
def test_what_cannot_route_says_what_is_missing(backend: Any, missing: str) -> None:
    assert not can_route(backend)
    with pytest.raises(EngineError, match=missing):
        routed_backend(backend, {}, 1)
    with pytest.raises(EngineError, match=missing):
        routing_cap(backend, 1)


def test_what_can_route() -> None:
    assert can_route(Backend())
