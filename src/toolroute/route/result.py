"""The message that answers a routed call, and back.

Theory. A routed call is an ordinary assistant message, so its result is an ordinary user message whose first line names the call:

    Tool result for memory_search (call route-2):
    {"records": []}

The header is exactly one line, because tool names and call ids hold no line break or control character; the content is everything after
the first newline, whatever it is (empty, ending in a newline, beginning like a header). So splitting is the exact inverse of writing.
Call ids are a pure function of the round, so a replayed run has the same bytes.
"""

from __future__ import annotations

import re

from ..catalogue import check_name
from ..errors import CatalogueError

_NAME = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]+"
_HEADER = re.compile(rf"Tool (?:result|error) for {_NAME} \(call {_NAME}\):\Z")


def routed_result_header(tool: str, call_id: str, is_error: bool = False) -> str:
    """``Tool result for NAME (call ID):`` or ``Tool error for NAME (call ID):``.

    Raises ``CatalogueError`` for a tool name or call id that no tool could have (blank, control characters, a line break).
    """
    check_name(tool)
    try:
        check_name(call_id)
    except CatalogueError as error:
        raise CatalogueError(f"call id: {error.reason}") from None
    return f"Tool {'error' if is_error else 'result'} for {tool} (call {call_id}):"


def routed_result_text(tool: str, call_id: str, content: str, is_error: bool = False) -> str:
    """The whole message: the header, a newline, the content as it is. Raises as ``routed_result_header`` does."""
    return f"{routed_result_header(tool, call_id, is_error)}\n{content}"


def split_routed_result(text: str) -> tuple[str, str] | tuple[()]:
    """``(header, content)`` of a result message; ``()`` for any other text."""
    header, newline, content = text.partition("\n")
    return (header, content) if newline and _HEADER.match(header) else ()


def routed_call_id(round: int) -> str:
    """``route-1``, ``route-2``, … Raises ``CatalogueError`` for a round that is not a positive integer."""
    if isinstance(round, bool) or not isinstance(round, int) or round < 1:
        raise CatalogueError(f"a round is a positive integer, not {round!r:.64}")
    return f"route-{round}"
