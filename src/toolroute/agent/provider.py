"""The provider seam: messages, tools and a tool choice in, at most one tool call out.

A loop needs one thing of whatever runs the model, ``complete_with_tools``. ``LocalProvider`` is that over a local engine, with the
guarantees of the router: the call is one of the tools that were given, its arguments are valid, and a ``tool_choice`` is enforced
or refused, never downgraded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..action import Action
from ..catalogue import Catalogue
from ..engine import Engine
from ..route import routed_call_id
from ..route.jsontext import dump
from ..router import Router


@dataclass(frozen=True)
class ToolCall:
    """One call. ``id``: a pure function of the round; ``arguments``: validated."""

    id: str
    name: str
    arguments: dict[str, Any]

    def to_openai(self) -> dict[str, Any]:
        """The call as a chat completion carries it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": dump(self.arguments)}}


@dataclass(frozen=True)
class Completion:
    """What a provider answered. ``call``: None where no tool was chosen, or the reply was cut; ``finish_reason``: ``"tool_calls"``,
    ``"stop"`` (a terminal) or ``"length"`` (cut by the cap: nothing may be executed); ``text``: the reply as it was written;
    ``terminal``: the terminal chosen, with its arguments."""

    text: str
    finish_reason: str
    call: ToolCall | None = None
    terminal: str | None = None
    terminal_arguments: dict[str, Any] | None = None
    action: Action | None = field(default=None, compare=False)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The call as a list of OpenAI's form (empty or one)."""
        return [] if self.call is None else [self.call.to_openai()]


class ModelProvider(Protocol):
    """Whatever can answer with a tool call."""

    def complete_with_tools(
        self, messages: Sequence[Mapping[str, Any]], tools: Iterable[Any], tool_choice: str | Mapping[str, Any] = "auto", round: int = 1
    ) -> Completion:
        """One completion for ``messages``, choosing among ``tools`` as ``tool_choice`` demands."""


class LocalProvider:
    """A provider over a local engine. ``options``: as ``Router`` takes them (``cap``, ``terminals``, ``decide`` …)."""

    def __init__(self, engine: Engine, **options: Any) -> None:
        self._catalogue = Catalogue.from_tools([])
        self._router = Router(engine, lambda: self._catalogue, **options)

    def complete_with_tools(
        self, messages: Sequence[Mapping[str, Any]], tools: Iterable[Any], tool_choice: str | Mapping[str, Any] = "auto", round: int = 1
    ) -> Completion:
        """One completion. Raises what ``Router.route`` raises."""
        if tools is not self._catalogue:
            catalogue = tools if isinstance(tools, Catalogue) else Catalogue.from_tools(tools)
            # Equal tools keep the catalogue object, and with it the compiled route and the priors.
            self._catalogue = self._catalogue if catalogue == self._catalogue else catalogue
        action = self._router.route(messages, tool_choice=tool_choice)
        if not action.complete:
            return Completion(action.text, "length", action=action)
        if action.is_terminal:
            return Completion(action.text, "stop", terminal=action.tool, terminal_arguments=action.arguments, action=action)
        assert action.tool is not None and action.arguments is not None
        return Completion(action.text, "tool_calls", ToolCall(routed_call_id(round), action.tool, action.arguments), action=action)
