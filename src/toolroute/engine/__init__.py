"""Running a model: `Engine` says what is asked of one, `LlamaEngine` does it with llama.cpp, `ScriptedEngine` without a model.

``protocol`` the contract · ``llama`` (on ``model``, ``context``, ``batch``, ``pieces``, ``scoring``, ``capacity``) the engine ·
``probe`` a switch tried in a child process · ``template`` chat templates · ``models``, ``fetch`` names and files · ``fake`` a stand-in.
"""

from __future__ import annotations

from toolroute.engine.fake import ScriptedEngine
from toolroute.engine.llama import LlamaEngine, load_vocabulary
from toolroute.engine.models import known_models, resolve_model
from toolroute.engine.protocol import Engine, Logits
from toolroute.engine.template import Piece, encode_chat, prompt_text, render_chat

__all__ = [
    "Engine",
    "LlamaEngine",
    "Logits",
    "Piece",
    "ScriptedEngine",
    "encode_chat",
    "known_models",
    "load_vocabulary",
    "prompt_text",
    "render_chat",
    "resolve_model",
]
