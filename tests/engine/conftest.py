"""Tiny random models for the engine's tests, written once per session, and a cache directory of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny_gguf import write_tiny

from toolroute.engine import LlamaEngine


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing of these tests is kept in the user's cache, and nothing is found there."""
    monkeypatch.setenv("TOOLROUTE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An attention model of 365 tokens, trained context 1024."""
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny_mamba(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recurrent model, which cannot roll back."""
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    return write_tiny(tmp_path_factory.mktemp("tiny") / "mamba.gguf", architecture="mamba")


Load = Callable[..., LlamaEngine]


@pytest.fixture
def load(tiny: Path) -> Iterator[Load]:
    """Load the tiny model (or the given path) with quick settings; all engines are closed at the end."""
    engines: list[LlamaEngine] = []

    def make(path: Path = tiny, **options: object) -> LlamaEngine:
        settings: dict[str, object] = {"use_extra_bufts": False, "n_threads": 1, "n_seq_max": 8, **options}
        engines.append(LlamaEngine.load(path, **settings))  # type: ignore[arg-type]
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()
