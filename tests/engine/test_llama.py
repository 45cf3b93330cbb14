"""LlamaEngine on a tiny random model: history, cutting back, scoring, limits, failures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_gguf import BOS, EOS, IM_END, LONG, TEMPLATE, THINK, UNUSED, write_tiny

from toolroute.engine import Engine, LlamaEngine, load_vocabulary
from toolroute.engine import model as model_module
from toolroute.errors import Aborted, EngineError, ModelError

Load = Callable[..., LlamaEngine]


def log_softmax(row: np.ndarray) -> np.ndarray:
    row = row.astype(np.float64)
    return row - row.max() - np.log(np.exp(row - row.max()).sum())


def test_facts(load: Load, tiny: Path) -> None:
    engine: Engine = load()
    assert (engine.name, engine.n_ctx, engine.n_ctx_train, engine.n_batch, engine.n_seq_max) == ("tiny", 1024, 1024, 512, 8)
    assert (engine.bos, engine.add_bos, engine.bos_text, engine.eos_text) == (BOS, True, "<s>", "</s>")
    assert engine.chat_template == TEMPLATE
    assert engine.tokens == () and engine.steps == 0
    assert len(engine.model_hash) == 64 and engine.model_hash == engine.model_hash
    assert engine.settings["use_extra_bufts"] is False and engine.settings["flash_attn"] is False
    assert load(write_tiny(tiny.parent / "plain.gguf", template=None)).chat_template is None


def test_vocabulary(load: Load, tiny: Path) -> None:
    vocabulary = load_vocabulary(tiny)
    assert vocabulary.pieces == load().vocabulary.pieces
    assert vocabulary.eog == {EOS, IM_END}
    assert [i for i, piece in enumerate(vocabulary.pieces) if not piece] == [0, BOS, EOS, 3, IM_END, UNUSED]
    assert vocabulary.pieces[THINK] == b"<think>"
    assert vocabulary.pieces[7 + 0xFF] == b"\xff"
    assert vocabulary.pieces[-1] == LONG.encode()


def test_tokenize(load: Load) -> None:
    engine = load()
    pieces = engine.vocabulary.pieces
    for text in ("get the weather", " x", "x  ", "<|im_end|>", "é\n\0", "</s>"):
        tokens = engine.tokenize(text)
        assert b"".join(pieces[token] for token in tokens) == text.encode()
        assert not {BOS, EOS, IM_END} & set(tokens)
    assert engine.tokenize("") == []
    assert engine.tokenize(b"\xff\xc3") == [7 + 0xFF, 7 + 0xC3]
    assert engine.tokenize("a\ud800") == engine.tokenize("a?")
    assert engine.tokenize("<|im_end|>", special=True) == [IM_END]


def test_evaluate_appends(load: Load) -> None:
    engine = load()
    tokens = engine.tokenize("get the weather time")
    row = engine.evaluate(tokens)
    assert row.dtype == np.float32 and row.shape == (engine.vocabulary.size,) and np.isfinite(row).all()
    whole = row.copy()
    assert engine.tokens == tuple(tokens) and engine.steps == 1
    other = load()
    for token in tokens:
        single = other.evaluate([token])
    np.testing.assert_allclose(single, whole, atol=1e-3)
    assert other.steps == len(tokens)


def test_chunks_of_n_batch(load: Load) -> None:
    tokens = [264 + i % 26 for i in range(50)]
    whole = load().evaluate(tokens).copy()
    engine = load(n_batch=16)
    np.testing.assert_allclose(engine.evaluate(tokens), whole, atol=1e-3)
    assert engine.steps == 4 and engine.n_batch == 16


def test_reuse_and_truncate(load: Load) -> None:
    engine = load()
    tokens = engine.tokenize("get the weather time")
    first = engine.evaluate(tokens).copy()
    assert engine.reuse([*tokens, 300, 301]) == len(tokens)
    assert engine.reuse(tokens) == len(tokens) - 1
    np.testing.assert_array_equal(engine.evaluate(tokens[-1:]), load_row(load, tokens))
    assert engine.reuse([*tokens[:2], 300, 301]) == 2 and engine.tokens == tuple(tokens[:2])
    np.testing.assert_allclose(engine.evaluate(tokens[2:]), first, atol=1e-3)
    engine.truncate(len(tokens))
    engine.truncate(3)
    assert engine.tokens == tuple(tokens[:3])
    engine.truncate(99)
    assert len(engine.tokens) == 3
    assert engine.reuse([300]) == 0 and engine.tokens == ()
    assert engine.reuse([]) == 0
    engine.evaluate(tokens)
    engine.truncate(0)
    assert engine.tokens == ()
    np.testing.assert_array_equal(engine.evaluate(tokens), first)
    with pytest.raises(EngineError, match="-1"):
        engine.truncate(-1)


def load_row(load: Load, tokens: list[int]) -> np.ndarray:
    """The row after `tokens`, evaluated with the last token alone."""
    engine = load()
    engine.evaluate(tokens[:-1])
    return engine.evaluate(tokens[-1:]).copy()


def sequential(engine: LlamaEngine, branch: list[int], first: np.ndarray) -> np.ndarray:
    start, row, found = len(engine.tokens), first, []
    for index, token in enumerate(branch):
        found.append(log_softmax(row)[token])
        if index + 1 < len(branch):
            row = engine.evaluate([token])
    engine.truncate(start)
    return np.array(found)


BRANCHES = ("get_weather", "get_time", "the", "x", "get_wea", "", "time", "weather the", "get_weather", "get_weather in Oslo")


@pytest.mark.parametrize("options", [{}, {"n_batch": 4}, {"n_seq_max": 2}, {"n_seq_max": 3, "n_batch": 8}])
def test_score_equals_sequential(load: Load, options: dict[str, int]) -> None:
    engine = load(**options)
    prompt = engine.tokenize("the time ")
    first = engine.evaluate(prompt).copy()
    branches = [engine.tokenize(text) for text in BRANCHES]
    steps = engine.steps
    found = engine.score(branches, first)
    assert engine.tokens == tuple(prompt)
    if not options:
        assert engine.steps == steps + 1
    assert [values.dtype for values in found] == [np.float64] * len(branches)
    for branch, values in zip(branches, found, strict=True):
        np.testing.assert_allclose(values, sequential(engine, branch, first), atol=2e-3)
    np.testing.assert_array_equal(found[0], found[8])
    assert engine.reuse([*prompt, 300]) == len(prompt)


def test_score_takes_the_live_row(load: Load) -> None:
    engine = load()
    row = engine.evaluate(engine.tokenize("the time "))
    copy = row.copy()
    branches = [engine.tokenize(text) for text in BRANCHES]
    live = engine.score(branches, row)
    for left, right in zip(live, engine.score(branches, copy), strict=True):
        np.testing.assert_array_equal(left, right)


def test_score_without_steps(load: Load) -> None:
    engine = load()
    first = engine.evaluate([300]).copy()
    steps = engine.steps
    single, empty = engine.score([[264], []], first)
    assert engine.steps == steps and empty.shape == (0,)
    assert single == pytest.approx([log_softmax(first)[264]])
    assert engine.score([], first) == []


def test_score_grows_the_context_or_says_it_is_full(load: Load) -> None:
    grown, fixed = load(), load(n_ctx=256)
    for engine in (grown, fixed):
        first = engine.evaluate([300] * 250).copy()
        branches = [[264 + i, 265, 266, 267] for i in range(7)]
        found = engine.score(branches, first)  # in parts where only 6 cells are free
        np.testing.assert_allclose(found[3], sequential(engine, branches[3], first), atol=2e-3)
        assert len(engine.tokens) == 250
    with pytest.raises(EngineError, match="6 free") as caught:
        fixed.score([[264] * 9], first)
    assert caught.value.code == 1 and len(fixed.tokens) == 250
    with pytest.raises(EngineError, match="shape"):
        fixed.score([[264, 265]], first[:10])


def test_wrong_ids_never_reach_llama(load: Load) -> None:
    engine = load()
    first = engine.evaluate([300]).copy()
    for wrong in (-1, engine.vocabulary.size, 1 << 40):
        with pytest.raises(EngineError, match=f"token {wrong} "):
            engine.evaluate([300, wrong])
        with pytest.raises(EngineError, match=f"token {wrong} "):
            engine.score([[300, wrong, 300]], first)
    with pytest.raises(EngineError, match="no token"):
        engine.evaluate([])
    assert engine.tokens == (300,) and engine.steps == 1


def test_context_full(load: Load) -> None:
    engine = load(n_ctx=256)
    engine.evaluate([300] * 250)
    with pytest.raises(EngineError, match=r"250 \+ 7 do not fit") as caught:
        engine.evaluate([301] * 7)
    assert caught.value.code == 1 and len(engine.tokens) == 250
    engine.evaluate([301] * 6)
    assert engine.reserve(300) == 256


def test_reserve_keeps_the_history(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolroute.engine.llama.FIRST_CONTEXT", 256)
    engine = load()
    tokens = engine.tokenize("get the weather time")
    engine.evaluate(tokens)
    steps = engine.steps
    assert engine.n_ctx == 256 and engine.reserve(200) == 256
    assert engine.reserve(257) == 512 and engine.n_ctx == 512
    assert engine.tokens == tuple(tokens) and engine.steps == steps
    assert engine.reuse(tokens) == len(tokens) - 1
    np.testing.assert_array_equal(engine.evaluate(tokens[-1:]), load_row(load, tokens))
    assert engine.reserve(1 << 20) == 1024


def test_reserve_stops_at_memory(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolroute.engine.llama.FIRST_CONTEXT", 256)
    engine = load()
    monkeypatch.setattr("toolroute.engine.capacity.available_memory", lambda: 0)
    assert engine.reserve(1024) == 256
    monkeypatch.setattr("toolroute.engine.capacity.available_memory", lambda: None)
    assert engine.reserve(1024) == 1024


def test_reserve_falls_back_when_the_context_cannot_be_made(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolroute.engine import llama

    monkeypatch.setattr(llama, "FIRST_CONTEXT", 256)
    engine = load()
    tokens = engine.tokenize("get the weather")
    engine.evaluate(tokens)
    real = llama.Context

    def refusing(lib: object, handle: object, shape: llama.Shape, n_ctx: int) -> llama.Context:
        if n_ctx > 256:
            raise EngineError("no memory")
        return real(lib, handle, shape, n_ctx)

    monkeypatch.setattr(llama, "Context", refusing)
    assert engine.reserve(1024) == 256 and engine.tokens == tuple(tokens)
    engine.evaluate([300])


def test_abort(load: Load) -> None:
    asked = []

    def stop() -> bool:
        asked.append(1)
        return True

    engine = load(n_batch=8)
    tokens = [264 + i % 26 for i in range(30)]
    expected = engine.evaluate(tokens).copy()
    engine.truncate(0)
    engine.evaluate(tokens[:5])
    engine.abort = stop
    with pytest.raises(Aborted):
        engine.evaluate(tokens[5:])
    assert asked and engine.tokens == tuple(tokens[: len(engine.tokens)])
    engine.abort = lambda: len(asked) < 0
    kept = engine.reuse(tokens)
    np.testing.assert_allclose(engine.evaluate(tokens[kept:]), expected, atol=1e-3)


def test_abort_inside_a_step(load: Load) -> None:
    engine = load()
    first = engine.evaluate([300, 301]).copy()
    calls = []

    def late() -> bool:
        calls.append(1)
        return len(calls) > 1  # not before the step, but in it

    engine.abort = late
    with pytest.raises(Aborted):
        engine.evaluate([302] * 20)
    assert engine.tokens[:2] == (300, 301) and len(calls) > 1
    with pytest.raises(Aborted):
        engine.score([[302, 303]], first)
    engine.abort = None
    assert engine.reuse([300, 301, 5]) == 2
    engine.evaluate([303])


def test_an_exception_in_abort_is_raised(load: Load) -> None:
    engine = load()
    engine.evaluate([300])
    calls = []

    def broken() -> bool:
        calls.append(1)
        if len(calls) > 1:
            raise KeyError("broken callback")
        return False

    engine.abort = broken
    with pytest.raises(KeyError, match="broken callback"):
        engine.evaluate([301, 302])
    engine.abort = None
    assert engine.tokens == (300,)
    engine.evaluate([301])


def test_determinism(load: Load) -> None:
    rows = []
    for _ in range(2):
        engine = load()
        engine.evaluate([300, 301, 302])
        engine.truncate(1)
        rows.append(engine.evaluate([303, 304]).copy())
    np.testing.assert_array_equal(*rows)


def test_closed(load: Load) -> None:
    with load() as engine:
        engine.evaluate([300])
    engine.close()
    assert engine.steps == 1
    for call in (lambda: engine.evaluate([300]), lambda: engine.tokenize("x"), lambda: engine.reserve(9), lambda: engine.n_ctx,
                 lambda: engine.reuse([1]), lambda: engine.truncate(0)):  # fmt: skip
        with pytest.raises(EngineError, match="closed"):
            call()


def test_two_threads_wait_for_each_other(load: Load) -> None:
    engine = load(n_batch=4)
    errors: list[BaseException] = []

    def work(token: int) -> None:
        try:
            for _ in range(20):
                engine.evaluate([token] * 9)
                engine.truncate(0)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(token,)) for token in (300, 301)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and engine.tokens == ()


def test_recurrent(load: Load, tiny_mamba: Path) -> None:
    engine = load(tiny_mamba)
    tokens = engine.tokenize("get the weather")
    first = engine.evaluate(tokens).copy()
    branches = [engine.tokenize(text) for text in BRANCHES]
    found = engine.score(branches, first)
    assert engine.tokens == tuple(tokens)
    for branch, values in zip(branches, found, strict=True):
        row = first
        for index, token in enumerate(branch):
            assert values[index] == pytest.approx(log_softmax(row)[token], abs=2e-3)
            if index + 1 < len(branch):
                row = engine.evaluate([token])
        assert engine.reuse(tokens) == 0  # nothing to cut to
        engine.evaluate(tokens)
    assert engine.reuse([*tokens, 300]) == len(tokens)
    with pytest.raises(EngineError, match="cannot go back"):
        engine.truncate(2)
    assert engine.tokens == tuple(tokens)
    engine.evaluate([300])
    engine.truncate(0)
    np.testing.assert_array_equal(engine.evaluate(tokens), first)
    assert engine.reserve(2000) == 1024 and engine.tokens == tuple(tokens)


def test_unusable_files(load: Load, tiny: Path, tmp_path: Path) -> None:
    data = tiny.read_bytes()
    for name, content, reason in (
        ("empty", b"", "empty"),
        ("junk", b"hello, world" * 100, "not a GGUF file"),
        ("short", data[: len(data) // 2], "cannot be loaded"),
        ("head", data[:200], "cannot be loaded"),
        ("magic", b"GGUF", "cannot be loaded"),
    ):
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(content)
        for attempt in (load, load_vocabulary):
            if name == "short" and attempt is load_vocabulary:
                continue  # the vocabulary of a file cut in its weights is whole
            with pytest.raises(ModelError, match=reason) as caught:
                attempt(path)
            assert caught.value.model == str(path) and "gave no reason" not in str(caught.value)
    with pytest.raises(ModelError, match="no such file"):
        load(tmp_path / "missing.gguf")
    with pytest.raises(ModelError, match="directory"):
        load(tmp_path)


def test_the_gpu_is_asked_for_in_vain(load: Load) -> None:
    from toolroute.engine.llama import library

    if library().llama_supports_gpu_offload():
        pytest.skip("this build can use a GPU")
    with pytest.raises(EngineError, match="CMAKE_ARGS"):
        load(n_gpu_layers=-1)


@pytest.mark.parametrize("wrong", [{"n_batch": 0}, {"n_ctx": 0}, {"n_threads": -1}, {"n_seq_max": 100000}, {"tensor_split": [0.5] * 999}])
def test_wrong_options(load: Load, wrong: dict[str, int]) -> None:
    with pytest.raises(EngineError, match=next(iter(wrong))):
        load(**wrong)


def test_options_reach_llama(load: Load) -> None:
    engine = load(n_ctx=300, n_batch=32, flash_attn=True, main_gpu=0, split_mode=1, offload_kqv=False, op_offload=False, n_seq_max=1)
    assert engine.n_ctx == 512 and engine.settings["flash_attn"] is True
    first = engine.evaluate([300] * 100).copy()
    assert engine.score([[264]], first)[0].shape == (1,)
    with pytest.raises(EngineError, match="0 sequences"):
        engine.score([[264, 265]], first)


def test_silent(load: Load, capfd: pytest.CaptureFixture[str]) -> None:
    load().evaluate([300])
    assert capfd.readouterr() == ("", "")
    load(verbose=True)
    model_module.LOG.verbose = False
    assert "tiny" in capfd.readouterr().err


def test_without_llama_cpp(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    import sys

    from toolroute.engine import llama

    monkeypatch.setitem(sys.modules, "llama_cpp.llama_cpp", None)
    llama.library.cache_clear()
    try:
        with pytest.raises(EngineError, match="not installed"):
            LlamaEngine.load(tiny)
    finally:
        monkeypatch.undo()
        llama.library.cache_clear()
