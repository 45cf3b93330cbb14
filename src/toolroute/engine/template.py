"""Chat templates: messages in, prompt text out, with the messages' own text kept apart.

Theory: a template comes inside a model file and is untrusted code, so it runs in Jinja's immutable sandbox (it can loop for long, it
cannot reach anything). Message text is untrusted *data*: "<|im_end|>" typed by a user, or standing in a tool description, must
stay those ten letters and never become the control token. So each content is put between two marks (private-use characters that
occur nowhere else) before rendering, and the result is split at them: between the marks is content, the rest is the template's.
The template's text is tokenised with control tokens, content without.

The marks sit inside the content's outer blanks, so that a template's ``| trim`` does what it always does, and around the parts of an
assistant's text that ``<think>`` and ``</think>`` separate, because templates cut there. A template that cuts a content anywhere
else, or leaves out a message, is refused (`ModelError`), never guessed at.

`encode_chat` gives the tokens that tokenising the whole text at once gives, unless that would make a control token out of content;
then, and only then, it tokenises piece by piece. A model without a template gets the plain form "System: … User: … Assistant: ".
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolroute.engine.protocol import Engine
from toolroute.errors import ModelError

_SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True)
class Piece:
    """A part of a prompt. ``special``: written by the template, so control tokens in it are meant."""

    text: str
    special: bool


def render_chat(
    template: str | None,
    messages: Sequence[Mapping[str, str]],
    bos_token: str = "",
    eos_token: str = "",
    add_generation_prompt: bool = True,
    *,
    now: datetime.datetime | None = None,
    model: str = "",
) -> list[Piece]:
    """The prompt for `messages` (each a role and a content) as pieces. ``now``: the time a template may ask for; ``model``: the
    model's name for errors.

    A template that refuses or leaves out a system message gets its text at the head of the first user message instead.
    """
    plain = [(message["role"], message["content"]) for message in messages]
    if template is None:
        return _plain_prompt(plain, add_generation_prompt)
    names = {"bos_token": bos_token, "eos_token": eos_token, "add_generation_prompt": add_generation_prompt}
    marks = _marks([template, bos_token, eos_token, *(content for _, content in plain)])
    moment = now or datetime.datetime.now()
    try:
        return _render(template, plain, marks, moment, names)
    except ModelError as error:
        merged = _without_system(plain)
        if merged is not None:
            with contextlib.suppress(ModelError):
                return _render(template, merged, marks, moment, names)
        raise ModelError(error.reason, model=model) from error


def prompt_text(pieces: Sequence[Piece]) -> str:
    """The whole prompt as text."""
    return "".join(piece.text for piece in pieces)


def encode_chat(engine: Engine, pieces: Sequence[Piece]) -> list[int]:
    """The tokens of a prompt, opening with the model's first token where it wants one."""
    apart = [token for piece in pieces for token in engine.tokenize(piece.text, special=piece.special)]
    whole = engine.tokenize(prompt_text(pieces), special=True)
    writable = engine.vocabulary.pieces
    same = [token for token in whole if not writable[token]] == [token for token in apart if not writable[token]]
    tokens = whole if same else apart
    if engine.add_bos and engine.bos is not None and tokens[:1] != [engine.bos]:
        tokens.insert(0, engine.bos)
    return tokens


# -- marks ---------------------------------------------------------------------------------------------------------------------


def _marks(texts: Sequence[str]) -> tuple[str, str]:
    """Two private-use characters that occur in none of `texts`."""
    used = {character for text in texts for character in re.findall("[\ue000-\uf8ff]", text)}
    free = (chr(code) for code in range(0xE000, 0xF900) if chr(code) not in used)
    try:
        return next(free), next(free)
    except StopIteration:
        raise ModelError("the messages use every private-use character, none is left to mark them with") from None


def _marked(role: str, content: str, opening: str, closing: str) -> str:
    """`content` with its text between marks; blanks around it, and an assistant's thinking tags, stay outside."""
    parts = re.split("(</?think>)", content) if role == "assistant" else [content]
    for index in range(0, len(parts), 2):
        part = parts[index]
        body = part.strip()
        if body:
            head, _, tail = part.partition(body)
            parts[index] = head + opening + body + closing + tail
    return "".join(parts)


def _split(text: str, opening: str, closing: str) -> list[Piece]:
    """Pieces of a rendered text; refuses marks that are not in pairs."""
    pieces: list[Piece] = []
    inside = False
    for part in re.split(f"([{opening}{closing}])", text):
        if part in (opening, closing):
            if inside != (part == closing):
                raise ModelError("its chat template cuts a message's text apart, so text and template cannot be told from each other")
            inside = not inside
        elif part:
            pieces.append(Piece(part, special=not inside))
    if inside:
        raise ModelError("its chat template cuts a message's text apart, so text and template cannot be told from each other")
    return pieces


def _without_system(messages: list[tuple[str, str]]) -> list[tuple[str, str]] | None:
    """The messages with the leading system text at the head of the first user message, or None if that cannot be."""
    count = next((i for i, (role, _) in enumerate(messages) if role not in _SYSTEM_ROLES), len(messages))
    if not 0 < count < len(messages) or messages[count][0] != "user":
        return None
    texts = [content for _, content in messages[: count + 1] if content]
    return [("user", "\n\n".join(texts)), *messages[count + 1 :]]


def _plain_prompt(messages: list[tuple[str, str]], add_generation_prompt: bool) -> list[Piece]:
    pieces = []
    for role, content in messages:
        pieces += [Piece(f"{role.capitalize()}: ", special=True), Piece(content, special=False), Piece("\n\n", special=True)]
    if add_generation_prompt:
        pieces.append(Piece("Assistant: ", special=True))
    return [piece for piece in pieces if piece.text]


# -- the sandbox ---------------------------------------------------------------------------------------------------------------


def _render(
    template: str, messages: list[tuple[str, str]], marks: tuple[str, str], now: datetime.datetime, names: Mapping[str, object]
) -> list[Piece]:
    def strftime_now(form: str) -> str:
        return now.strftime(form)

    marked = [{"role": role, "content": _marked(role, content, *marks)} for role, content in messages]
    try:
        text = str(_compiled(template).render(messages=marked, strftime_now=strftime_now, tools=None, documents=None, **names))
    except ModelError:
        raise
    except Exception as error:  # a template is foreign code: whatever it raises is its own failure
        raise ModelError(f"its chat template fails: {type(error).__name__}: {error}"[:300]) from error
    pieces = _split(text, *marks)
    shown = {piece.text for piece in pieces if not piece.special}
    for role, content in messages:
        if role != "assistant" and content.strip() and content.strip() not in shown:
            raise ModelError(f"its chat template leaves out or changes the text of a {role} message")
    return pieces


@functools.lru_cache(maxsize=16)
def _compiled(template: str) -> Any:
    return _environment().from_string(template)


@functools.cache
def _environment() -> Any:
    """Jinja as chat templates expect it (the conventions of Hugging Face's ``apply_chat_template``), sandboxed."""
    try:
        import jinja2.ext
        import jinja2.nodes
        import jinja2.parser
        import jinja2.sandbox
    except ModuleNotFoundError as error:
        raise ModelError("chat templates need jinja2: pip install 'toolroute[llama]'") from error

    class Generation(jinja2.ext.Extension):
        """``{% generation %} … {% endgeneration %}`` marks text for training; here it is just its content."""

        tags = {"generation"}  # noqa: RUF012  the attribute Jinja reads

        def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.Scope(body).set_lineno(line)

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    def tojson(value: Any, indent: int | None = None, ensure_ascii: bool = False, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    return environment
