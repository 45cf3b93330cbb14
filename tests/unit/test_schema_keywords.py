"""Every keyword: enforced exactly, or reported ``after``, or refused with its place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from toolroute.errors import CatalogueError, SchemaError, UnsatisfiableRoute, UnsupportedSchema
from toolroute.route.dialects import dialect
from toolroute.schema import compile_route, compile_schema
from toolroute.schema.document import Document
from toolroute.schema.keywords import FOREIGN, SHAPES

DRAFT4, DRAFT6, DRAFT7 = (f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7))
D2019, D2020 = "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"

EXACT: list[tuple[Any, list[str], list[str]]] = [
    (True, ["0", "null", '{"a": []}'], ["", "{", "01"]),
    ({"type": "null"}, ["null"], ["0", "nul", '"null"']),
    ({"type": "boolean"}, ["true", "false"], ["True", "1", '"true"']),
    ({"type": ["null", "integer"]}, ["null", "5", "-5"], ["5.5", "true"]),
    ({"type": ["integer", "number"]}, ["5", "5.5"], ["null"]),
    (
        {"enum": ["a", "ab", 1, None, {"k": [1]}, 1.5]},
        ['"a"', '"ab"', "1", "null", '{"k": [1]}', "1.5"],
        ['"b"', "true", "2", '{"k": []}', '{"k":[1]}'],
    ),
    ({"enum": ["a", 1, None], "type": "string"}, ['"a"'], ["1", "null"]),
    ({"enum": ["a", "abc"], "minLength": 2}, ['"abc"'], ['"a"']),
    ({"enum": [1, 5, 9], "minimum": 2, "maximum": 8}, ["5"], ["1", "9"]),
    ({"enum": ['q"', "é", "\n"]}, ['"q\\""', '"é"', '"\\n"'], ['"\\u00e9"', '"\n"']),
    ({"const": False}, ["false"], ["0", "true"]),
    ({"const": 0}, ["0"], ["false", "0.0", "-0"]),
    ({"const": None, "description": "x"}, ["null"], ["0"]),
    ({"const": {"a": 1, "b": [True]}}, ['{"a": 1, "b": [true]}'], ['{"a": 1}']),
    (
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        ['{"a": 1}', '{"a": 1, "z": null}'],
        ["{}", '{"a": "1"}', '{"z": 1, "a": 1}'],
    ),
    (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        ["{}", '{"a": [1]}'],
        ['{"b": 1}', '{"a": 1, "b": 1}', '{"a": 1, "a": 1}'],
    ),
    (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        ["{}", '{"x": 1, "y": 2}'],
        ['{"x": "1"}', '{"x": 1, "x": 2}', '{"x": 1,"y": 2}'],
    ),
    ({"type": "object", "additionalProperties": False}, ["{}"], ['{"x": 1}']),
    ({"type": "object", "required": ["b", "a"]}, ['{"b": 1, "a": 2}', '{"b": 1, "a": 2, "c": 3}'], ['{"b": 1}', "{}"]),
    ({"type": "object", "properties": {"a": False}}, ["{}", '{"b": 1}'], ['{"a": 1}']),
    ({"type": "array", "items": {"type": "boolean"}}, ["[]", "[true, false]"], ["[1]", "[true,false]", "[true, ]"]),
    ({"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 2}}, ["[]", "[1]", "[1, 2, 2]"], ["[2]", "[1, 1]"]),
    ({"type": "array", "prefixItems": [{"const": 1}], "items": False}, ["[]", "[1]"], ["[1, 1]"]),
    ({"type": "array", "items": {"const": 1}, "minItems": 1, "maxItems": 2}, ["[1]", "[1, 1]"], ["[]", "[1, 1, 1]"]),
    ({"type": "array", "maxItems": 0.0}, ["[]"], ["[1]"]),
    ({"type": "string", "minLength": 1, "maxLength": 2}, ['"a"', '"éé"', '"\\n\\u0041"', '"😀😀"'], ['""', '"abc"']),
    ({"type": "integer", "minimum": -3, "exclusiveMaximum": 12}, ["-3", "0", "11"], ["-4", "12", "1.0", "-0", "01"]),
    ({"type": "integer", "exclusiveMinimum": 1.5, "maximum": 3.2}, ["2", "3"], ["1", "4"]),
    ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, ["0", "0.5", "0.99"], ["1", "-0.1", "1.0", "1e-1"]),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, ["1", '"x"'], ["null"]),
    ({"anyOf": [{"minimum": 5}, {"maximum": 1}], "type": "integer"}, ["5", "1", "-9"], ["3"]),
    (
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}},
        ['{"a": 1}', '{"b": 2}', '{"a": 1, "b": 2}'],
        ["{}", '{"a": 2}'],
    ),
    ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, ["1", '"x"'], ["null"]),
    (
        {"oneOf": [{"type": "object", "properties": {"k": {"const": c}, c: {"type": "integer"}}, "required": ["k", c]} for c in "xy"]},
        ['{"k": "x", "x": 1}', '{"k": "y", "y": 1}'],
        ['{"k": "x", "y": 1}', '{"k": "z", "x": 1}'],
    ),
    ({"allOf": [{"minimum": 2}, {"maximum": 4}, {"type": "integer"}]}, ["2", "4"], ["1", "5", "2.5"]),
    (
        {
            "allOf": [{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"type": "integer", "maximum": 2}}}],
            "type": "object",
            "required": ["a"],
        },
        ['{"a": 1}'],
        ['{"a": 0}', '{"a": 3}', "{}"],
    ),
    ({"minLength": 2}, ['"ab"', "1", "null", "[]"], ['"a"']),
    ({"$ref": "#/$defs/d", "maxLength": 1, "$defs": {"d": {"type": "string", "minLength": 1}}}, ['"a"'], ['""', '"ab"']),
]


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT, ids=[json.dumps(case[0])[:60] for case in EXACT])
def test_exact_keywords(schema: Any, good: list[str], bad: list[str]) -> None:
    route = compile_schema(schema)
    assert route.report.exact and not route.report.after
    assert [text for text in good if not route.accepts(text)] == []
    assert [text for text in bad if route.accepts(text)] == []
    compact = compile_schema(schema, style="compact")
    for text in good:
        assert compact.accepts(json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)) or "\\" in text
    every = {entry.keyword for entry in route.report.assertions}
    present = set(schema) & set(SHAPES) if isinstance(schema, dict) else set()
    assert present <= every and all(entry.status == "mask" for entry in route.report.assertions)


def test_additional_closed_and_open() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert compile_schema(schema).accepts('{"b": 1}') and not compile_schema(schema, additional="closed").accepts('{"b": 1}')
    assert compile_schema({"type": "object"}, additional="closed").accepts('{"b": 1}')  # nothing declared: any object
    route = compile_route([{"name": "t", "parameters": schema}])
    assert not route.accepts('{"tool": "t", "arguments": {"b": 1}}') and route.accepts('{"tool": "t", "arguments": {"a": 1}}')
    opened = compile_route([{"name": "t", "parameters": {**schema, "additionalProperties": True}}])
    assert opened.accepts('{"tool": "t", "arguments": {"b": 1}}')


def test_members_come_in_declared_order() -> None:
    route = compile_schema({"type": "object", "properties": {"b": {}, "a": {}}, "required": ["z", "a"]})
    assert route.accepts('{"b": 1, "a": 2, "z": 3, "y": 4}') and route.accepts('{"a": 2, "z": 3}')
    assert not route.accepts('{"a": 2, "b": 1, "z": 3}') and not route.accepts('{"z": 3, "a": 2}')


VALUES: dict[str, Any] = {
    "multipleOf": 3,
    "pattern": "^a",
    "uniqueItems": True,
    "contains": {"const": 1},
    "minContains": 1,
    "maxContains": 2,
    "minProperties": 1,
    "maxProperties": 3,
    "patternProperties": {"^x": {"type": "integer"}},
    "propertyNames": {"maxLength": 3},
    "dependentRequired": {"a": ["b"]},
    "dependentSchemas": {"a": {"required": ["b"]}},
    "dependencies": {"a": ["b"]},
    "not": {"const": 1},
    "if": {"const": 1},
    "then": {"const": 1},
    "else": {"const": 2},
    "unevaluatedProperties": False,
    "unevaluatedItems": False,
    "$dynamicRef": "#",
    "$recursiveRef": "#",
}


@pytest.mark.parametrize("keyword", sorted(set(VALUES) - FOREIGN[2020]))
def test_these_keywords_are_enforced_while_decoding(keyword: str) -> None:
    schema = {"type": "object", "properties": {"m/x": {keyword: VALUES[keyword]}}}
    report = compile_schema(schema).report
    places = [(entry.pointer, entry.keyword, entry.status) for entry in report.assertions if entry.keyword == keyword]
    if keyword == "uniqueItems":  # of items that are no finite set
        assert not report.exact and [entry.pointer for entry in report.after] == ["/properties/m~1x/uniqueItems"]
        return
    assert report.exact and places == [(f"/properties/m~1x/{keyword}", keyword, "mask")]


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"pattern": "(?<=a)b"}, "/properties/m~1x/pattern", "pattern"),
        ({"pattern": "(a|b)*a(a|b){14}"}, "/properties/m~1x/pattern", "pattern"),
        ({"uniqueItems": True}, "/properties/m~1x/uniqueItems", "uniqueItems"),
        ({"not": {"uniqueItems": True}}, "/properties/m~1x/not/uniqueItems", "uniqueItems"),
        ({"not": {"multipleOf": 3}}, "/properties/m~1x/not", "not"),
        ({"patternProperties": {"(?<!a)b": {"type": "null"}}}, "/properties/m~1x/patternProperties", "patternProperties"),
        ({"not": {"enum": [{"a": 1}]}}, "/properties/m~1x/not", "not"),
    ],
)
def test_what_the_mask_cannot_say_is_reported_with_its_place(schema: dict[str, Any], pointer: str, keyword: str) -> None:
    report = compile_schema({"type": "object", "properties": {"m/x": schema}}).report
    assert not report.exact and report.to_dict()["exact"] is False
    assert [(e.pointer, e.keyword, e.status, e.tool) for e in report.after] == [(pointer, keyword, "after", None)]
    assert report.after[0].why


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"])
def test_the_keywords_of_every_dialect_are_those_of_the_validator(draft: str) -> None:
    name = f"json-schema.org/{draft}/schema"
    document = Document({"$schema": f"https://{name}"})
    known = set(dialect(name).validator.VALIDATORS)
    helpers = {"then", "else", "minContains", "maxContains", "exclusiveMinimum", "exclusiveMaximum", "dependencies"}
    assert (set(SHAPES) - FOREIGN[document.draft]) - helpers == (known & set(SHAPES)) - helpers


def test_what_is_reported_after_in_a_route_names_its_tool() -> None:
    tools = [{"name": "a"}, {"name": "b", "parameters": {"type": "object", "properties": {"n": {"type": "integer", "not": {"const": 3}}}}}]
    report = compile_route(tools).report
    assert report.exact
    tools[1]["parameters"]["properties"]["n"]["not"] = {"multipleOf": 3}  # type: ignore[index]
    after = compile_route(json.loads(json.dumps(tools))).report.after
    assert after and all(entry.tool == "b" and entry.pointer == "/properties/n/not" for entry in after)


def test_one_of_excludes() -> None:
    route = compile_schema({"oneOf": [{"type": "integer", "minimum": 1}, {"type": "integer", "maximum": 5}]})
    assert route.report.exact and [n for n in range(-2, 9) if route.accepts(str(n))] == [-2, -1, 0, 6, 7, 8]


def test_unknown_keywords_are_annotations() -> None:
    report = compile_schema({"type": "integer", "x-unit": 5, "title": "t", "examples": [1], "format": "int32", "default": "no"}).report
    assert report.exact and [e.keyword for e in report.assertions] == ["type"]


MALFORMED: dict[str, list[Any]] = {
    "type": ["strin", "", [], 5, None, ["string", 3], {}],
    "enum": [5, {}, "ab"],
    "properties": [[], 5, {"a": 3}],
    "required": ["a", [1], {}, True],
    "additionalProperties": [5, "x", []],
    "items": [5, "x", [3]],
    "prefixItems": [[], {}, [5]],
    "additionalItems": [5],
    "minItems": [-1, 1.5, "1", True, None],
    "maxItems": [-1, math.inf],
    "minLength": [-1, "2", math.inf, math.nan],
    "maxLength": [1.5, False],
    "minimum": ["0", True, None, math.nan, math.inf],
    "maximum": ["x", [], -math.inf],
    "exclusiveMinimum": ["1", True],
    "exclusiveMaximum": [[], False],
    "anyOf": [[], {}, [3]],
    "oneOf": [[], [None]],
    "allOf": [[], [5]],
    "$ref": [5, {}],
    "multipleOf": [0, -1, "2", math.nan],
    "pattern": [5, "(", "[z-a]"],
    "uniqueItems": [1],
    "contains": [5],
    "minContains": [-1],
    "maxContains": ["1"],
    "minProperties": [-1],
    "maxProperties": [1.5],
    "patternProperties": [[], {"a": 5}],
    "propertyNames": [5],
    "dependentRequired": [[], {"a": 5}],
    "dependentSchemas": [[], {"a": 5}],
    "dependencies": [[], {"a": 5}],
    "not": [5],
    "if": [5],
    "then": [5],
    "else": [5],
    "unevaluatedProperties": [5],
    "unevaluatedItems": ["x"],
    "$dynamicRef": [5],
    "$recursiveRef": [5],
}


def test_every_keyword_has_malformed_values_here() -> None:
    assert set(MALFORMED) == set(SHAPES) - {"const"}


@pytest.mark.parametrize("keyword", sorted(set(MALFORMED) - FOREIGN[2020]))
def test_malformed_values_are_refused_with_their_place(keyword: str) -> None:
    for value in MALFORMED[keyword]:
        with pytest.raises(SchemaError) as caught:
            compile_schema({"type": "object", "properties": {"p": {keyword: value}}})
        assert caught.value.keyword == keyword and caught.value.pointer == f"/properties/p/{keyword}", value
        with pytest.raises((SchemaError, CatalogueError)) as found:
            compile_route([{"name": "ok"}, {"name": "bad", "parameters": {"type": "object", "properties": {"p": {keyword: value}}}}])
        assert found.value.tool == "bad" and found.value.index == 1 and (found.value.pointer or "").startswith(f"/properties/p/{keyword}")


def test_a_pattern_below_pattern_properties_is_named() -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema({"patternProperties": {"(": {}}})
    assert caught.value.pointer == "/patternProperties/(" and caught.value.keyword == "patternProperties"


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"not": {"type": "foo"}}, "/properties/p/not/type"),
        ({"not": {"$ref": "#/$defs/missing"}}, "/properties/p/not/$ref"),
        ({"if": {"properties": {"a": {"pattern": "("}}}}, "/properties/p/if/properties/a/pattern"),
        ({"patternProperties": {"^a": {"minimum": "1"}}}, "/properties/p/patternProperties/^a/minimum"),
    ],
)
def test_faults_below_keywords_that_are_checked_after(schema: Any, pointer: str) -> None:
    tools = [{"name": "bad", "parameters": {"type": "object", "properties": {"p": schema}}}, {"name": "good"}]
    with pytest.raises(SchemaError) as caught:
        compile_route(tools)
    assert (caught.value.tool, caught.value.index, caught.value.pointer) == (
        "bad",
        0,
        pointer,
    ) and caught.value.keyword == pointer.rpartition("/")[2]
    route = compile_route(tools, on_error="drop")
    assert route.names == ("good",) and [error.tool for error in route.report.dropped] == ["bad"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("schema", [5, None, [], "x", 1.5])
def test_what_is_no_schema_at_all(schema: Any) -> None:
    with pytest.raises(SchemaError, match="an object or a boolean"):
        compile_schema(schema)


# -- dialects ------------------------------------------------------------------------------------------------------------------


def test_draft_4_bounds() -> None:
    route = compile_schema(
        {"$schema": DRAFT4, "type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 4, "exclusiveMaximum": False}
    )
    assert [n for n in range(7) if route.accepts(str(n))] == [2, 3, 4]
    with pytest.raises(SchemaError) as caught:
        compile_schema({"$schema": DRAFT4, "exclusiveMinimum": 3})
    assert caught.value.keyword == "exclusiveMinimum"


@pytest.mark.parametrize("draft", [DRAFT4, DRAFT6, DRAFT7, D2019])
def test_old_tuples(draft: str) -> None:
    route = compile_schema({"$schema": draft, "type": "array", "items": [{"enum": [1]}], "additionalItems": {"enum": [2]}})
    assert route.accepts("[1, 2, 2]") and route.accepts("[]") and not route.accepts("[2]")
    closed = compile_schema({"$schema": draft, "type": "array", "items": [{"enum": [1]}], "additionalItems": False})
    assert closed.accepts("[1]") and not closed.accepts("[1, 1]")
    assert compile_schema({"$schema": draft, "type": "array", "items": {"enum": [1]}, "additionalItems": False}).accepts("[1, 1]")


def test_a_new_dialect_refuses_old_tuples() -> None:
    for root in ({}, {"$schema": D2020}):
        with pytest.raises(SchemaError, match="prefixItems") as caught:
            compile_schema({**root, "items": [{}]})
        assert caught.value.pointer == "/items" and caught.value.keyword == "items"


@pytest.mark.parametrize("draft", [DRAFT4, DRAFT6, DRAFT7])
def test_before_2019_a_reference_stands_alone(draft: str) -> None:
    route = compile_schema({"$schema": draft, "$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": {"type": "string"}}})
    assert route.accepts('"long"')
    for new in (D2019, D2020):
        assert not compile_schema({"$schema": new, "$ref": "#/$defs/s", "maxLength": 1, "$defs": {"s": {"type": "string"}}}).accepts(
            '"long"'
        )


@pytest.mark.parametrize(
    "dialect", ["http://json-schema.org/draft-03/schema#", "x", "", 5, "https://json-schema.org/draft/2020-12/schema/extra"]
)
def test_unknown_dialects(dialect: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema({"$schema": dialect})
    assert caught.value.keyword == "$schema" and caught.value.pointer == "/$schema"


# -- what nothing satisfies ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": []},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"type": "number", "exclusiveMinimum": 1, "maximum": 1},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "array", "minItems": 2, "maxItems": 1},
        {"type": "array", "items": False, "minItems": 1},
        {"type": "array", "prefixItems": [False], "minItems": 1},
        {"const": 1, "type": "string"},
        {"enum": [1, 2], "minimum": 3},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"const": 1}, {"const": 2}]},
        {"anyOf": [False, False]},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "object", "required": ["a"], "properties": {"a": {"enum": []}}},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
    ],
    ids=json.dumps,
)
def test_unsatisfiable(schema: Any) -> None:
    with pytest.raises(UnsatisfiableRoute) as caught:
        compile_schema(schema)
    assert caught.value.reason
    with pytest.raises(UnsatisfiableRoute) as found:
        compile_route(
            [
                {"name": "good"},
                {"name": "bad", "parameters": {"type": "object", "properties": {"p": schema}, "required": ["p"], "$defs": {}}},
            ]
        )
    assert found.value.tool == "bad" and found.value.index == 1


def test_an_optional_member_that_nothing_satisfies_is_left_out() -> None:
    route = compile_schema({"type": "object", "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}, "b": {"const": 1}}})
    assert route.accepts('{"b": 1}') and route.accepts("{}") and not route.accepts('{"a": 1}')


# -- references ----------------------------------------------------------------------------------------------------------------


def test_references() -> None:
    defs = {
        "a b": {"const": 1},
        "a/b": {"const": 2},
        "a~b": {"const": 3},
        "é": {"const": 4},
        "list": {"anyOf": [{"const": 5}, {"const": 6}]},
        "an": {"$anchor": "here", "const": 7},
    }
    for reference, value in {
        "#/$defs/a%20b": 1,
        "#/$defs/a~1b": 2,
        "#/$defs/a~0b": 3,
        "#/$defs/%C3%A9": 4,
        "#/$defs/é": 4,
        "#/%24defs/list/anyOf/1": 6,
        "#here": 7,
    }.items():
        route = compile_schema({"$ref": reference, "$defs": defs})
        assert [n for n in range(9) if route.accepts(str(n))] == [value], reference


def test_references_through_references_and_beside_others() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/properties/a", "maximum": 2}},
        "$defs": {"x": {"$ref": "#/$defs/y", "minimum": 1}, "y": {"type": "integer", "maximum": 3}},
        "additionalProperties": False,
    }
    route = compile_schema(schema)
    assert [n for n in range(-1, 6) if route.accepts(f'{{"a": {n}}}')] == [1, 2, 3]
    assert [n for n in range(-1, 6) if route.accepts(f'{{"b": {n}}}')] == [1, 2]


def test_recursive_references() -> None:
    tree = {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["v"],
        "additionalProperties": False,
    }
    route = compile_schema(tree)
    assert route.report.exact and route.shortest == b'{"v": 0}'
    assert route.accepts('{"v": 1, "kids": [{"v": 2}, {"v": 3, "kids": []}]}') and not route.accepts('{"v": 1, "kids": [{}]}')
    mutual = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}}, "b": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}},
    }
    assert compile_schema(mutual).accepts("[null, [], [[null]]]") and not compile_schema(mutual).accepts("[1]")
    assert compile_schema({"$id": "http://example.org/x", "type": "array", "items": {"$ref": "http://example.org/x#"}}).accepts(
        "[[], [[]]]"
    )


@pytest.mark.parametrize(
    ("schema", "kind", "pointer"),
    [
        ({"$ref": "#/$defs/no"}, SchemaError, "/$ref"),
        ({"$ref": "#/nothing/0"}, SchemaError, "/$ref"),
        ({"$ref": "#no"}, SchemaError, "/$ref"),
        ({"properties": {"a": {"$ref": "#/$defs/x/1"}}, "$defs": {"x": [{}]}}, SchemaError, "/properties/a/$ref"),
        ({"properties": {"a": {"$ref": "#/title"}}, "title": "t"}, SchemaError, "/properties/a/$ref"),
        ({"items": {"$ref": "http://example.org/other"}}, UnsupportedSchema, "/items/$ref"),
        ({"$ref": "other.json#/x"}, UnsupportedSchema, "/$ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "http://example.org/a", "$ref": "#/b"}}}, SchemaError, "/$defs/a/$ref"),
        ({"$ref": "#"}, SchemaError, ""),
        ({"allOf": [{"$ref": "#"}]}, SchemaError, ""),
        ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, SchemaError, ""),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, SchemaError, "/$defs/a"),
    ],
)
def test_references_that_cannot_be_kept(schema: Any, kind: type[SchemaError], pointer: str) -> None:
    with pytest.raises(kind) as caught:
        compile_schema(schema)
    assert caught.value.keyword == "$ref" and caught.value.pointer == pointer


def test_two_tools_may_use_one_definition_name() -> None:
    def tool(name: str, kind: str) -> dict[str, Any]:
        return {
            "name": name,
            "parameters": {"type": "object", "properties": {"v": {"$ref": "#/$defs/V"}}, "required": ["v"], "$defs": {"V": {"type": kind}}},
        }

    route = compile_route([tool("a", "integer"), tool("b", "boolean")])
    assert route.accepts('{"tool": "a", "arguments": {"v": 1}}') and route.accepts('{"tool": "b", "arguments": {"v": true}}')
    assert not route.accepts('{"tool": "a", "arguments": {"v": true}}') and not route.accepts('{"tool": "b", "arguments": {"v": 1}}')
