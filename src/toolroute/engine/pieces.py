"""A model's tokens as bytes, read through llama.cpp.

Theory: what a token writes is its *piece*, as bytes (128 to 313 pieces of a usual vocabulary are not valid UTF-8 alone). Left out of
the writable vocabulary: control, unknown and unused tokens, empty pieces, tokens the model says never to produce, and every
end-of-generation token (those form a set; the one called EOS is only one of them). Text given to `tokenize` loses and gains nothing:
models are loaded with the blank some tokenizers add in front switched off.

Cost: two C calls per token, 0.1 s at 49,152 tokens and 0.45 s at 262,144, before `Vocabulary` sorts them.
"""

from __future__ import annotations

import ctypes
from itertools import repeat
from typing import Any

from toolroute.errors import EngineError
from toolroute.vocab import Vocabulary

_WIDTH = 64
_LONG = 1 << 16


def read_vocabulary(lib: Any, vocab: Any) -> Vocabulary:
    """The vocabulary of a loaded model."""
    size = int(lib.llama_vocab_n_tokens(vocab))
    fast = ctypes.PyDLL(lib._lib._name)  # the same library; calls that do not let go of the interpreter are a third cheaper
    to_piece, is_end = fast.llama_token_to_piece, fast.llama_vocab_is_eog
    to_piece.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_bool]
    is_end.argtypes, is_end.restype = [ctypes.c_void_p, ctypes.c_int32], ctypes.c_bool

    buffer = ctypes.create_string_buffer(size * _WIDTH)
    start = ctypes.addressof(buffer)
    addresses = range(start, start + size * _WIDTH, _WIDTH)
    # Control and unknown tokens write nothing unless asked to, and unused ones never write anything.
    counts = list(map(to_piece, repeat(vocab), range(size), addresses, repeat(_WIDTH), repeat(0), repeat(False)))
    memory = buffer.raw
    pieces = [memory[at : at + n] for at, n in zip(range(0, size * _WIDTH, _WIDTH), counts, strict=True)]
    for token, count in enumerate(counts):
        if count < 0:
            pieces[token] = piece(lib, vocab, token)

    ends = [token for token, end in enumerate(map(is_end, repeat(vocab), range(size))) if end]
    return Vocabulary.from_tokens(pieces, eog=ends, control=suppressed_tokens(lib, vocab))


def suppressed_tokens(lib: Any, vocab: Any) -> frozenset[int]:
    """Tokens the model's file says never to produce."""
    count = ctypes.c_int32(0)
    array = lib.llama_vocab_get_suppress_tokens(vocab, ctypes.byref(count))
    return frozenset(int(array[i]) for i in range(count.value)) if array else frozenset()


def piece(lib: Any, vocab: Any, token: int) -> bytes:
    """What one token writes, whatever its length; control tokens write their name."""
    if not 0 <= token < lib.llama_vocab_n_tokens(vocab):
        raise EngineError(f"token {token} is not in the vocabulary")
    length = 64
    while True:
        buffer = ctypes.create_string_buffer(length)
        count = int(lib.llama_token_to_piece(vocab, token, buffer, length, 0, True))
        if count >= 0:
            return buffer.raw[:count]
        if -count <= length or -count > _LONG:
            raise EngineError(f"token {token} has no piece", code=count)
        length = -count


def tokenize(lib: Any, vocab: Any, text: str | bytes, *, special: bool) -> list[int]:
    """Tokens of `text` (a str that is not valid Unicode has its bad parts replaced)."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else bytes(text)
    if not data:
        return []
    room = len(data) + 1
    while True:
        out = (ctypes.c_int32 * room)()
        count = int(lib.llama_tokenize(vocab, data, len(data), out, room, False, special))
        if count >= 0:
            return list(out[:count])
        if -count <= room:
            raise EngineError("llama.cpp could not tokenise the text", code=count)
        room = -count
