"""Python functions as tools."""

from __future__ import annotations

import enum
import functools
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from toolroute.catalogue import function_tool
from toolroute.errors import CatalogueError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    title: str
    inside: list[Place] = []


def weather(  # type: ignore[no-untyped-def]  # one parameter has no hint, on purpose
    city: str,
    days: int = 3,
    unit: Literal["c", "f"] = "c",
    colour: Colour = Colour.RED,
    place: Place | None = None,
    hour: Annotated[int, Field(ge=0, le=23, description="Own text.")] = 12,
    count: int = Field(5, description="From Field.", le=9),
    anything=None,
    *,
    flag: bool,
    _context: Any = None,
) -> str:
    """Say the weather.

    For one city.

    Args:
        city (str): The city,
            by name.
        hour: Not this text.
        gone: Not a parameter.
    """
    return city


def test_the_whole_signature() -> None:
    tool = function_tool(weather)
    assert tool.name == "weather"
    assert tool.description == "Say the weather.\n\nFor one city."
    assert tool.function is weather
    parameters = tool.parameters
    assert parameters["required"] == ["city", "flag"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"] == {
        "city": {"type": "string", "description": "The city,\nby name."},
        "days": {"type": "integer", "default": 3},
        "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
        "colour": {"$ref": "#/$defs/Colour", "default": "red"},
        "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
        "hour": {"type": "integer", "minimum": 0, "maximum": 23, "description": "Own text.", "default": 12},
        "count": {"type": "integer", "maximum": 9, "description": "From Field.", "default": 5},
        "anything": {"default": None},
        "flag": {"type": "boolean"},
    }
    assert parameters["$defs"]["Colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert parameters["$defs"]["Place"]["properties"]["title"] == {"type": "string"}, "a member named title is not a title"


def numpy_style(a: int) -> None:
    """Do it.

    Parameters
    ----------
    a : int
        The a.
    """


def rest_style(a: int) -> None:
    """Do it.

    :param a: The a.
    """


@pytest.mark.parametrize("function", [numpy_style, rest_style])
def test_docstring_styles(function: Any) -> None:
    tool = function_tool(function)
    assert tool.description == "Do it."
    assert tool.parameters["properties"]["a"]["description"] == "The a."


class Box:
    def get(self, key: str) -> str:
        """Get it."""
        return key

    async def fetch(self, key: str) -> str:
        return key

    def __call__(self, key: str) -> str:
        """Call it."""
        return key


def test_methods_coroutines_partials_and_instances() -> None:
    box = Box()
    assert function_tool(box.get).parameters["required"] == ["key"]
    assert function_tool(box.fetch).name == "fetch"
    assert function_tool(functools.partial(weather, flag=True)).parameters["required"] == ["city"]
    assert function_tool(box, name="box").description == "Call it."
    assert function_tool(box.get, name="take", description="Take it.").description == "Take it."


def test_no_docstring_no_parameters() -> None:
    def nothing() -> None: ...

    tool = function_tool(nothing)
    assert (tool.description, tool.parameters) == ("", {"type": "object", "properties": {}, "additionalProperties": False})


def test_a_required_field_as_default() -> None:
    def pick(size: int = Field(gt=0)) -> None: ...

    assert function_tool(pick).parameters["required"] == ["size"]


def test_a_default_that_json_cannot_say_is_left_out() -> None:
    def pick(when: Any = object()) -> None: ...  # noqa: B008

    parameters = function_tool(pick).parameters
    assert parameters["properties"] == {"when": {}}
    assert "required" not in parameters


def star(*values: int) -> None: ...
def double_star(**values: int) -> None: ...
def positional(value: int, /) -> None: ...
def hidden(_value: int) -> None: ...
def unknown(value: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def no_schema(value: Box) -> None: ...


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (star, "'values' collects positional"),
        (double_star, "'values' collects any"),
        (positional, "'value' is positional-only"),
        (hidden, "'_value' is hidden by its name and has no default"),
        (unknown, "signature cannot be read: name 'Nowhere'"),
        (no_schema, "parameter 'value': Unable to generate"),
        (lambda value: value, "no name of its own"),
        (Box(), "no name of its own"),
        (Box, "is not a function"),
        (Box.get, "'self' is not bound"),
        (3, "is not a function"),
    ],
)
def test_what_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        function_tool(function)
