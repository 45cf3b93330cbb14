"""The catalogue: building, dropping, deriving, reading files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolroute.catalogue import Catalogue, Tool
from toolroute.errors import CatalogueError

A, B, C = Tool("a"), Tool("b", "B."), Tool("c", "", {"properties": {"x": {"type": "integer"}}})
BASE = Catalogue.from_tools([A, B, C])


def test_order_names_and_lookup() -> None:
    assert BASE.names == ("a", "b", "c")
    assert list(BASE) == [A, B, C]
    assert len(BASE) == 3
    assert BASE["b"] is B
    assert BASE.get("z") is None
    assert "a" in BASE and "A" not in BASE and 3 not in BASE
    with pytest.raises(CatalogueError, match="unknown tool 'z'; known: a, b, c"):
        BASE["z"]


def test_an_unknown_name_lists_twenty() -> None:
    many = Catalogue.from_tools([Tool(f"t{number}") for number in range(30)])
    with pytest.raises(CatalogueError, match=r"t19 and 10 more$"):
        many["z"]


def test_equality_is_content_and_order() -> None:
    same = Catalogue.from_tools([{"name": "a"}, {"name": "b", "description": "B."}, C])
    assert same == BASE and hash(same) == hash(BASE) and same.digest == BASE.digest
    assert Catalogue.from_tools([B, A, C]) != BASE
    assert BASE != [A, B, C]


def test_a_duplicate_names_both_indexes() -> None:
    with pytest.raises(CatalogueError, match="tool 2 'a': the name is already used by tool 0"):
        Catalogue.from_tools([A, B, {"name": "a", "description": "other"}])
    with pytest.raises(CatalogueError, match="tool 1 'a'"):
        Catalogue((A, A))


def test_drop_keeps_the_error_of_each_bad_tool() -> None:
    items: list[Any] = [{"name": " "}, A, {"name": "x", "parameters": 3}, {"name": "a"}, B]
    catalogue = Catalogue.from_tools(items, on_error="drop")
    assert catalogue.names == ("a", "b")
    assert [(error.index, error.tool) for error in catalogue.dropped] == [(0, None), (2, "x"), (3, "a")]
    assert "already used by tool 1" in catalogue.dropped[2].reason
    assert catalogue.without("b").dropped == catalogue.dropped
    assert catalogue.without("b").on_error == "drop"


def test_the_default_is_to_raise() -> None:
    with pytest.raises(CatalogueError) as caught:
        Catalogue.from_tools([A, {"name": " "}])
    assert caught.value.index == 1


@pytest.mark.parametrize("items", ["abc", b"abc", {"name": "a"}, None, 3])
def test_only_a_list_of_tools_is_one(items: Any) -> None:
    with pytest.raises(CatalogueError, match="tools are a list of declarations"):
        Catalogue.from_tools(items, on_error="drop")


def test_on_error_is_one_of_two() -> None:
    wrong: Any = "ignore"
    with pytest.raises(CatalogueError, match="on_error"):
        Catalogue.from_tools([A], on_error=wrong)


def test_a_catalogue_passes_through() -> None:
    assert Catalogue.from_tools(BASE) is BASE
    assert Catalogue.from_tools(BASE, on_error="drop").on_error == "drop"
    assert Catalogue.from_tools(tool for tool in (A, B)).names == ("a", "b")


def test_derived_catalogues_leave_the_original_alone() -> None:
    assert BASE.with_tool({"name": "d"}).names == ("a", "b", "c", "d")
    assert BASE.without("a", "c").names == ("b",)
    assert BASE.only(["c", "a"]).names == ("a", "c")
    narrowed = BASE.narrowed("c", {"properties": {"x": {"enum": [1, 2]}}})
    assert narrowed.names == BASE.names
    assert narrowed["c"].parameters["properties"] == {"x": {"enum": [1, 2]}}
    assert narrowed["a"] is A
    assert BASE.names == ("a", "b", "c") and BASE["c"] is C


def test_a_narrowed_tool_keeps_description_and_function() -> None:
    def run() -> None:
        """Run."""

    tool = Catalogue.from_tools([run]).narrowed("run", None)["run"]
    assert (tool.description, tool.function) == ("Run.", run)


def test_deriving_refuses_what_is_not_there() -> None:
    with pytest.raises(CatalogueError, match="unknown tool 'z'"):
        BASE.without("z")
    with pytest.raises(CatalogueError, match="unknown tool 'z'"):
        BASE.only(["z"])
    with pytest.raises(CatalogueError, match="unknown tool 'z'"):
        BASE.narrowed("z", {})
    with pytest.raises(CatalogueError, match="tool 3 'a'"):
        BASE.with_tool(A)


@pytest.mark.parametrize(
    "text",
    [
        '[{"name":"a"}]',
        '\ufeff[{"name":"a"}]\r\n',
        '{"tools":\r\n[{"name":"a"}]}',
        '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}}]}}',
        '{"name":"a"}',
        '{"type":"function","function":{"name":"a"}}',
    ],
)
def test_json_tops_that_are_read(text: str) -> None:
    assert Catalogue.from_json(text).names == ("a",)


@pytest.mark.parametrize("text", ["[]", "\ufeff[]", "[]\r\n", '{"tools":[]}'])
def test_an_empty_catalogue_is_one(text: str) -> None:
    assert len(Catalogue.from_json(text)) == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not json", "f.json: line 1 column 1: Expecting value"),
        ('[\n  {"name": }]', "f.json: line 2 column 12: Expecting value"),
        ('{"functions": [], "x": 1}', "object with 'functions', 'x'"),
        ("{}", "object with no members"),
        ('{"tools": {}}', "object with 'tools'"),
        ('"a"', "the top level is a string"),
        ("3", "the top level is a number"),
        ("null", "the top level is null"),
        ("true", "the top level is a boolean"),
        ('[{"name":"a","name":"b"}]', "the member 'name' occurs twice"),
        ('[{"name":"a","x":NaN}]', "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"name":"a","x":' + "9" * 5000 + "}]", "f.json: "),
        ('[{"name":"a","parameters":{"x":1e999}}]', "not finite"),
        ('[{"type":"function"}]', "tool 0: it has no name"),
    ],
)
def test_json_that_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        Catalogue.from_json(text, "f.json")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes('\ufeff{"tools": [{"name": "天気"}]}\r\n'.encode())
    assert Catalogue.from_file(path).names == ("天気",)
    path.write_bytes(b'[{"name": "\xff"}]')
    with pytest.raises(CatalogueError, match="not UTF-8 at byte 11"):
        Catalogue.from_file(str(path))
    with pytest.raises(CatalogueError, match=r"absent\.json"):
        Catalogue.from_file(tmp_path / "absent.json")
    path.write_text("[{")
    with pytest.raises(CatalogueError, match=r"tools\.json: line 1 column 3"):
        Catalogue.from_file(path)
