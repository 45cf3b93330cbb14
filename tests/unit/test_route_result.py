"""Result messages and call ids."""

from __future__ import annotations

from typing import Any

import pytest

from toolroute.errors import CatalogueError
from toolroute.route import routed_call_id, routed_result_header, routed_result_text, split_routed_result


def test_the_text_of_the_seed() -> None:
    text = routed_result_text("memory_search", routed_call_id(1), '{"records":[]}')
    assert text == 'Tool result for memory_search (call route-1):\n{"records":[]}'
    assert routed_result_header("memory_read", "route-3", is_error=True) == "Tool error for memory_read (call route-3):"


@pytest.mark.parametrize("content", ["", "\n", "x\n", "\r\n", "Tool result for a (call b):\nx", "a\nb", "(call x):", "\u2028"])
@pytest.mark.parametrize("tool", ["a", "a b", "a (call x):", "f(x)", "天気", "x):"])
@pytest.mark.parametrize("is_error", [False, True])
def test_splitting_is_the_inverse(tool: str, content: str, is_error: bool) -> None:
    header = routed_result_header(tool, "route-2", is_error)
    assert split_routed_result(routed_result_text(tool, "route-2", content, is_error)) == (header, content)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "Tool result for a (call b):",
        "Tool result for a (call b)\nx",
        "tool result for a (call b):\nx",
        " Tool result for a (call b):\nx",
        "Tool result for  (call ):\nx",
        "Tool result for a (call b): \nx",
        "Tool result for a\r (call b):\nx",
        "\nTool result for a (call b):\nx",
        "Tool warning for a (call b):\nx",
    ],
)
def test_other_text_is_not_a_result(text: str) -> None:
    assert split_routed_result(text) == ()


@pytest.mark.parametrize(
    ("tool", "call_id"), [("a\nb", "x"), ("a", "x\n"), ("a", "x\r"), ("", "x"), ("a", " "), ("a\x00", "x"), ("a", "x\u2028y")]
)
def test_headers_that_are_refused(tool: str, call_id: str) -> None:
    with pytest.raises(CatalogueError):
        routed_result_header(tool, call_id)
    with pytest.raises(CatalogueError):
        routed_result_text(tool, call_id, "content")


def test_call_ids_are_a_function_of_the_round() -> None:
    assert [routed_call_id(number) for number in (1, 2, 10)] == ["route-1", "route-2", "route-10"]
    for wrong in (0, -1, True, 1.0, "1", None):
        value: Any = wrong
        with pytest.raises(CatalogueError, match="a round is a positive integer"):
            routed_call_id(value)
