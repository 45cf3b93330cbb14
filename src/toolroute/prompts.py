"""The words around a request: how a model is told what it may choose.

The system text holds everything that depends on the catalogue only, so that its tokens are reused from request to request; the
request comes last. The instruction carries one line of examples, a call and two hand-offs: it is the one part of the wording whose
effect was larger than the noise when prompts were compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .catalogue import Tool
from .errors import RouteError
from .route import Terminal, tool_parameters_doc, tools_section
from .route.prompt import Docs

CONTENT_FREE: Final = "N/A"
"""The request without content, under which priors are taken."""

Message = dict[str, str]


def system_text(tools: Iterable[Tool], terminals: Sequence[Terminal], docs: Docs, style: str) -> str:
    """The system message: what may be chosen, and the form of the answer."""
    marks = (", ", ": ") if style == "spaced" else (",", ":")

    def reply(value: dict[str, Any]) -> str:
        return json.dumps(value, separators=marks)

    call = reply({"tool": "multiply", "arguments": {"a": 3, "b": 4}})
    form = reply({"tool": "NAME", "arguments": {}}).replace("{}", "{...}")
    lines = ["You choose the next action for the user's request. Choose from this list:", tools_section(tools, docs, terminals), ""]
    bare = [end.name for end in terminals if end.bare]
    if bare:
        none = reply({"tool": bare[0]})
        use = f"{form} to use a tool that does what the user asks"
        lines.append(f"Answer with one line of JSON: {use}, or {none} if no tool in the list fits.")
        lines.append(f'Examples: "What is 3 times 4?" -> {call}; "Hello, how are you?" -> {none}; "Tell me a joke" -> {none}')
    else:
        lines.append(f"Answer with one line of JSON: {form}")
        lines.append(f'Example: "What is 3 times 4?" -> {call}')
    return "\n".join(lines)


def late_text(tool: Tool) -> str:
    """The chosen tool's documentation, added to the request once the tool is decided."""
    return f"\n\nArguments of {tool.name}:\n{tool_parameters_doc(tool)}"


def as_messages(request: str | Sequence[Mapping[str, Any]]) -> list[Message]:
    """A request as chat messages: a text is one user message.

    Raises ``RouteError`` for an empty list, or a message without a role and a text.
    """
    if isinstance(request, str):
        return [{"role": "user", "content": request}]
    messages = []
    for index, message in enumerate(request):
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            raise RouteError(f"message {index}: role and content must both be text")
        messages.append({"role": role, "content": content})
    if not messages:
        raise RouteError("the request has no message")
    return messages


def full_messages(system: str, messages: Sequence[Message], appended: str = "") -> list[Message]:
    """The prompt's messages: the system text (before the caller's own), the request, and ``appended`` at the end of the last message."""
    rest = list(messages)
    if rest[0]["role"] == "system":
        system = f"{system}\n\n{rest[0]['content']}"
        rest = rest[1:]
    if not rest:
        rest = [{"role": "user", "content": ""}]
    rest[-1] = {**rest[-1], "content": rest[-1]["content"] + appended}
    return [{"role": "system", "content": system}, *rest]
