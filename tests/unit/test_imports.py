"""Imports run downwards only, and the model library is imported in two places only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolroute

PACKAGE = Path(toolroute.__file__).parent
ORDER = (
    {"errors"}, {"catalogue", "grammar", "vocab"}, {"route"}, {"schema"}, {"mask"}, {"engine"}, {"action", "prompts"}, {"router"},
    {"agent", "select"}, {"serve"}, {"cli"}, {"__init__", "__main__"},
)  # fmt: skip
"""Bottom to top; what stands together does not import one another. The outer faces are two steps: the command
line starts the server."""
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
FACES = ("serve", "cli", "__init__", "__main__")
"""What may use the package's own door."""
LLAMA = {"engine/llama.py", "engine/probe.py"}


def imported(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and absolute name of every import (also ``import_module`` with a literal name) in a module of ``package``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{stem}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__"):
                yield node.lineno, node.args[0].value


def faults(path: str, source: str) -> list[str]:
    """What is wrong with the imports of the module at ``path`` (relative to the package)."""
    parts = path.removesuffix(".py").split("/")
    own, package = parts[0], ".".join(["toolroute", *parts[:-1]])
    if own not in LEVEL:
        return [f"{path}: {own} has no place in the order"]
    found = []
    for line, name in imported(source, package):
        first, _, rest = name.partition(".")
        if first == "llama_cpp" and path not in LLAMA:
            found.append(f"{path}:{line} imports llama_cpp")
        target = rest.split(".")[0]
        if first == "toolroute" and target != own:
            if target not in LEVEL:
                if own not in FACES:
                    found.append(f"{path}:{line} imports the package's own door")
            elif LEVEL[target] >= LEVEL[own]:
                found.append(f"{path}:{line} imports {target}, which does not stand below {own}")
    return found


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", [str(path.relative_to(PACKAGE)) for path in modules()])
def test_imports_run_downwards(path: str) -> None:
    assert faults(path, (PACKAGE / path).read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source", "fault"),
    [
        ("grammar/expr.py", "from ..vocab import Vocabulary", "imports vocab"),
        ("vocab/vocabulary.py", "from toolroute.grammar.expr import State", "imports grammar"),
        ("catalogue/tool.py", "from .. import route", "imports route"),
        ("errors.py", "def f():\n    from .mask import Matcher", "errors.py:2 imports mask"),
        ("mask/table.py", "import toolroute.engine.decode", "imports engine"),
        ("engine/decode.py", "from toolroute import Router", "own door"),
        ("engine/model.py", "import llama_cpp", "imports llama_cpp"),
        ("serve/app.py", "import importlib\nimportlib.import_module('llama_cpp.llama_cpp')", "serve/app.py:2 imports llama_cpp"),
        ("agent/loop.py", "from ..select import Strategy", "imports select"),
        ("helpers.py", "", "no place in the order"),
    ],
)
def test_the_check_sees_a_bad_import(path: str, source: str, fault: str) -> None:
    assert any(fault in found for found in faults(path, source))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "schema/lower.py",
            "from ..grammar.expr import Node\nfrom ..errors import SchemaError\nfrom .check import admits\nfrom . import report",
        ),
        ("cli/main.py", "from ..serve import app\nimport numpy as np\nfrom toolroute.router import Router"),
        ("engine/llama.py", "import llama_cpp.llama_cpp"),
        ("__init__.py", "from .router import Router"),
    ],
)
def test_the_check_lets_good_imports_pass(path: str, source: str) -> None:
    assert faults(path, source) == []


def test_jsonschema_is_imported_where_schemas_and_arguments_are_checked() -> None:
    users = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        for _, name in imported(path.read_text("utf-8"), "toolroute.x")
        if name.split(".")[0] == "jsonschema"
    }
    assert users <= {"schema/check.py", "route/dialects.py", "route/validate.py"}
