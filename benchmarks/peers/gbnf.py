"""llama.cpp's own grammar sampler over the whole vocabulary, fed by the JSON Schema converter of llama-cpp-python."""

from __future__ import annotations

import ctypes
import importlib
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.harness import Session, main

lib: Any = importlib.import_module("llama_cpp")
converter: Any = importlib.import_module("llama_cpp.llama_grammar")

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)], align=True)


class Gbnf:
    """A sampler chain's grammar link, applied to every candidate of the vocabulary as llama-cpp-python does."""

    style = "compact"

    def versions(self) -> dict[str, str]:
        return {"llama-cpp-python": version("llama-cpp-python")}

    def prepare(self, pieces: list[bytes], eog: list[int], model: str) -> None:
        self.log = lib.llama_log_callback(lambda level, text, data: None)
        lib.llama_log_set(self.log, None)
        params = lib.llama_model_default_params()
        params.vocab_only = True
        self.model = lib.llama_model_load_from_file(model.encode(), params)
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.eog = eog
        self.candidates = np.zeros(len(pieces), _CANDIDATE)
        self.candidates["id"] = np.arange(len(pieces))
        data = self.candidates.ctypes.data_as(ctypes.POINTER(lib.llama_token_data))
        self.array = lib.llama_token_data_array(data=data, size=len(pieces), selected=-1, sorted=False)
        self.samplers: list[Any] = []

    def forget(self) -> None:
        for sampler in self.samplers:
            lib.llama_sampler_free(sampler)
        self.samplers.clear()

    def compile(self, row: dict[str, Any]) -> bytes:
        order = dict.fromkeys(["tool", "arguments", *(name for tool in row["tools"] for name in _names(tool["parameters"]))])
        text: str = converter.json_schema_to_gbnf(row["schema"], prop_order=list(order))
        return text.encode()

    def start(self, compiled: bytes) -> Session:
        sampler = lib.llama_sampler_init_grammar(self.vocab, compiled, b"root")
        if not sampler:
            raise ValueError("the grammar does not parse")
        self.samplers.append(sampler)
        logits, array = self.candidates["logit"], ctypes.byref(self.array)

        def mask() -> None:
            logits.fill(0)
            lib.llama_sampler_apply(sampler, array)

        def accept(token: int) -> bool:
            # A token that the grammar does not allow would end the process.
            if not np.isfinite(logits[token]):
                return False
            lib.llama_sampler_accept(sampler, token)
            return True

        def ends() -> bool:
            mask()
            return bool(np.isfinite(logits[self.eog]).any())

        return Session(mask, accept, lambda: int(np.isfinite(logits).sum()), ends)


def _names(schema: Any) -> list[str]:
    """The member names of a schema, outer ones first, in declared order."""
    if not isinstance(schema, dict):
        return []
    properties = schema.get("properties", {})
    return [*properties, *(name for part in (*properties.values(), schema.get("items")) for name in _names(part))]


if __name__ == "__main__":
    main(Gbnf())
