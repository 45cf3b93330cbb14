"""The command line as a newcomer meets it: no model, bad input, narrow consoles, pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "pattern": "(?<!x)^[A-Z]"}}, "required": ["city"]},
    },
}
BROKEN = {"name": "broken", "parameters": {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[a-z"}}}}
FAILED, USAGE = 3, 2


def run(*arguments: str, text: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    data = text.encode() if isinstance(text, str) else text
    env = {**os.environ, "TERM": "dumb", "COLUMNS": "200", **environment}
    return subprocess.run([sys.executable, "-m", "toolroute", *arguments], input=data, capture_output=True, env=env, timeout=60)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([WEATHER]))
    return path


def failed_with_one_line(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.returncode == FAILED
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in lines[0]
    return lines[0]


def test_help_names_the_exit_codes_and_commands() -> None:
    done = run("--help")
    assert done.returncode == 0
    for word in ("route", "compile", "models", "demo", "Exit codes"):
        assert word in done.stdout.decode()


def test_schema_is_the_route_schema(tools: Path) -> None:
    done = run("compile", "--tools", str(tools), "--format", "schema", "--json")
    schema = json.loads(done.stdout)
    assert [alternative["properties"]["tool"]["const"] for alternative in schema["anyOf"]] == ["get_weather", "none"]


def test_report_says_what_is_checked_after(tools: Path) -> None:
    report = json.loads(run("compile", "--tools", str(tools), "--json").stdout)
    assert report["exact"] is False
    after = [entry for entry in report["assertions"] if entry["status"] == "after"]
    assert [(entry["tool"], entry["pointer"], entry["keyword"]) for entry in after] == [
        ("get_weather", "/properties/city/pattern", "pattern")
    ]
    assert b"/properties/city/pattern" in run("compile", "--tools", str(tools)).stdout


def test_any_schema_compiles(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "integer", "minimum": 3}')
    assert json.loads(run("compile", "--schema", str(path), "--json").stdout)["exact"] is True


def test_a_bad_tool_is_named_with_place_and_keyword(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "ok"}, BROKEN]))
    for command in (["compile"], ["route", "hello"]):
        line = failed_with_one_line(run(command[0], "--tools", str(path), *command[1:]))
        for part in ("tool 1", "'broken'", "/properties/id/pattern"):
            assert part in line
    dropped = json.loads(run("compile", "--tools", str(path), "--on-error", "drop", "--json").stdout)["dropped"]
    assert len(dropped) == 1
    assert "broken" in dropped[0]


@pytest.mark.parametrize("text", ["\ufeff[]", "[]\r\n", '{"tools":[]}', '{"result":{"tools":[]}}'])
def test_catalogue_files_of_every_accepted_form(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(text.encode())
    assert run("compile", "--tools", str(path), "--format", "schema").returncode == 0


@pytest.mark.parametrize(
    ("text", "parts"), [("not json", ("line 1", "column 1")), ('[{"type":"function"}]', ("tool 0",)), ("3", ("tools",))]
)
def test_catalogue_files_that_are_refused(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    path = tmp_path / "tools.json"
    path.write_text(text)
    line = failed_with_one_line(run("compile", "--tools", str(path)))
    assert all(part in line for part in parts), line


def test_missing_files_and_models_are_one_line(tools: Path, tmp_path: Path) -> None:
    assert "nowhere.json" in failed_with_one_line(run("compile", "--tools", str(tmp_path / "nowhere.json")))
    assert "nosuchmodel" in failed_with_one_line(run("route", "--tools", str(tools), "-m", "nosuchmodel", "hello"))
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"not a model")
    assert "junk.gguf" in failed_with_one_line(run("route", "--tools", str(tools), "-m", str(junk), "hello"))


def test_wrong_usage_is_exit_code_2(tools: Path) -> None:
    assert run("route", "--tools", str(tools), "--cap", "0", "hello").returncode == USAGE
    assert run("route", "hello").returncode == USAGE
    assert run("nonsense").returncode == USAGE


def test_an_empty_request_is_refused(tools: Path) -> None:
    assert "empty" in failed_with_one_line(run("route", "--tools", str(tools), "-", text=" \n"))


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_narrow_console_gets_the_same_json(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "say", "description": "日本 🎉"}]), encoding="utf-8")
    done = run("compile", "--tools", str(path), "--format", "schema", "--json", PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode(encoding))["anyOf"][0]["description"] == "日本 🎉"


def test_compiling_needs_no_llama_cpp(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "llama_cpp").mkdir()
    (tmp_path / "llama_cpp" / "__init__.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert run("compile", "--tools", str(tools), "--format", "schema", PYTHONPATH=path).returncode == 0
    junk = tmp_path / "model.gguf"
    junk.write_bytes(b"GGUF")
    line = failed_with_one_line(run("route", "--tools", str(tools), "-m", str(junk), "hello", PYTHONPATH=path))
    assert "llama" in line
