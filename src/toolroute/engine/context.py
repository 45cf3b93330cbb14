"""One llama.cpp context: memory, batches, return codes.

Theory: this is the only place that calls llama.cpp functions which take a context, and each call is guarded here, because llama.cpp
answers a wrong size or id with `abort()`. What it reports with a code becomes an exception:

    0   done
    1   no free cells for the batch; the memory is as before      EngineError, code 1
    2   the abort callback said stop; part of the batch may stay  Aborted
    <0  the batch is wrong, or computing it failed                EngineError

The memory is one shared pool (`kv_unified`), so that copying a sequence copies no cells, and it keeps all tokens of sliding-window
layers (`swa_full`), so that cutting a sequence back is exact.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolroute.engine.batch import Batch
from toolroute.engine.protocol import Logits
from toolroute.engine.scoring import Group, log_normaliser
from toolroute.errors import Aborted, EngineError

OUTPUT_ROWS = 128
"""Most rows of logits of one model step. Unit: rows; cost: 4 bytes x vocabulary size each (134 MB at 262,144 tokens)."""


@dataclass(frozen=True)
class Shape:
    """How a context is made. ``flash_attn``: llama.cpp's number (-1 auto, 0 off, 1 on)."""

    n_batch: int
    n_ubatch: int
    n_seq_max: int
    n_threads: int
    flash_attn: int
    offload_kqv: bool
    op_offload: bool
    n_vocab: int


class Context:
    """A context of `n_ctx` tokens (rounded up to 256 by llama.cpp). ``steps`` counts `llama_decode` calls."""

    def __init__(self, lib: Any, model: Any, shape: Shape, n_ctx: int) -> None:
        self._lib, self._shape = lib, shape
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_seq_max, params.n_ubatch = n_ctx, shape.n_seq_max, shape.n_ubatch
        params.n_batch = max(shape.n_batch, shape.n_seq_max)  # llama.cpp asserts that each sequence can have an output
        params.n_outputs_max = min(params.n_batch, max(OUTPUT_ROWS, shape.n_seq_max))
        params.n_threads = params.n_threads_batch = shape.n_threads
        params.flash_attn_type = shape.flash_attn
        params.offload_kqv, params.op_offload = shape.offload_kqv, shape.op_offload
        params.swa_full = params.kv_unified = True
        params.no_perf = True
        self._ctx = lib.llama_init_from_model(model, params)
        if not self._ctx:
            raise EngineError(f"llama.cpp could not make a context of {n_ctx} tokens (too little memory?)")
        self._memory = lib.llama_get_memory(self._ctx)
        self.n_ctx = int(lib.llama_n_ctx_seq(self._ctx))
        self.n_batch = min(shape.n_batch, int(lib.llama_n_batch(self._ctx)))
        self.n_seq_max = int(lib.llama_n_seq_max(self._ctx))
        self.n_outputs = min(int(params.n_outputs_max), self.n_batch)
        self._batch = Batch(lib, rows=self.n_batch, sequences=self.n_seq_max, n_vocab=shape.n_vocab)
        self._row = ctypes.c_float * shape.n_vocab
        self._abort: Any = None
        self._raised: BaseException | None = None
        self.steps = 0

    def free(self) -> None:
        """Free the context; only once, and nothing may be called after it."""
        ctx, self._ctx, self._memory = self._ctx, None, None
        if ctx:
            self._lib.llama_free(ctx)

    def set_abort(self, abort: Callable[[], bool] | None) -> None:
        """Ask `abort` before each part of a computation; an exception in it stops the computation and is raised from the step."""
        if abort is None:
            self._abort = self._lib.ggml_abort_callback()
        else:

            def ask(_: Any) -> bool:
                try:
                    return bool(abort())
                except BaseException as error:  # raised again by `_decode`; ctypes would swallow it
                    self._raised = error
                    return True

            self._abort = self._lib.ggml_abort_callback(ask)
        self._lib.llama_set_abort_callback(self._ctx, self._abort, None)

    def append(self, tokens: Sequence[int], start: int, *, last: bool) -> None:
        """One model step: `tokens` at the end of sequence 0, which holds `start` tokens."""
        self._batch.history(tokens, start, last=last)
        self._decode()

    def _decode(self) -> None:
        self._raised = None
        self.steps += 1
        code = int(self._lib.llama_decode(self._ctx, self._batch.struct))
        self._lib.llama_synchronize(self._ctx)
        if code == 0:
            return
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        if code == 2:
            raise Aborted("the model step was stopped by its abort callback", code=2)
        if code == 1:
            raise EngineError(f"the context of {self.n_ctx} tokens has no room for this batch", code=1)
        raise EngineError("llama.cpp refused the batch" if code == -1 else "the model step failed", code=code)

    def logits(self, index: int) -> Logits:
        """The logits after batch row `index` of the latest step: a view, valid until the next step."""
        pointer = self._lib.llama_get_logits_ith(self._ctx, index)
        if not pointer:
            raise EngineError(f"llama.cpp has no logits for row {index}")
        address = ctypes.addressof(pointer.contents)
        row: Logits = np.ndarray((self._shape.n_vocab,), np.float32, buffer=memoryview(self._row.from_address(address)))
        return row

    def score(
        self, group: Group, branches: Sequence[Sequence[int]], found: Sequence[npt.NDArray[np.float64]], start: int
    ) -> None:
        """Fill `found` with the log-probabilities that `group` reads, after a history of `start` tokens; it is not changed."""
        sequences = range(1, group.leaves + 1)
        width = min(self.n_batch, self.n_outputs)
        try:
            self._fork(sequences)
            for at in range(0, len(group.rows), width):
                rows = group.rows[at : at + width]
                self._batch.branches(rows, start)
                self._decode()
                for index, row in enumerate(rows):
                    logits = self.logits(index)
                    base = log_normaliser(logits)
                    for key, place in row.reads:
                        found[key][place] = float(logits[branches[key][place]]) - base
        finally:
            self._drop(sequences)

    def extent(self, sequence: int = 0) -> tuple[int, int]:
        """Lowest and highest position of a sequence, (-1, -1) when it is empty."""
        low = self._lib.llama_memory_seq_pos_min(self._memory, sequence)
        return int(low), int(self._lib.llama_memory_seq_pos_max(self._memory, sequence))

    def cut(self, n: int) -> bool:
        """Keep positions below `n` (> 0) of sequence 0. False: this memory cannot, and the sequence may be unusable."""
        if not self._lib.llama_memory_seq_rm(self._memory, 0, n, -1):
            return False
        return self.extent() == (0, n - 1)

    def clear(self) -> None:
        """Empty all sequences."""
        self._lib.llama_memory_clear(self._memory, False)

    def _fork(self, sequences: range) -> None:
        """Make each of `sequences` a copy of sequence 0."""
        if sequences[-1] >= self.n_seq_max:
            raise EngineError(f"sequence {sequences[-1]} is not below {self.n_seq_max}")
        for sequence in sequences:
            self._lib.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)

    def _drop(self, sequences: range) -> None:
        """Empty each of `sequences`."""
        for sequence in sequences[: self.n_seq_max - 1]:
            self._lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def save(self) -> Any:
        """The memory of sequence 0 as a blob for `restore` (a ctypes array)."""
        size = int(self._lib.llama_state_seq_get_size(self._ctx, 0))
        blob = (ctypes.c_uint8 * size)()
        return blob if size and self._lib.llama_state_seq_get_data(self._ctx, blob, size, 0) == size else None

    def restore(self, blob: Any) -> bool:
        """Fill sequence 0 from a blob; False leaves it empty."""
        return int(self._lib.llama_state_seq_set_data(self._ctx, blob, len(blob), 0)) != 0
