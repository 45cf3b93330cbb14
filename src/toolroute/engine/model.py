"""A loaded model file: weights (or only the vocabulary), metadata, template.

Theory: llama.cpp says only *that* a file cannot be loaded; why goes to its log. So this module looks at the file first (there, not
empty, starts like a GGUF file), keeps the tail of the log, and puts the reason into the exception.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolroute.engine import capacity
from toolroute.errors import EngineError, ModelError

_ERROR, _CONTINUED = 4, 5


class Log:
    """llama.cpp's log: silent, its last lines kept; ``verbose`` copies it to stderr. One per process, kept alive for ever."""

    def __init__(self) -> None:
        self.verbose = False
        self._lines: deque[str] = deque(maxlen=64)
        self._callback: Any = None

    def install(self, lib: Any) -> None:
        """Become llama.cpp's log."""

        def take(level: int, text: bytes, _: Any) -> None:
            line = text.decode("utf-8", "replace")
            if self.verbose:
                sys.stderr.write(line)
            if level == _ERROR or (level == _CONTINUED and self._lines):
                self._lines.append(line.strip())

        self._callback = lib.llama_log_callback(take)
        lib.llama_log_set(self._callback, None)

    def clear(self) -> None:
        """Forget the lines so far."""
        self._lines.clear()

    def reason(self) -> str:
        """The first error since `clear` in one line, without the names of C functions."""
        for line in self._lines:
            text = line.rpartition("error loading model: ")[2] or line
            if text:
                return text[:300]
        return "llama.cpp gave no reason"


LOG = Log()


@dataclass(frozen=True)
class Placement:
    """Where the weights go; the fields are llama.cpp's model parameters of the same names."""

    n_gpu_layers: int = 0
    split_mode: int | None = None
    main_gpu: int = 0
    tensor_split: Sequence[float] | None = None
    use_extra_bufts: bool = False


def check_file(path: Path) -> None:
    """Raise `ModelError` if `path` cannot be a model file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}", model=str(path)) from error
    if not magic:
        raise ModelError("the file is empty", model=str(path))
    if magic != b"GGUF":
        raise ModelError(f"not a GGUF file: it starts with {magic!r}", model=str(path))


class Model:
    """A model in memory. ``lib``: the C functions; ``handle``, ``vocab``: llama.cpp's pointers."""

    def __init__(self, lib: Any, path: Path, placement: Placement | None = None, *, vocab_only: bool = False) -> None:
        check_file(path)
        self.lib, self.path = lib, path
        params = lib.llama_model_default_params()
        params.vocab_only = vocab_only
        keep = _place(lib, params, placement or Placement())
        # Tokenise exactly the text given: no blank in front, at the start or after special tokens (SentencePiece models).
        overrides = (lib.llama_model_kv_override * 2)()
        overrides[0].key, overrides[0].tag = b"tokenizer.ggml.add_space_prefix", lib.LLAMA_KV_OVERRIDE_TYPE_BOOL
        overrides[0].value.val_bool = False
        params.kv_overrides = overrides
        LOG.clear()
        self.handle = lib.llama_model_load_from_file(str(path).encode(), params)
        del keep
        if not self.handle:
            raise ModelError(f"cannot be loaded: {LOG.reason()}", model=str(path))
        self.vocab = lib.llama_model_get_vocab(self.handle)
        try:
            self._check(vocab_only)
        except ModelError:
            self.free()
            raise

    def _check(self, vocab_only: bool) -> None:
        lib = self.lib
        if lib.llama_vocab_type(self.vocab) == lib.LLAMA_VOCAB_TYPE_NONE or lib.llama_vocab_n_tokens(self.vocab) <= 0:
            raise ModelError("it has no vocabulary", model=str(self.path))
        if not vocab_only and (lib.llama_model_has_encoder(self.handle) or not lib.llama_model_has_decoder(self.handle)):
            raise ModelError("it is not a decoder-only text model", model=str(self.path))

    def free(self) -> None:
        """Free the memory; only once, after every context of it."""
        handle, self.handle, self.vocab = self.handle, None, None
        if handle:
            self.lib.llama_model_free(handle)

    @property
    def size(self) -> int:
        """Token ids, and so the width of a row of logits."""
        return int(self.lib.llama_vocab_n_tokens(self.vocab))

    def meta(self, key: str) -> str | None:
        """A single value of the file's metadata (arrays are not visible)."""
        buffer = ctypes.create_string_buffer(1 << 12)
        count = int(self.lib.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer)))
        return buffer.value.decode("utf-8", "replace") if count >= 0 else None

    def number(self, key: str, default: int) -> int:
        """A number of the architecture (``attention.key_length``), or `default`."""
        value = self.meta(f"{self.meta('general.architecture')}.{key}")
        return int(value) if value is not None and value.isdecimal() else default

    @property
    def chat_template(self) -> str | None:
        """The default chat template."""
        text = self.lib.llama_model_chat_template(self.handle, None)
        return text.decode("utf-8", "replace") if text else None

    @property
    def rolls_back(self) -> bool:
        """Whether a sequence can be cut anywhere (recurrent and hybrid models keep only their latest state)."""
        return not (self.lib.llama_model_is_recurrent(self.handle) or self.lib.llama_model_is_hybrid(self.handle))

    def bytes_per_token(self, n_ubatch: int, *, flash_attn: bool) -> int:
        """What one more token of context costs, by the estimate of `capacity`."""
        lib, handle = self.lib, self.handle
        heads = max(1, int(lib.llama_model_n_head(handle)))
        width = int(lib.llama_model_n_embd(handle)) // heads
        return capacity.bytes_per_token(
            n_layer=int(lib.llama_model_n_layer(handle)), n_head=heads, n_head_kv=int(lib.llama_model_n_head_kv(handle)),
            key_length=self.number("attention.key_length", width), value_length=self.number("attention.value_length", width),
            n_ubatch=n_ubatch, flash_attn=flash_attn,
        )  # fmt: skip

    def describe(self) -> str:
        """llama.cpp's short description ("llama 135M Q4_1")."""
        buffer = ctypes.create_string_buffer(256)
        self.lib.llama_model_desc(self.handle, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")


def _place(lib: Any, params: Any, placement: Placement) -> Any:
    """Write `placement` into the C struct; the result must live until the model is loaded."""
    if placement.n_gpu_layers and not lib.llama_supports_gpu_offload():
        raise EngineError(
            f"n_gpu_layers={placement.n_gpu_layers}, but this build of llama-cpp-python cannot use a GPU; build one that can, for example "
            'CMAKE_ARGS="-DGGML_CUDA=on" pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python llama-cpp-python'
        )
    params.n_gpu_layers, params.main_gpu = placement.n_gpu_layers, placement.main_gpu
    params.use_extra_bufts = placement.use_extra_bufts
    if placement.split_mode is not None:
        params.split_mode = placement.split_mode
    if placement.tensor_split is None:
        return None
    most = int(lib.llama_max_devices())
    if not 0 < len(placement.tensor_split) <= most:
        raise EngineError(f"tensor_split has {len(placement.tensor_split)} parts, this build knows {most} devices")
    split = (ctypes.c_float * most)(*placement.tensor_split)
    params.tensor_split = split
    return split
