"""Around the router: providers of tool calls."""

from .provider import Completion, LocalProvider, ModelProvider, ToolCall

__all__ = ["Completion", "LocalProvider", "ModelProvider", "ToolCall"]
