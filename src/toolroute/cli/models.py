"""``toolroute models``: which models this project knows, where they are, and how to get one.

Exit codes: 0 done, 2 wrong usage, 3 any `RouteError` (one line on stderr).
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from toolroute.cli.common import reported
from toolroute.engine.fetch import get_model
from toolroute.engine.models import KnownModel, known_models, resolve_model

app = typer.Typer(name="models", help="List, fetch and find models.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Name = Annotated[str, typer.Argument(help="A name from the list, or a path to a GGUF file.")]


@app.command("list")
def list_models(as_json: Json = False) -> None:
    """Show the known models."""
    with reported():
        models = known_models().values()
        if as_json:
            typer.echo(json.dumps([_facts(model) for model in models], indent=2))
            return
        width = max((len(model.name) for model in models), default=0)
        for model in models:
            size = f"{model.size / 1e6:>5.0f} MB" if model.size is not None else "        "
            typer.echo(f"{'*' if model.present else ' '} {model.name:<{width}}  {size}  {model.licence}: {model.note}")
        typer.echo("(* is here)")


@app.command("get")
def get(name: Name, as_json: Json = False) -> None:
    """Fetch a model into the cache, and print where it is."""
    with reported():
        known = known_models()
        path = get_model(known[name]) if name in known else resolve_model(name, download=False)
        typer.echo(json.dumps({"name": name, "path": str(path)}) if as_json else str(path))


@app.command("path")
def path_of(name: Name, as_json: Json = False) -> None:
    """Print where a model is; fails if it is not here."""
    with reported():
        path = resolve_model(name, download=False)
        typer.echo(json.dumps({"name": name, "path": str(path)}) if as_json else str(path))


def _facts(model: KnownModel) -> dict[str, object]:
    return {
        "name": model.name,
        "source": model.kind,
        "parts": [what for what, _ in model.parts],
        "files": list(model.files),
        "sha256": model.sha256,
        "bytes": model.size,
        "licence": model.licence,
        "note": model.note,
        "path": str(model.path),
        "present": model.present,
    }
