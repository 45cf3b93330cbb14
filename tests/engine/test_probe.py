"""The extra-buffer probe: children that live, crash, hang or fail, and what is remembered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toolroute.engine.probe import Build, extra_bufts_work

BUILD = Build("1.2.3", __file__, "AVX2 = 1")


def child(code: str) -> list[str]:
    return [sys.executable, "-c", code]


CRASH = child("import os, signal; os._exit(3221225477) if os.name == 'nt' else os.kill(os.getpid(), signal.SIGSEGV)")
FINE = child("pass")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


def test_remembers_a_success_and_a_crash(model: Path, tmp_path: Path, own_cache: Path) -> None:
    assert extra_bufts_work(model, BUILD, command=FINE)
    assert extra_bufts_work(model, BUILD, command=CRASH)  # remembered, not asked
    other = Build("1.2.4", __file__, "AVX2 = 1")
    assert not extra_bufts_work(model, other, command=CRASH)
    assert not extra_bufts_work(model, other, command=FINE)
    bigger = tmp_path / "bigger.gguf"
    bigger.write_bytes(b"GGUF" + bytes(101))
    assert not extra_bufts_work(bigger, BUILD, command=CRASH)
    assert not list(tmp_path.glob("**/core*"))


def test_a_hanging_child_counts_as_broken(model: Path) -> None:
    assert not extra_bufts_work(model, BUILD, command=child("import time; time.sleep(60)"), timeout=0.5)
    assert not extra_bufts_work(model, BUILD, command=FINE)


def test_a_failing_child_is_asked_again(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert not extra_bufts_work(model, BUILD, command=child("import sys; print('noise', file=sys.stderr); sys.exit(1)"))
    assert not extra_bufts_work(model, BUILD, command=["/no/such/program"])
    assert extra_bufts_work(model, BUILD, command=FINE)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"\xff\xfe", b'{"x": 1}'])
def test_a_corrupt_cache_is_an_empty_one(model: Path, own_cache: Path, junk: bytes) -> None:
    own_cache.mkdir()
    (own_cache / "probe.json").write_bytes(junk)
    assert not extra_bufts_work(model, BUILD, command=CRASH)
    assert not extra_bufts_work(model, BUILD, command=FINE)


def test_a_cache_that_cannot_be_written(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLROUTE_CACHE", str(model))  # a file, not a directory
    assert extra_bufts_work(model, BUILD, command=FINE)
    assert not extra_bufts_work(model, BUILD, command=CRASH)


def test_the_real_child(tiny: Path, own_cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever the answer is here, it comes, silently, and an engine loaded by it runs."""
    from toolroute.engine import LlamaEngine

    with LlamaEngine.load(tiny, n_threads=1) as engine:
        engine.evaluate([300] * 40)
        works = engine.settings["use_extra_bufts"]
    assert isinstance(works, bool)
    assert (own_cache / "probe.json").is_file()
    assert capfd.readouterr() == ("", "")
