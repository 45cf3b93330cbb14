"""Arguments against a tool's schema."""

from __future__ import annotations

import socket
from decimal import Decimal
from typing import Any

import pytest

from toolroute.catalogue import Tool
from toolroute.errors import SchemaError, UnsupportedSchema
from toolroute.route import ArgumentValidator, argument_validator, parse_route, validate_arguments

DRAFT_04 = "http://json-schema.org/draft-04/schema#"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def check(schema: Any, value: Any, dialect: str = DRAFT_2020, **options: Any) -> str | None:
    """The verdict on one argument ``v`` with this schema."""
    tool = Tool("t", "", {"$schema": dialect, "type": "object", "properties": {"v": schema}})
    return ArgumentValidator(tool, **options).check({"v": value})


def accepts(schema: Any, value: Any, dialect: str = DRAFT_2020, **options: Any) -> bool:
    return check(schema, value, dialect, **options) is None


def test_the_message() -> None:
    tool = Tool(
        "get_weather", "", {"properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}}, "required": ["city"]}
    )
    assert validate_arguments(tool, {"city": "Oslo", "days": 3}) is None
    assert validate_arguments(tool, {}) == "invalid arguments for get_weather: 'city' is a required property"
    assert (
        validate_arguments(tool, {"city": "Oslo", "days": 9})
        == "invalid arguments for get_weather: 9 is greater than the maximum of 7 at /days"
    )
    assert str(validate_arguments(tool, [])).startswith("invalid arguments for get_weather: [] is not of type 'object'")
    assert argument_validator(tool) is argument_validator(Tool(tool.name, tool.description, tool.parameters))


def test_the_nearest_fault_then_the_first() -> None:
    tool = Tool("t", "", {"properties": {"a": {"properties": {"b": {"type": "string"}}}, "c": {"type": "string"}, "d": {"type": "null"}}})
    message = validate_arguments(tool, {"d": 1, "a": {"b": 1}, "c": 1})
    assert message == "invalid arguments for t: 1 is not of type 'string' at /c"


def test_a_long_message_is_cut() -> None:
    message = check({"type": "string", "maxLength": 5}, "x" * 100_000)
    assert message is not None and len(message) < 400 and "is too long" in message


@pytest.mark.parametrize(
    ("schema", "value", "accepted"),
    [
        ({"type": "integer"}, 2.0, True),
        ({"type": "integer"}, 2.5, False),
        ({"type": "integer"}, True, False),
        ({"type": "integer"}, Decimal("1497549923779084388.5"), False),
        ({"type": "integer"}, Decimal("123456789012345678901234567890.0"), True),
        ({"type": "integer"}, Decimal("1e-400"), False),
        ({"type": "number"}, Decimal("0.1000000000000000055"), True),
        ({"type": "number"}, False, False),
        ({"type": "string"}, Decimal("1"), False),
        ({"maximum": 0.1}, Decimal("0.1000000000000000055"), False),
        ({"exclusiveMinimum": 0}, Decimal("1e-400"), True),
        ({"minimum": 9007199254740993}, 9007199254740992, False),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"multipleOf": 0.01}, 1.13, True),
        ({"multipleOf": 0.1}, 0.35, False),
        ({"multipleOf": 0.1}, Decimal("0.30000000000000000001"), False),
        ({"multipleOf": 0.5}, 10**400, True),
        ({"multipleOf": 3}, -(10**30), False),
        ({"multipleOf": 1e-300}, Decimal("1e-999999999"), False),
        ({"multipleOf": 5}, 0, True),
        ({"multipleOf": 1}, "x", True),
        ({"const": 1}, True, False),
        ({"const": 1}, 1.0, True),
        ({"const": {"a": [False]}}, {"a": [0]}, False),
        ({"enum": [[1, {"x": None}]]}, [1.0, {"x": None}], True),
        ({"enum": [0, "a"]}, False, False),
        ({"enum": [9007199254740993]}, 9007199254740992, False),
        ({"uniqueItems": True}, [1, True, "1", [1], [True], {"a": 1}, {"a": True}, None, 0, False], True),
        ({"uniqueItems": True}, [[0], [False], [0.0]], False),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], False),
        ({"uniqueItems": False}, [1, 1], True),
        ({"minLength": 1, "maxLength": 1}, "🎉", True),
        ({"format": "date-time"}, "noon", True),
    ],
)
def test_values(schema: Any, value: Any, accepted: bool) -> None:
    assert accepts(schema, value) is accepted


@pytest.mark.parametrize(
    ("schema", "value", "accepted"),
    [
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": r"^\d+$"}, "٣", False),
        ({"pattern": "^.$"}, "\u2028", False),
        ({"pattern": r"^[^\p{Cc}/]+$"}, "aé", True),
        ({"patternProperties": {"^x$": {"type": "integer"}}}, {"x\n": "s"}, True),
        ({"patternProperties": {"^x$": {"type": "integer"}}}, {"x": "s"}, False),
        ({"patternProperties": {r"^\d$": {}}, "additionalProperties": False}, {"٣": 1}, False),
        ({"patternProperties": {r"^(a)\1$": {}, r"^(b)\1$": {}}, "additionalProperties": False}, {"aa": 1, "bb": 2}, True),
        ({"patternProperties": {r"^\/$": {"type": "string"}, "^/$": {"minLength": 2}}}, {"/": "a"}, False),
        ({"patternProperties": {r"^\/$": {"type": "string"}, "^/$": {"minLength": 2}}}, {"/": "ab"}, True),
        ({"patternProperties": {r"^\d$": {}}, "unevaluatedProperties": False}, {"1": 1}, True),
        ({"patternProperties": {r"^\d$": {}}, "unevaluatedProperties": False}, {"٣": 1}, False),
        ({"propertyNames": {"pattern": "^[A-Z_]+$"}}, {"A_B\n": 1}, False),
    ],
)
def test_patterns_are_ecma_262(schema: Any, value: Any, accepted: bool) -> None:
    assert accepts(schema, value) is accepted


def test_a_message_shows_the_pattern_as_written() -> None:
    assert check({"pattern": r"^\d+$"}, "x") == r"invalid arguments for t: 'x' does not match '^\\d+$' at /v"


def test_references_through_a_translated_pattern() -> None:
    schema = {
        "patternProperties": {r"^\d$": {"type": "integer"}},
        "properties": {"x": {"$ref": "#/properties/v/patternProperties/%5E%5Cd$"}},
    }
    assert accepts(schema, {"x": 1})
    assert not accepts(schema, {"x": "1"})


def test_dialects() -> None:
    assert not accepts({"minimum": 1, "exclusiveMinimum": True}, 1, DRAFT_04)
    assert accepts({"minimum": 1, "exclusiveMinimum": False}, 1, DRAFT_04)
    assert accepts({"maximum": 1.5, "exclusiveMaximum": True}, Decimal("1.4999999999999999999999"), DRAFT_04)
    assert not accepts({"type": "integer"}, 2.0, DRAFT_04)
    assert accepts({"const": 1}, 2, DRAFT_04), "draft-04 has no const"
    assert not accepts({"const": 1}, 2, DRAFT_07)
    pair = {"items": [{"type": "number"}, {"type": "string"}], "additionalItems": False}
    assert accepts(pair, [1, "a"], DRAFT_07) and not accepts(pair, [1, "a", 2], DRAFT_07) and not accepts(pair, ["a"], DRAFT_2019)
    assert not accepts({"prefixItems": [{"type": "number"}], "items": False}, [1, 2])
    beside = {"$ref": "#/properties/v/definitions/a", "maxLength": 1, "definitions": {"a": {"type": "string"}}}
    assert accepts(beside, "abc", DRAFT_07), "up to draft-07 a reference stands alone"
    assert not accepts(beside, "abc")
    for same in ("http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#"):
        assert not accepts({"const": 1}, 2, same)


@pytest.mark.parametrize("uri", ["http://json-schema.org/draft-03/schema#", "json-schema.org/draft-07/schema", "urn:mine", 7, ""])
def test_an_unknown_dialect_is_refused(uri: Any) -> None:
    with pytest.raises(SchemaError, match="unknown dialect") as caught:
        ArgumentValidator(Tool("t", "", {"$schema": uri, "type": "object"}))
    assert (caught.value.tool, caught.value.pointer, caught.value.keyword) == ("t", "/$schema", "$schema")


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"type": "dict"}, "/properties/v/type", "type"),
        ({"minimum": "1"}, "/properties/v/minimum", "minimum"),
        ({"required": True}, "/properties/v/required", "required"),
        ({"minimum": 0, "exclusiveMinimum": True}, "/properties/v/exclusiveMinimum", "exclusiveMinimum"),
        ({"pattern": "^[a-z"}, "/properties/v/pattern", "pattern"),
        ({"pattern": "(?P<a>x)"}, "/properties/v/pattern", "pattern"),
        ({"patternProperties": {"(": {}}}, "/properties/v/patternProperties/(", "patternProperties"),
        ({"$ref": "#/$defs/Gone"}, "/properties/v/$ref", "$ref"),
        ({"$ref": "#gone"}, "/properties/v/$ref", "$ref"),
        ({"anyOf": [{}, {"$ref": "#/$defs/a~1b"}]}, "/properties/v/anyOf/1/$ref", "$ref"),
        ({"$ref": "https://example.com/schema.json"}, "/properties/v/$ref", "$ref"),
        ({"$ref": "other.json#/a"}, "/properties/v/$ref", "$ref"),
        ({"$dynamicRef": "#gone"}, "/properties/v/$dynamicRef", "$dynamicRef"),
    ],
)
def test_a_bad_schema_is_found_when_the_validator_is_built(schema: Any, pointer: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        check(schema, 1)
    error = caught.value
    assert (error.tool, error.pointer, error.keyword) == ("t", pointer, keyword)
    with pytest.raises(SchemaError):
        validate_arguments(Tool("t", "", {"properties": {"v": schema}}), {})


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(SchemaError, match="nothing is fetched"):
        check({"$ref": "https://json.schemastore.org/package.json"}, 1)


def test_the_metaschemas_are_at_hand() -> None:
    assert accepts({"$ref": DRAFT_2020}, {"type": "string"})
    assert not accepts({"$ref": DRAFT_2020}, {"type": "text"})


def test_references_and_resources() -> None:
    tool = Tool(
        "t",
        "",
        {
            "$id": "https://example.com/root",
            "properties": {"a": {"$ref": "inner"}, "b": {"$ref": "#name"}, "c": {"$ref": "https://example.com/root#/$defs/C"}},
            "$defs": {
                "inner": {"$id": "inner", "$ref": "#/$defs/X", "$defs": {"X": {"type": "integer"}}},
                "B": {"$anchor": "name", "type": "string"},
                "C": {"type": "boolean"},
            },
        },
    )
    assert validate_arguments(tool, {"a": 1, "b": "s", "c": True}) is None
    for wrong in ({"a": "1"}, {"b": 1}, {"c": 1}):
        assert validate_arguments(tool, wrong) is not None


def test_a_part_in_another_dialect_is_unsupported() -> None:
    with pytest.raises(UnsupportedSchema, match="another dialect") as caught:
        check({"$id": "https://example.com/x", "$schema": DRAFT_07, "const": 1}, 1)
    assert caught.value.pointer == "/properties/v/$schema"
    for same in (DRAFT_2020, DRAFT_2020.replace("https", "http") + "#"):
        assert accepts({"$schema": same, "multipleOf": 0.1}, 0.3), "the part keeps this package's keywords"


def test_recursion_is_a_refusal() -> None:
    message = check({"$ref": "#/properties/v"}, 1)
    assert message is not None and "nest too deeply to be checked" in message


def test_the_deepest_reply_is_checked() -> None:
    tool = Tool(
        "t",
        "",
        {
            "properties": {"v": {"$ref": "#/$defs/N"}},
            "$defs": {"N": {"anyOf": [{"type": "integer"}, {"items": {"$ref": "#/$defs/N"}, "type": "array"}]}},
        },
    )
    for leaf, accepted in (("1", True), ("true", False)):
        text = f'{{"tool":"t","arguments":{{"v":{"[" * 98 + leaf + "]" * 98}}}}}'
        parsed = parse_route(text, ["t"])
        assert parsed.ok
        message = validate_arguments(tool, parsed.arguments)
        assert (message is None) is accepted, message


def test_a_schema_that_is_false() -> None:
    assert not accepts(False, 1)
    assert ArgumentValidator(Tool("t", "", {"properties": {"v": False}})).check({}) is None


def test_formats_are_asserted_on_request() -> None:
    assert accepts({"format": "date"}, "2024-02-29", format_assertion=True)
    assert not accepts({"format": "date"}, "2023-02-29", format_assertion=True)
    assert accepts({"format": "date"}, 3, format_assertion=True)
    assert accepts({"format": "int64"}, "x", format_assertion=True)
    with pytest.raises(UnsupportedSchema) as caught:
        check({"format": "iri"}, "x", format_assertion=True)
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/v/format", "format")
    tool = Tool("t", "", {"properties": {"v": {"format": "uuid"}}})
    assert validate_arguments(tool, {"v": "x"}) is None
    assert validate_arguments(tool, {"v": "x"}, format_assertion=True) is not None


def test_a_check_never_raises() -> None:
    for odd in ({"v": float("nan")}, {"v": {1, 2}}, {"v": object()}, None, "x", {1: 2}):
        assert isinstance(check({"minimum": 1, "enum": [1], "multipleOf": 2}, odd), str)


def test_a_decimal_is_shown_as_a_number() -> None:
    assert check({"type": "integer"}, Decimal("0.1000000000000000055")) == (
        "invalid arguments for t: 0.1000000000000000055 is not of type 'integer' at /v"
    )
