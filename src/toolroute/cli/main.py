"""``toolroute``: route requests with a local model from the command line."""

from __future__ import annotations

import warnings
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..catalogue import Catalogue
from ..engine import LlamaEngine
from ..router import Router
from ..schema import compile_route
from . import compile as compile_module
from . import demo as demo_module
from . import models
from .common import CUT, AsJson, Drop, OnError, Style, Terminal, read_request, reported, say, write_json, write_json_text
from .explain import explain

DEFAULT_MODEL = "smollm2-135m"

app = typer.Typer(
    name="toolroute",
    help="Make a local language model choose its next tool: one schema-valid call, or none.",
    epilog="Exit codes: 0 done, 2 wrong usage, 3 an error (one line on stderr), 4 the reply was cut by the cap, 5 the checked reply is not "
    "accepted, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(models.app)
app.command("compile")(compile_module.compile_command)


class DecideBy(str, Enum):
    score = "score"
    greedy = "greedy"


class DocsWhere(str, Enum):
    auto = "auto"
    late = "late"
    full = "full"
    signatures = "signatures"
    schemas = "schemas"


class OnCap(str, Enum):
    complete = "complete"
    stop = "stop"


class Constraint(str, Enum):
    mask = "mask"
    gbnf = "gbnf"


Model = Annotated[
    str, typer.Option("--model", "-m", help="A name from `toolroute models list`, or the path of a GGUF file.", envvar="TOOLROUTE_MODEL")
]
Tools = Annotated[Path, typer.Option("--tools", "-T", help="JSON file with the tools (OpenAI, MCP, Anthropic or bare declarations).")]


@app.command()
def route(
    tools: Tools,
    request: Annotated[str | None, typer.Argument(help="The request; - or nothing reads it from stdin.", show_default=False)] = None,
    model: Model = DEFAULT_MODEL,
    cap: Annotated[int, typer.Option(min=1, help="Most tokens of the reply, forced ones included.")] = 256,
    style: Annotated[Style, typer.Option(help="JSON with or without blanks.")] = Style.spaced,
    tool_choice: Annotated[str, typer.Option("--tool-choice", help="auto, required (a tool), none, or a tool's name.")] = "auto",
    decide: Annotated[DecideBy, typer.Option(help="Score whole names, or write the name token by token.")] = DecideBy.score,
    docs: Annotated[DocsWhere, typer.Option(help="Where parameter documentation stands in the prompt.")] = DocsWhere.late,
    on_cap: Annotated[OnCap, typer.Option("--on-cap", help="At the cap: close the reply within it, or cut it there.")] = OnCap.complete,
    constraint: Annotated[Constraint, typer.Option(help="The mask, or llama.cpp's grammar sampler as well.")] = Constraint.mask,
    terminal: Terminal = None,
    on_error: Drop = OnError.raise_,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 is greedy.")] = 0.0,
    top_k: Annotated[int, typer.Option(min=0, help="0 is off.")] = 0,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0, help="1 is off.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of sampled arguments.")] = 0,
    n_ctx: Annotated[int | None, typer.Option("--n-ctx", min=1, help="Context in tokens. [default: as needed]", show_default=False)] = None,
    n_threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads of the model.", show_default=False)] = None,
    n_gpu_layers: Annotated[int, typer.Option("--gpu-layers", help="Layers on the GPU; -1 is all.")] = 0,
    explain_it: Annotated[bool, typer.Option("--explain", help="Show the reply token by token and all scores, on stderr.")] = False,
    as_json: AsJson = False,
) -> None:
    """Route one request and print the action."""
    with reported():
        text = read_request(request)
        catalogue = Catalogue.from_file(tools, on_error=on_error.value)
        for error in catalogue.dropped:
            say(f"dropped: {error}")
        # The route is compiled before the model is loaded: a bad catalogue is found at once.
        compile_route(catalogue, terminal or ("none",), style.value)
        with warnings.catch_warnings(), LlamaEngine.load(model, n_ctx=n_ctx, n_threads=n_threads, n_gpu_layers=n_gpu_layers) as engine:
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
            router = Router(
                engine, catalogue, cap, terminals=terminal or ("none",), style=style.value, decide=decide.value, docs=docs.value,
                on_cap=on_cap.value, constraint=constraint.value, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
            )  # fmt: skip
            action = router.route(text, tool_choice=tool_choice, detail=explain_it)
        if as_json:
            write_json(action.to_dict())
        else:
            write_json_text(action.text)
        if explain_it:
            explain(action)
    if not action.complete:
        say(f"the reply was cut by the cap of {cap} tokens: do not execute it")
        raise typer.Exit(CUT)


@app.command()
def demo(
    model: Model = DEFAULT_MODEL,
    as_json: AsJson = False,
) -> None:
    """Route a handful of example requests and show what happened, right or wrong."""
    with reported():
        demo_module.run(model, as_json)


@app.callback(invoke_without_command=True)
def _version(show: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    if show:
        from .. import __version__

        typer.echo(f"toolroute {__version__}")
        raise typer.Exit()


def main() -> None:
    """The console script."""
    app()
