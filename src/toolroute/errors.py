"""Every exception toolroute raises on purpose.

    RouteError
    ├─ CatalogueError        a tool cannot be offered             .index .tool .pointer .reason
    ├─ SchemaError           not a valid JSON Schema              .tool .pointer .keyword .reason
    │  ├─ UnsupportedSchema  valid, but outside what is compiled  (same fields)
    │  └─ SchemaLimit        a named limit was exceeded           .limit .needed .given
    ├─ UnsatisfiableRoute    an alternative admits no text        .tool .pointer .reason
    ├─ VocabularyError       the tokens cannot do what is asked   .missing_bytes .reason
    │  └─ DeadEnd            no token is allowed in this state    .prefix
    ├─ TokenRejected         a token outside the mask             .token .allowed
    ├─ CapTooSmall           the shortest reply does not fit      .needed .given
    ├─ ContextOverflow       prompt + cap exceed the context      .needed .given .prompt_tokens .cap
    ├─ ToolChoiceError       a tool_choice that cannot be kept    .tool_choice .offered
    ├─ ReplyRejected         the finished reply fails a check     .tool .reason .text
    ├─ ModelError            a model file or name is unusable     .model .reason
    │  └─ DownloadError      a model could not be fetched         (same fields)
    └─ EngineError           llama.cpp refused or failed          .code .reason
       └─ Aborted            the caller asked to stop             (same fields)

Rules. Catching ``RouteError`` catches them all. Every class carries its facts as keyword attributes, so that a program never parses a
message; the message itself is one line that names the missing thing. Nothing in the package raises a bare ``Exception``, and no handler
turns one of these into a reply.
"""

from __future__ import annotations

from collections.abc import Iterable


class RouteError(Exception):
    """Base of every error of this package. Not raised itself."""


def _where(index: int | None, tool: str | None, pointer: str | None) -> str:
    """``tool 3 'get_weather' at /properties/city: `` with the parts that are known."""
    parts = []
    if index is not None or tool is not None:
        parts.append("tool" + (f" {index}" if index is not None else "") + (f" {tool!r}" if tool is not None else ""))
    if pointer is not None:
        parts.append(f"at {pointer or '/'}")
    return " ".join(parts) + ": " if parts else ""


class CatalogueError(RouteError):
    """A tool cannot be part of a catalogue.

    ``index``: position in the given sequence (0-based); ``tool``: its name, where known; ``pointer``: JSON Pointer inside the
    tool's parameters, where known; ``reason``: why.
    """

    def __init__(self, reason: str, *, index: int | None = None, tool: str | None = None, pointer: str | None = None) -> None:
        super().__init__(_where(index, tool, pointer) + reason)
        self.index, self.tool, self.pointer, self.reason = index, tool, pointer, reason


class SchemaError(RouteError):
    """A schema is not valid JSON Schema in its dialect.

    ``pointer``: JSON Pointer into the schema; ``keyword``: the keyword at fault; ``tool``: the tool whose parameters these are;
    ``index``: that tool's position in its catalogue.
    """

    def __init__(
        self, reason: str, *, pointer: str = "", keyword: str | None = None, tool: str | None = None, index: int | None = None
    ) -> None:
        super().__init__(_where(index, tool, pointer) + reason)
        self.reason, self.pointer, self.keyword, self.tool, self.index = reason, pointer, keyword, tool, index

    def for_tool(self, tool: str, index: int) -> SchemaError:
        """The same error, naming the tool it belongs to."""
        return type(self)(self.reason, pointer=self.pointer, keyword=self.keyword, tool=tool, index=index)


class UnsupportedSchema(SchemaError):
    """The schema is valid, and toolroute can neither compile the keyword nor check it afterwards."""


class SchemaLimit(SchemaError):
    """A named compile limit was exceeded. ``limit``: its name; ``needed``, ``given``: the two numbers."""

    def __init__(
        self,
        reason: str,
        *,
        pointer: str = "",
        keyword: str | None = None,
        tool: str | None = None,
        index: int | None = None,
        limit: str = "",
        needed: int = 0,
        given: int = 0,
    ) -> None:
        super().__init__(reason, pointer=pointer, keyword=keyword, tool=tool, index=index)
        self.limit, self.needed, self.given = limit, needed, given

    def for_tool(self, tool: str, index: int) -> SchemaLimit:
        return SchemaLimit(
            self.reason, pointer=self.pointer, keyword=self.keyword, tool=tool, index=index,
            limit=self.limit, needed=self.needed, given=self.given,
        )  # fmt: skip


class UnsatisfiableRoute(RouteError):
    """An alternative (or the whole route) admits no finite text; found at compile time."""

    def __init__(self, reason: str, *, tool: str | None = None, pointer: str = "", index: int | None = None) -> None:
        super().__init__(_where(index, tool, pointer) + reason)
        self.reason, self.tool, self.pointer, self.index = reason, tool, pointer, index

    def for_tool(self, tool: str, index: int) -> UnsatisfiableRoute:
        """The same error, naming the tool it belongs to."""
        return UnsatisfiableRoute(self.reason, tool=tool, pointer=self.pointer, index=index)


class VocabularyError(RouteError):
    """The vocabulary cannot spell what the language needs. ``missing_bytes``: the byte values without a token."""

    def __init__(self, reason: str, *, missing_bytes: Iterable[int] = ()) -> None:
        self.missing_bytes = tuple(sorted(set(missing_bytes)))
        shown = " ".join(f"{b:02x}" for b in self.missing_bytes[:16])
        super().__init__(reason + (f" (bytes without a token: {shown})" if shown else ""))
        self.reason = reason


class DeadEnd(VocabularyError):
    """No token of the vocabulary is allowed here. ``prefix``: the reply so far."""

    def __init__(self, reason: str, *, prefix: bytes = b"", missing_bytes: Iterable[int] = ()) -> None:
        super().__init__(f"{reason}, after {prefix[-64:]!r}", missing_bytes=missing_bytes)
        self.prefix = prefix


class TokenRejected(RouteError):
    """``accept`` was given a token outside the mask. ``token``: its id; ``allowed``: at most 16 allowed ids."""

    def __init__(self, token: int, *, allowed: Iterable[int] = (), reason: str = "is not allowed here") -> None:
        self.token, self.allowed = token, tuple(allowed)[:16]
        super().__init__(f"token {token} {reason}" + (f"; allowed: {list(self.allowed)}" if self.allowed else ""))


class CapTooSmall(RouteError):
    """Even the shortest reply needs more tokens than the cap. ``needed``, ``given``: tokens."""

    def __init__(self, *, needed: int, given: int) -> None:
        super().__init__(f"the cap is {given} tokens, the shortest reply needs {needed}")
        self.needed, self.given = needed, given


class ContextOverflow(RouteError):
    """Prompt plus cap do not fit the context; nothing is ever cut. All numbers are tokens."""

    def __init__(self, *, prompt_tokens: int, cap: int, given: int, largest: Iterable[tuple[str, int]] = ()) -> None:
        self.prompt_tokens, self.cap, self.given, self.needed = prompt_tokens, cap, given, prompt_tokens + cap
        self.largest = tuple(largest)
        text = f"prompt ({prompt_tokens} tokens) + cap ({cap}) = {self.needed}, the context holds {given}"
        if self.largest:
            text += "; largest tools: " + ", ".join(f"{name} ({count})" for name, count in self.largest)
        super().__init__(text)


class ToolChoiceError(RouteError):
    """A ``tool_choice`` that cannot be enforced. ``offered``: the names that can."""

    def __init__(self, reason: str, *, tool_choice: object, offered: Iterable[str] = ()) -> None:
        self.tool_choice, self.offered = tool_choice, tuple(offered)
        super().__init__(f"tool_choice {tool_choice!r}: {reason}" + (f"; offered: {', '.join(self.offered)}" if self.offered else ""))


class ReplyRejected(RouteError):
    """A finished reply fails a check made after decoding (an ``after`` keyword). ``text``: the whole reply."""

    def __init__(self, reason: str, *, tool: str | None = None, text: str = "") -> None:
        super().__init__(_where(None, tool, None) + reason)
        self.reason, self.tool, self.text = reason, tool, text


class ModelError(RouteError):
    """A model name or file is unusable. ``model``: what was asked for."""

    def __init__(self, reason: str, *, model: str = "") -> None:
        super().__init__(f"model {model!r}: {reason}" if model else reason)
        self.model, self.reason = model, reason


class DownloadError(ModelError):
    """A model could not be fetched, or what came has the wrong hash."""


class EngineError(RouteError):
    """llama.cpp refused or failed. ``code``: its return code, where there is one."""

    def __init__(self, reason: str, *, code: int | None = None) -> None:
        super().__init__(reason if code is None else f"{reason} (llama.cpp code {code})")
        self.reason, self.code = reason, code


class Aborted(EngineError):
    """The caller's abort callback or deadline stopped a model step."""
