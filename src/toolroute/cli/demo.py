"""The demonstration: a small catalogue, a few requests, and what a real model chose, also where it errs."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape

from ..catalogue import Catalogue
from ..engine import LlamaEngine
from ..router import Router, UnfittedGateWarning
from .common import write_json


def _tool(name: str, description: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    _tool(
        "get_weather",
        "Get the current weather or the forecast for a city.",
        {
            "city": {"type": "string", "description": "Name of the city", "maxLength": 40},
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "description": "Days of forecast"},
        },
        "city",
    ),
    _tool(
        "set_timer",
        "Start a countdown timer.",
        {"minutes": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Length in minutes"}},
        "minutes",
    ),
    _tool(
        "convert_currency",
        "Convert an amount of money from one currency to another.",
        {
            "amount": {"type": "number", "minimum": 0, "description": "Amount to convert"},
            "source": {"enum": ["USD", "EUR", "GBP", "JPY"], "description": "Currency of the amount"},
            "target": {"enum": ["USD", "EUR", "GBP", "JPY"], "description": "Currency wanted"},
        },
        "amount",
        "source",
        "target",
    ),
    _tool(
        "send_message",
        "Send a text message to a contact.",
        {"to": {"type": "string", "description": "Name of the contact", "maxLength": 40}, "text": {"type": "string", "maxLength": 120}},
        "to",
        "text",
    ),
]


class Example(NamedTuple):
    """A request and the choice a person would make."""

    request: str
    expected: str


EXAMPLES = (
    Example("What's the weather in Oslo?", "get_weather"),
    Example("Set a timer for 10 minutes.", "set_timer"),
    Example("How much is 100 US dollars in euros?", "convert_currency"),
    Example("Text Maria that I will be late.", "send_message"),
    Example("Will it rain in Paris in the next 3 days?", "get_weather"),
    Example("Hello! How are you today?", "none"),
    Example("Tell me a joke about cats.", "none"),
    Example("Who wrote Romeo and Juliet?", "none"),
)


def run(model: str, as_json: bool) -> None:
    """Route the examples. Raises what loading and routing raise."""
    console = Console(stderr=as_json)
    catalogue = Catalogue.from_tools(TOOLS)
    console.print(f"{len(catalogue)} tools: {', '.join(catalogue.names)}; or none.", highlight=False)
    rows: list[dict[str, Any]] = []
    with LlamaEngine.load(model) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfittedGateWarning)
        console.print(f"Model: {engine.name} ({engine.n_ctx_train} tokens of context trained).\n", highlight=False)
        router = Router(engine, catalogue, cap=96)
        for example in EXAMPLES:
            with console.status(f"{example.request} …"):
                action = router.route(example.request)
            right = action.tool == example.expected
            rows.append({"request": example.request, "expected": example.expected, "right": right, **action.to_dict()})
            usage = action.usage
            verdict = "[green]as a person would choose[/]" if right else f"[red]a person would choose {example.expected}[/]"
            console.print(f"[bold]{escape(example.request)}[/]  {verdict}", highlight=False)
            console.print(f"  {escape(action.text)}", highlight=False, soft_wrap=True)
            console.print(
                f"  [dim]{usage.forced_tokens} tokens forced, {usage.decided_tokens} decided; {usage.model_steps} model steps; "
                f"{usage.prompt_tokens - usage.reused_tokens} of {usage.prompt_tokens} prompt tokens read; "
                f"{action.timings.total:.2f} s[/]\n",
                highlight=False,
            )
    if as_json:
        write_json(rows)
        return
    right_count = sum(row["right"] for row in rows)
    forced = sum(row["usage"]["forced_tokens"] for row in rows)
    decided = sum(row["usage"]["decided_tokens"] for row in rows)
    console.print(
        f"{right_count} of {len(rows)} choices are what a person would choose. All {len(rows)} replies are a schema-valid call or none, "
        f"by construction; the model decided {decided} of {forced + decided} tokens, the rest were forced.",
        highlight=False,
    )
    console.print("Try your own: toolroute route --tools FILE.json --explain \"your request\"", highlight=False, markup=False)
