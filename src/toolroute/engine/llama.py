"""Models run by llama.cpp, in this process.

Theory: own the loop on llama.cpp's low-level API. The history lives in sequence 0 of one context and in a Python list beside it; the
list is the truth that llama.cpp's memory is checked against, and after any failed step it is cut to what the memory really holds,
so that the engine stays usable. Every id and size is checked in Python first, because a wrong one aborts the process.

What it costs: 0.1 ms per step over the model itself. Results are the same bytes for the same schedule of calls; other batch sizes
give slightly other logits (1 part in 100), as everywhere in llama.cpp.

`llama_cpp` is imported on first use, so that everything else works without it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from toolroute.engine import capacity, pieces, probe
from toolroute.engine.cache import cached_sha256
from toolroute.engine.context import Context, Shape
from toolroute.engine.gbnf import Grammar
from toolroute.engine.model import LOG, Model, Placement
from toolroute.engine.models import resolve_model
from toolroute.engine.protocol import Logits
from toolroute.engine.scoring import log_normaliser, plan
from toolroute.errors import Aborted, EngineError
from toolroute.vocab import Vocabulary

FIRST_CONTEXT = 2048
"""Tokens of the context that `LlamaEngine.load` makes when no size is given; `reserve` makes a larger one."""

UBATCH = 512
"""Most tokens computed at once inside a step (llama.cpp's own default)."""

SPIN_COUNT = "1000"
"""How long (in rounds, about 20 µs in all) a thread of the OpenMP runtime waits busily for the others before it sleeps. The runtime's
own 300,000 make each step 100 times slower when any other process wants a core; 1,000 cost nothing on an idle machine."""

_PAD = 256


@functools.cache
def library() -> Any:
    """The C functions of llama.cpp (the module `llama_cpp.llama_cpp`), set up once."""
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else ggml starts a debugger when it aborts
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    try:
        lib = importlib.import_module("llama_cpp.llama_cpp")
    except ModuleNotFoundError as error:
        raise EngineError("llama-cpp-python is not installed: pip install 'toolroute[llama]'") from error
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise EngineError(f"llama-cpp-python cannot be loaded: {error}") from error
    LOG.install(lib)
    lib.llama_backend_init()
    return lib


def build() -> probe.Build:
    """Which build of llama.cpp this is."""
    lib = library()
    version = str(importlib.import_module("llama_cpp").__version__)
    return probe.Build(version=version, library=str(lib._lib._name), features=lib.llama_print_system_info().decode("utf-8", "replace"))


def load_vocabulary(name_or_path: str | os.PathLike[str]) -> Vocabulary:
    """The vocabulary of a model, without loading its weights."""
    path = resolve_model(name_or_path)
    model = Model(library(), path, vocab_only=True)
    try:
        return pieces.read_vocabulary(model.lib, model.vocab)
    finally:
        model.free()


class LlamaEngine:
    """An `Engine` on llama.cpp; make one with `load`. A context manager; `close` frees the memory."""

    def __init__(self, model: Model, shape: Shape, *, name: str, n_ctx: int | None, settings: dict[str, object]) -> None:
        lib = model.lib
        self._model, self._shape, self._name = model, shape, name
        self._lock = threading.RLock()
        self._tokens: list[int] = []
        self._steps = 0
        self._abort: Callable[[], bool] | None = None
        self._fixed = n_ctx is not None
        self._share = self._rolls_back = model.rolls_back
        self._settings = settings
        self.vocabulary = pieces.read_vocabulary(lib, model.vocab)
        if self.vocabulary.size != model.size:
            raise EngineError(f"a row of logits has {model.size} numbers, the vocabulary {self.vocabulary.size} tokens")
        self.n_ctx_train = int(lib.llama_model_n_ctx_train(model.handle))
        bos, eos = int(lib.llama_vocab_bos(model.vocab)), int(lib.llama_vocab_eos(model.vocab))
        self.bos = bos if bos >= 0 else None
        self.add_bos = bool(lib.llama_vocab_get_add_bos(model.vocab)) and bos >= 0
        self.bos_text, self.eos_text = (
            pieces.piece(lib, model.vocab, token).decode("utf-8", "replace") if token >= 0 else "" for token in (bos, eos)
        )
        self.chat_template = model.chat_template
        first = min(FIRST_CONTEXT, self._limit(0)) if n_ctx is None else n_ctx
        self._contexts = [Context(lib, model.handle, shape, first)]
        self._free = weakref.finalize(self, _free, self._contexts, model)

    @classmethod
    def load(
        cls,
        name_or_path: str | os.PathLike[str],
        *,
        n_ctx: int | None = None,
        n_batch: int = 512,
        n_threads: int | None = None,
        n_gpu_layers: int = 0,
        flash_attn: bool | None = None,
        use_extra_bufts: bool | None = None,
        n_seq_max: int = 64,
        main_gpu: int = 0,
        split_mode: int | None = None,
        tensor_split: Sequence[float] | None = None,
        offload_kqv: bool = True,
        op_offload: bool = True,
        verbose: bool = False,
        abort: Callable[[], bool] | None = None,
    ) -> LlamaEngine:
        """Load a model by its name in ``models.txt`` or by path.

        ``n_ctx``: a fixed context; without it the context grows when `reserve` asks. ``n_batch``: tokens of one step. ``n_gpu_layers``:
        layers on the GPU, -1 for all. ``flash_attn``: None is off on a CPU (there it makes short requests behind long prompts 5 times
        slower) and llama.cpp's choice with a GPU. ``use_extra_bufts``: llama.cpp's repacked weights; None tries once, in another
        process, whether they work here (with a GPU: off). ``n_seq_max``: one more than the branches scored at once. ``abort`` is
        asked before each part of a computation, on a CPU, and stops the step by returning True.
        """
        lib = library()
        path = resolve_model(name_or_path)
        threads = capacity.default_threads() if n_threads is None else n_threads
        most = int(lib.llama_max_parallel_sequences())
        for label, value, highest in (
            ("n_batch", n_batch, 1 << 16), ("n_threads", threads, 512), ("n_seq_max", n_seq_max, most), ("n_ctx", n_ctx, 1 << 24)
        ):  # fmt: skip
            if value is not None and not 1 <= value <= highest:
                raise EngineError(f"{label} must be between 1 and {highest}, not {value}")
        LOG.verbose = verbose
        if use_extra_bufts is None:
            use_extra_bufts = not n_gpu_layers and probe.extra_bufts_work(path, build())
        attention = (-1 if n_gpu_layers else 0) if flash_attn is None else int(flash_attn)
        placement = Placement(n_gpu_layers, split_mode, main_gpu, tensor_split, use_extra_bufts)
        model = Model(lib, path, placement)
        try:
            shape = Shape(n_batch, min(n_batch, UBATCH), n_seq_max, threads, attention, offload_kqv, op_offload, model.size)
            facts = build()
            settings: dict[str, object] = {
                "engine": "llama.cpp", "llama_cpp_python": facts.version, "system": facts.features, "model": model.describe(),
                "n_batch": n_batch, "n_ubatch": shape.n_ubatch, "n_seq_max": n_seq_max, "n_threads": threads,
                "n_gpu_layers": n_gpu_layers, "flash_attn": {-1: "auto", 0: False, 1: True}[attention],
                "use_extra_bufts": use_extra_bufts, "offload_kqv": offload_kqv, "op_offload": op_offload,
                "spin_count": os.environ.get("GOMP_SPINCOUNT"),
            }  # fmt: skip
            given = str(name_or_path)
            engine = cls(model, shape, name=path.stem if given == str(path) else given, n_ctx=n_ctx, settings=settings)
        except BaseException:
            model.free()
            raise
        engine.abort = abort
        return engine

    # -- what it is ----------------------------------------------------------------------------------------------------------

    @property
    def _context(self) -> Context:
        if not self._contexts:
            raise EngineError("the engine is closed")
        return self._contexts[0]

    @property
    def name(self) -> str:
        return self._name

    @property
    def path(self) -> Path:
        """The model file."""
        return self._model.path

    @property
    def model_hash(self) -> str:
        return cached_sha256(self._model.path)

    @property
    def n_ctx(self) -> int:
        return self._context.n_ctx

    @property
    def n_batch(self) -> int:
        return self._context.n_batch

    @property
    def n_seq_max(self) -> int:
        return self._context.n_seq_max

    @property
    def tokens(self) -> Sequence[int]:
        return tuple(self._tokens)

    @property
    def steps(self) -> int:
        return self._steps + (self._contexts[0].steps if self._contexts else 0)

    @property
    def settings(self) -> dict[str, object]:
        return {**self._settings, "n_ctx": self.n_ctx}

    @property
    def abort(self) -> Callable[[], bool] | None:
        """Asked before each part of a computation; True stops the step with `Aborted`. May be set at any time between calls."""
        return self._abort

    @abort.setter
    def abort(self, abort: Callable[[], bool] | None) -> None:
        with self._lock:
            if abort is not self._abort:
                self._abort = abort
                self._context.set_abort(abort)

    def tokenize(self, text: str | bytes, *, special: bool = False) -> list[int]:
        self._context  # noqa: B018  raises when closed
        return pieces.tokenize(self._model.lib, self._model.vocab, text, special=special)

    def grammar(self, text: str) -> Grammar:
        """llama.cpp's own grammar sampler for one reply. ``text``: GBNF with a rule ``root``. Raises ``EngineError`` for a bad one."""
        self._context  # noqa: B018  raises when closed
        return Grammar(self._model.lib, self._model.vocab, self.vocabulary, text)

    # -- the size of the context ---------------------------------------------------------------------------------------------

    def _limit(self, held: int) -> int:
        """Most tokens a context may have: what the model was trained for, and what fits into memory beside everything else."""
        trained = max(_PAD, -(-self.n_ctx_train // _PAD) * _PAD)
        free = capacity.available_memory()
        if free is None or self._settings["n_gpu_layers"]:
            return trained
        cost = self._model.bytes_per_token(self._shape.n_ubatch, flash_attn=self._shape.flash_attn == 1)
        return max(_PAD, min(trained, held + int(free * capacity.SPARE) // cost // _PAD * _PAD))

    def reserve(self, n: int) -> int:
        with self._lock:
            context = self._context
            wanted = -(-n // _PAD) * _PAD
            if self._fixed or wanted <= context.n_ctx:
                return context.n_ctx
            wanted = min(wanted, self._limit(context.n_ctx))
            if wanted > context.n_ctx:
                self._resize(context, wanted)
            return self._context.n_ctx

    def _resize(self, old: Context, n_ctx: int) -> None:
        """Replace the context, carrying the history over; back to the old size if there is no memory for the new one."""
        blob = old.save() if self._tokens else None
        self._steps += old.steps
        self._contexts.clear()
        old.free()
        try:
            context = Context(self._model.lib, self._model.handle, self._shape, n_ctx)
        except EngineError:
            context = Context(self._model.lib, self._model.handle, self._shape, old.n_ctx)
        self._contexts.append(context)
        if self._abort is not None:
            context.set_abort(self._abort)
        if blob is None or not context.restore(blob):
            self._clear()

    # -- the history ---------------------------------------------------------------------------------------------------------

    def _checked(self, tokens: Sequence[int]) -> list[int]:
        size = self.vocabulary.size
        ids = [int(token) for token in tokens]
        if ids and (min(ids) < 0 or max(ids) >= size):
            raise EngineError(f"token {next(i for i in ids if not 0 <= i < size)} is not below {size}")
        return ids

    def _clear(self) -> None:
        self._tokens = []
        self._context.clear()

    def reuse(self, tokens: Sequence[int]) -> int:
        with self._lock:
            context = self._context
            most = min(len(self._tokens), max(0, len(tokens) - 1))
            kept = next((i for i in range(most) if self._tokens[i] != tokens[i]), most)
            if kept < len(self._tokens):
                if kept and context.cut(kept):
                    del self._tokens[kept:]
                else:
                    self._clear()
            return len(self._tokens)

    def truncate(self, n: int) -> None:
        with self._lock:
            context = self._context
            if n < 0:
                raise EngineError(f"cannot keep {n} tokens")
            if n >= len(self._tokens):
                return
            if n == 0:
                self._clear()
            elif context.cut(n):
                del self._tokens[n:]
            else:
                self._settle(self._tokens)
                raise EngineError("this model cannot go back to an earlier token")

    def _settle(self, tokens: list[int]) -> None:
        """Make the history what the memory really holds, which is the beginning of `tokens` or nothing."""
        low, high = self._context.extent()
        if 0 <= high < len(tokens) and (low == 0 or not self._rolls_back):
            self._tokens = tokens[: high + 1]
        else:
            self._clear()

    def evaluate(self, tokens: Sequence[int]) -> Logits:
        with self._lock:
            context, ids, start = self._context, self._checked(tokens), len(self._tokens)
            if not ids:
                raise EngineError("nothing to evaluate: no token given")
            if start + len(ids) > context.n_ctx:
                raise EngineError(f"the context holds {context.n_ctx} tokens, {start} + {len(ids)} do not fit", code=1)
            for at in range(0, len(ids), context.n_batch):
                chunk = ids[at : at + context.n_batch]
                last = at + len(chunk) == len(ids)
                try:
                    if self._abort is not None and self._abort():
                        raise Aborted("the caller's abort callback stopped the model before a step", code=2)
                    context.append(chunk, start + at, last=last)
                except BaseException as error:
                    self._settle(self._tokens + chunk)
                    if not isinstance(error, Aborted):
                        with contextlib.suppress(EngineError):
                            self.truncate(start)
                    raise
                self._tokens += chunk
            return context.logits(len(chunk) - 1)

    def score(self, branches: Sequence[Sequence[int]], first: npt.NDArray[np.floating]) -> list[npt.NDArray[np.float64]]:
        with self._lock:
            checked = [self._checked(branch) for branch in branches]
            if first.shape != (self.vocabulary.size,):
                raise EngineError(f"the first row has shape {first.shape}, the vocabulary {self.vocabulary.size} tokens")
            found = [np.empty(len(branch)) for branch in checked]
            base = log_normaliser(first) if any(checked) else 0.0
            for branch, values in zip(checked, found, strict=True):
                if branch:
                    values[0] = float(first[branch[0]]) - base
            deep = {key: branch for key, branch in enumerate(checked) if len(branch) > 1}
            if deep:
                start, longest = len(self._tokens), max(map(len, deep.values())) - 1
                self.reserve(start + sum(map(len, deep.values())) - len(deep))  # `first` may be gone from here on
                free = self._context.n_ctx - start
                if longest > free or self.n_seq_max < 2:
                    raise EngineError(f"{longest} tokens to score: {free} free in the context, {self.n_seq_max - 1} sequences", code=1)
                for group in plan(deep, max_leaves=self.n_seq_max - 1, max_rows=free, share=self._share):
                    self._context.score(group, checked, found, start)
            return found

    # -- the end -------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        with self._lock:
            self._steps = self.steps
            self._free()

    def __enter__(self) -> LlamaEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _free(contexts: list[Context], model: Model) -> None:
    while contexts:
        contexts.pop().free()
    model.free()
