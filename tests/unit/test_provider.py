"""The provider over a local engine: OpenAI's vocabulary in, one enforced call or a terminal out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from toolroute import ScriptedEngine, ToolChoiceError, Vocabulary
from toolroute.agent import LocalProvider

VOCABULARY = Vocabulary.from_tokens([bytes((i,)) for i in range(256)] + ["<end>"], eog=[256])
TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    {"name": "get_time", "parameters": {"type": "object", "properties": {}}},
]
MESSAGES = [{"role": "user", "content": "weather in Oslo?"}]


def writer(reply: str) -> ScriptedEngine:
    """An engine that writes ``reply``, byte by byte, after any prompt."""

    def logits(tokens: Sequence[int]) -> np.ndarray:
        text = bytes(t for t in tokens if t < 256)
        row = np.zeros(257, np.float32)
        data = reply.encode()
        size = next(n for n in range(len(data), -1, -1) if text.endswith(data[:n]))
        row[data[size] if size < len(data) else 256] = 9.0
        return row

    return ScriptedEngine(VOCABULARY, logits)


def provider(reply: str, **options: object) -> LocalProvider:
    return LocalProvider(writer(reply), decide="greedy", **options)


def test_a_call_in_openai_form() -> None:
    answer = provider('{"tool": "get_weather", "arguments": {"city": "Oslo"}}').complete_with_tools(MESSAGES, TOOLS, round=3)
    assert answer.finish_reason == "tool_calls"
    (call,) = answer.tool_calls
    assert call["id"] == "route-3"
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Oslo"}


def test_no_tool_is_a_stop() -> None:
    answer = provider('{"tool": "none"}').complete_with_tools(MESSAGES, TOOLS)
    assert (answer.finish_reason, answer.terminal, answer.tool_calls) == ("stop", "none", [])


@pytest.mark.parametrize("choice", ["required", "get_time", {"type": "function", "function": {"name": "get_time"}}])
def test_a_tool_choice_is_enforced_against_the_model(choice: object) -> None:
    answer = provider('{"tool": "none"}').complete_with_tools(MESSAGES, TOOLS, choice)
    assert answer.call is not None
    if choice != "required":
        assert answer.call.name == "get_time"


def test_none_is_enforced_too() -> None:
    answer = provider('{"tool": "get_time", "arguments": {}}').complete_with_tools(MESSAGES, TOOLS, "none")
    assert answer.terminal == "none"


@pytest.mark.parametrize("choice", ["nothing_like_it", {"type": "function"}, {"type": "auto"}])
def test_what_cannot_be_enforced_is_refused(choice: object) -> None:
    with pytest.raises(ToolChoiceError):
        provider('{"tool": "none"}').complete_with_tools(MESSAGES, TOOLS, choice)
    with pytest.raises(ToolChoiceError):
        provider('{"tool": "none"}').complete_with_tools(MESSAGES, [], "required")


def test_a_cut_reply_is_no_call() -> None:
    shortest = len('{"tool": "get_weather", "arguments": {"city": ""}}')
    answer = provider('{"tool": "get_weather", "arguments": {"city": "Oslo, Norway"}}', cap=shortest + 2).complete_with_tools(
        MESSAGES, TOOLS, "get_weather"
    )
    assert (answer.finish_reason, answer.call) == ("length", None)
    assert json.loads(answer.text)["tool"] == "get_weather"


def test_equal_tools_compile_once() -> None:
    one = provider('{"tool": "none"}')
    one.complete_with_tools(MESSAGES, TOOLS)
    first = one._router.route_offered
    one.complete_with_tools(MESSAGES, [dict(tool) for tool in TOOLS])
    assert one._router.route_offered is first
