"""Keywords that say "not", "exactly one", "if", "some" and "how many": what is accepted, what is refused, and that it is exact."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema
import pytest
from random_cases import random_logic, random_value, spellings

from toolroute.errors import SchemaError, UnsatisfiableRoute
from toolroute.schema import compile_schema

OBJECT = {"type": "object"}
CASES: list[tuple[Any, list[str], list[str]]] = [
    ({**OBJECT, "minProperties": 2, "maxProperties": 3, "additionalProperties": {"type": "integer"}},
     ['{"a":1,"b":2}', '{"a":1,"b":2,"c":3}'], ['{"a":1}', "{}", '{"a":1,"b":2,"c":3,"d":4}']),
    ({**OBJECT, "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False, "minProperties": 2, "required": ["c"]},
     ['{"a":1,"c":2}', '{"b":1,"c":2}', '{"a":1,"b":1,"c":2}'], ['{"c":1}', '{"a":1,"b":1}']),
    ({"not": {"type": "string"}}, ["1", "null", "[1]", "{}", "1.5"], ['"a"']),
    ({"not": {"type": "integer"}}, ["1.5", "null", "-0.25"], ["1", "-3"]),
    ({"type": "integer", "not": {"enum": [1, 5]}}, ["2", "0", "6", "-1"], ["1", "5"]),
    ({"type": "number", "maximum": 2, "minimum": 1, "not": {"enum": [1, 2, 3]}}, ["1.5"], ["1", "2", "1.0", "2.0", "0"]),
    ({"type": "number", "not": {"const": 1.5}}, ["1", "1.4", "1.51"], ["1.5", "1.50"]),
    ({"type": "integer", "not": {"minimum": 3}}, ["2"], ["3"]),
    ({"type": "string", "not": {"enum": ["a", "bc"]}}, ['"b"', '"bcd"', '""'], ['"a"', '"bc"']),
    ({"type": "string", "not": {"pattern": "^a"}}, ['"b"', '""'], ['"a"', '"ab"']),
    ({"not": {"anyOf": [{"type": "null"}, {"type": "string", "minLength": 2}]}}, ['"a"', "1"], ["null", '"ab"']),
    ({"not": {"allOf": [{"type": "integer"}, {"minimum": 2}]}}, ["1", '"x"', "2.5"], ["2", "3"]),
    ({"not": {"not": {"type": "null"}}}, ["null"], ["1"]),
    ({"oneOf": [{"type": "integer", "minimum": 2}, {"type": "integer", "maximum": 5}]}, ["1", "6"], ["2", "5", "3"]),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], **OBJECT}, ['{"a":1}', '{"b":1}'], ['{"a":1,"b":1}', "{}"]),
    ({"oneOf": [{"pattern": "a"}, {"maxLength": 2}], "type": "string"}, ['"b"', '"xxa"'], ['"a"', '"xxx"']),
    ({**OBJECT, "properties": {"k": {"type": "string"}, "x": {}, "y": {}}, "if": {"properties": {"k": {"const": "a"}}, "required": ["k"]},
      "then": {"required": ["x"]}, "else": {"required": ["y"]}},
     ['{"k":"a","x":1}', '{"k":"b","y":1}', '{"y":1}', '{"k":"a","x":1,"y":1}'], ['{"k":"a","y":1}', '{"k":"b","x":1}', "{}"]),
    ({"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}, "minContains": 2, "maxContains": 3},
     ["[1,1]", "[1,2,1]", "[1,1,1]"], ["[1]", "[]", "[1,1,1,1]"]),
    ({"type": "array", "contains": {"type": "string"}}, ['["a"]', '[1,"a"]'], ["[]", "[1]"]),
    ({"type": "array", "not": {"contains": {"const": 1}}}, ["[]", "[2]"], ["[1]", "[2,1]"]),
    ({"type": "array", "not": {"items": {"type": "integer"}}}, ['["a"]', '[1,"a"]'], ["[1]", "[]"]),
    ({"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b", "c"]}}, ['["a","b"]', "[]", '["c","a","b"]'],
     ['["a","a"]', '["a","b","a"]']),
    ({"type": "array", "uniqueItems": True, "items": {"type": "boolean"}, "minItems": 2}, ["[true,false]"], ["[true,true]", "[true]"]),
    ({"type": "number", "multipleOf": 0.5}, ["1.5", "2", "-0.5", "0", "2.0"], ["1.2", "0.55"]),
    ({"type": "integer", "multipleOf": 7, "minimum": 10, "maximum": 30}, ["14", "21", "28"], ["7", "10", "15", "35"]),
    ({"type": "number", "multipleOf": 0.01, "minimum": 0, "exclusiveMaximum": 1}, ["0.01", "0.99", "0"], ["0.005", "1"]),
    ({"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}, ["0", "12", "-24"], ["4", "6", "18"]),
    ({**OBJECT, "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}}, ['{"a":1,"b":2}', '{"b":1}', "{}"], ['{"a":1}']),
    ({**OBJECT, "properties": {"b": {}, "a": {}}, "dependentRequired": {"a": ["b"]}}, ['{"b":2,"a":1}', '{"b":1}', "{}"], ['{"a":1}']),
    ({**OBJECT, "dependentRequired": {"a": ["b"], "b": ["c"]}}, ['{"a":1,"b":2,"c":3}', '{"c":1}'], ['{"a":1}', '{"a":1,"b":2}']),
    ({**OBJECT, "properties": {"a": {}}, "dependentSchemas": {"a": {"maxProperties": 1}}},
     ['{"a":1}', '{"b":1,"c":2}'], ['{"a":1,"b":1}']),
    ({"$schema": "http://json-schema.org/draft-07/schema#", **OBJECT, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
     ['{"a":1,"b":2}', '{"d":1}'], ['{"a":1}', '{"c":1}']),
    ({**OBJECT, "properties": {"a": {}}, "unevaluatedProperties": False, "allOf": [{"properties": {"b": {}}}]},
     ['{"a":1,"b":1}', "{}"], ['{"c":1}']),
    ({**OBJECT, "anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}],
      "unevaluatedProperties": False}, ['{"a":1}', '{"b":1}', '{"a":1,"b":1}'], ['{"a":1,"c":1}', "{}"]),
    ({"type": "array", "prefixItems": [{"const": 1}], "unevaluatedItems": False}, ["[1]", "[]"], ["[1,2]"]),
    ({**OBJECT, "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 3}}, "additionalProperties": False},
     ['{"a":1}', '{"ab":3}', '{"b":"x"}', '{"a":1,"b":4}'], ['{"a":"x"}', '{"ab":1}', '{"c":1}', '{"ab":"x"}']),
    ({**OBJECT, "propertyNames": {"enum": ["x", "y"]}}, ['{"x":1}', '{"x":1,"y":2}', '{"y":1}'], ['{"z":1}', '{"x":1,"x":2}']),
    ({**OBJECT, "propertyNames": {"maxLength": 2, "not": {"const": "no"}}}, ['{"ab":1}'], ['{"abc":1}', '{"no":1}']),
    ({**OBJECT, "properties": {"a": {"$ref": "#"}}, "not": {"required": ["b"]}}, ['{"a":{"a":{}}}'], ['{"a":{"b":1}}', '{"b":1}']),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "if": {"type": "string"}, "then": False, "const": 5}, ['"a"', "1"], []),
    ({"$id": "http://x/", "$ref": "b", "$defs": {"b": {"$id": "b", "$ref": "#/$defs/c", "$defs": {"c": {"type": "null"}}}}},
     ["null"], ["1"]),
    ({**OBJECT, "if": {"properties": {"a": {"const": "x"}}, "required": ["a"]}, "unevaluatedProperties": False},
     ['{"a":"x"}', "{}"], ['{"a":"y"}', '{"b":1}']),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://x/base/", "allOf": [{"$id": "http://x/", "$ref": "foo.json"}],
      "definitions": {"foo": {"$id": "http://x/foo.json", "type": "string"}, "base": {"$id": "foo.json", "type": "number"}}},
     ["1"], ['"a"']),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_cases(number: int) -> None:
    schema, good, bad = CASES[number]
    route = compile_schema(schema, style="compact")
    assert [text for text in good if not route.accepts(text)] == [] and [text for text in bad if route.accepts(text)] == []
    assert route.report.exact, route.report.after
    assert route.accepts(route.shortest.decode())


def test_members_in_any_order() -> None:
    schema = {**OBJECT, "properties": {"a": {"type": "integer"}, "b": {}, "c": {}}, "required": ["a"], "dependentRequired": {"c": ["b"]}}
    route = compile_schema(schema, "compact", property_order="any")
    for text in ('{"b":1,"a":2}', '{"z":0,"a":1}', '{"a":1,"z":0,"b":1}', '{"c":1,"a":1,"b":1}', '{"b":1,"c":1,"a":1}'):
        assert route.accepts(text), text
    for text in ('{"b":1}', '{"a":1,"a":2}', '{"c":1,"a":1}', '{"a":"x"}'):
        assert not route.accepts(text), text
    assert not compile_schema(schema, "compact").accepts('{"b":1,"a":2}')
    listed = compile_schema({"enum": [{"a": 1, "b": [{"c": 2, "d": 3}]}]}, "compact", property_order="any")
    assert listed.accepts('{"b":[{"d":3,"c":2}],"a":1}') and not listed.accepts('{"a":1}')
    with pytest.raises(SchemaError, match="property_order 'sorted'"):
        compile_schema(schema, property_order="sorted")  # type: ignore[arg-type]


def test_conditions_beyond_all_proportion_are_left_to_the_check() -> None:
    route = compile_schema({"type": "integer", "allOf": [{"if": {"minimum": n}, "then": {"multipleOf": n + 1}} for n in range(30)]})
    assert {entry.keyword for entry in route.report.after} == {"if"} and len(route.report.after) == 30 and route.accepts("7")


def test_a_dynamic_reference_leaves_what_is_unevaluated_to_the_check() -> None:
    derived = {"$id": "d", "$dynamicAnchor": "n", "properties": {"b": {}}}
    base = {"$id": "b", "$dynamicRef": "#n", "unevaluatedProperties": False, "$defs": {"n": {"$dynamicAnchor": "n"}}}
    route = compile_schema({"$id": "http://x/r", "$ref": "b", "$defs": {"base": base, "derived": derived}}, "compact")
    assert route.accepts('{"b":1}') and {entry.keyword for entry in route.report.after} == {"$dynamicRef", "unevaluatedProperties"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a+$", "not": {"pattern": "a"}},
        {"type": "integer", "multipleOf": 10, "minimum": 11, "maximum": 19},
        {"allOf": [{"type": "integer"}, {"not": {"type": "number"}}]},
        {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b"]}, "minItems": 3},
        {"type": "array", "contains": {"const": 1}, "items": {"const": 2}},
        {**OBJECT, "minProperties": 3, "propertyNames": {"enum": ["a", "b"]}},
        {**OBJECT, "required": ["a"], "dependentRequired": {"a": ["b"]}, "properties": {"b": False}},
        {"oneOf": [True, True]},
        {"not": {}},
        {**OBJECT, "minProperties": 2, "maxProperties": 1},
        {**OBJECT, "not": {"maxProperties": 1}, "maxProperties": 1},
    ],
)
def test_what_nothing_satisfies_is_found_when_compiling(schema: Any) -> None:
    with pytest.raises(UnsatisfiableRoute):
        compile_schema(schema)


@pytest.mark.parametrize("seed", range(8))
def test_random_combinations_against_jsonschema(seed: int) -> None:
    random, judged = Random(seed), 0
    values = [None, True, 0, 1, 2, -1, 1.5, "", "a", "b", "ab", [], [1], ["a", 2], {}, {"a": 1}, {"a": 1, "b": "a"}, {"b": 2}, {"c": 0}]
    while judged < 60:
        schema = random_logic(random, 3)
        judge = jsonschema.Draft202012Validator(schema)
        try:
            route = compile_schema(schema, property_order="any")
        except UnsatisfiableRoute:
            assert not any(judge.is_valid(value) for value in values), schema
            continue
        judged += 1
        for value in [*values, *(random_value(random, 1) for _ in range(4))]:
            valid, accepted = judge.is_valid(value), any(map(route.accepts, spellings(value, "spaced", 1)))
            assert accepted == valid if route.report.exact else accepted or not valid, (schema, value)
        assert route.accepts(route.shortest.decode())
