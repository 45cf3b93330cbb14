"""Write tiny random GGUF models, so that every unit of the engine is tested on real llama.cpp without real weights.

Two architectures: ``llama`` (attention; sequences can be cut anywhere) and ``mamba`` (recurrent; they cannot). The tokenizer is a small
SentencePiece vocabulary: control tokens, one unused and one user-defined token, all 256 bytes, letters, and a few words.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

UNK, BOS, EOS, IM_START, IM_END, UNUSED, THINK = range(7)
_BYTES = 7
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED_TYPE, BYTE = 1, 2, 3, 4, 5, 6

LETTERS = " abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789{}[]\":,.-<>|/!?'\n"
WORDS = ["th", "the", "ge", "get", "get_", "we", "wea", "weat", "weath", "weathe", "weather", "ti", "tim", "time"]
WORDS += [" t", " th", " the", '{"', '":', ": "]
LONG = "x" * 80

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def vocabulary() -> list[tuple[str, float, int]]:
    """Text, score and type of every token."""
    tokens = [
        ("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<|im_start|>", 0.0, CONTROL),
        ("<|im_end|>", 0.0, CONTROL), ("<pad7>", 0.0, UNUSED_TYPE), ("<think>", 0.0, USER_DEFINED),
    ]  # fmt: skip
    tokens += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    pieces = list(LETTERS) + sorted(WORDS, key=len) + [LONG]
    tokens += [(piece.replace(" ", "\u2581"), -float(rank), NORMAL) for rank, piece in enumerate(pieces)]
    return tokens


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: object) -> bytes:
    """A typed metadata value: bool, int (uint32), float (float32), str, or a list of one of these (ints as int32)."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    assert isinstance(value, list)
    kind, form = (8, "") if isinstance(value[0], str) else (6, "<f") if isinstance(value[0], float) else (5, "<i")
    body = b"".join(_string(item) if kind == 8 else struct.pack(form, item) for item in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + body


def write_gguf(path: Path, metadata: dict[str, object], tensors: dict[str, np.ndarray]) -> Path:
    """A GGUF file, version 3, all tensors float32."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_string(key) + _value(value) for key, value in metadata.items())
    offset, data = 0, b""
    for name, tensor in tensors.items():
        head += _string(name) + struct.pack("<I", tensor.ndim) + struct.pack(f"<{tensor.ndim}Q", *reversed(tensor.shape))
        head += struct.pack("<IQ", 0, offset)
        body = np.ascontiguousarray(tensor, np.float32).tobytes()
        body += bytes(-len(body) % 32)
        data += body
        offset += len(body)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def write_tiny(
    path: Path, *, architecture: str = "llama", seed: int = 1, n_ctx_train: int = 1024, template: str | None = TEMPLATE
) -> Path:
    """A random model of 2 layers and 32 dimensions."""
    random = np.random.default_rng(seed)
    tokens = vocabulary()
    width, inner, layers = 32, 64, 2
    metadata: dict[str, object] = {
        "general.architecture": architecture,
        "general.name": "tiny",
        f"{architecture}.context_length": n_ctx_train,
        f"{architecture}.embedding_length": width,
        f"{architecture}.block_count": layers,
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [text for text, _, _ in tokens],
        "tokenizer.ggml.scores": [score for _, score, _ in tokens],
        "tokenizer.ggml.token_type": [kind for _, _, kind in tokens],
        "tokenizer.ggml.bos_token_id": BOS,
        "tokenizer.ggml.eos_token_id": EOS,
        "tokenizer.ggml.unknown_token_id": UNK,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_space_prefix": True,
    }
    if template is not None:
        metadata["tokenizer.chat_template"] = template

    def weight(*shape: int) -> np.ndarray:
        return random.normal(0, 0.3, shape)

    tensors = {"token_embd.weight": weight(len(tokens), width), "output_norm.weight": np.ones(width)}
    tensors["output.weight"] = weight(len(tokens), width)
    for layer in range(layers):
        block = f"blk.{layer}."
        tensors[block + "attn_norm.weight"] = np.ones(width)
        if architecture == "llama":
            tensors |= {block + f"attn_{name}.weight": weight(width, width) for name in ("q", "output")}
            tensors |= {block + f"attn_{name}.weight": weight(width // 2, width) for name in ("k", "v")}
            tensors[block + "ffn_norm.weight"] = np.ones(width)
            tensors |= {block + f"ffn_{name}.weight": weight(inner, width) for name in ("gate", "up")}
            tensors[block + "ffn_down.weight"] = weight(width, inner)
        else:
            state, rank, kernel = 8, 4, 4
            tensors |= {
                block + "ssm_in.weight": weight(2 * inner, width),
                block + "ssm_conv1d.weight": weight(inner, kernel),
                block + "ssm_conv1d.bias": weight(inner),
                block + "ssm_x.weight": weight(rank + 2 * state, inner),
                block + "ssm_dt.weight": weight(inner, rank),
                block + "ssm_dt.bias": weight(inner),
                block + "ssm_a": -np.abs(weight(inner, state)),
                block + "ssm_d": weight(inner),
                block + "ssm_out.weight": weight(width, inner),
            }
    if architecture == "llama":
        metadata |= {
            "llama.feed_forward_length": inner,
            "llama.attention.head_count": 4,
            "llama.attention.head_count_kv": 2,
            "llama.rope.dimension_count": 8,
        }
    else:
        metadata |= {
            "mamba.ssm.conv_kernel": 4, "mamba.ssm.inner_size": inner, "mamba.ssm.state_size": 8, "mamba.ssm.time_step_rank": 4,
            "mamba.feed_forward_length": 0, "mamba.attention.head_count": 0,
        }  # fmt: skip
    return write_gguf(path, metadata, tensors)
