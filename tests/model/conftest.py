"""Real weights, once per session. A test here is skipped, and says so, only where the model cannot be fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from toolroute.engine import LlamaEngine, resolve_model
from toolroute.errors import DownloadError

DEFAULT = "smollm2-135m"


@pytest.fixture(scope="session")
def default_model() -> Path:
    try:
        return resolve_model(DEFAULT)
    except DownloadError as error:
        pytest.skip(f"the model cannot be fetched: {error}")


@pytest.fixture(scope="session")
def engine(default_model: Path) -> Iterator[LlamaEngine]:
    with LlamaEngine.load(DEFAULT) as loaded:
        yield loaded
