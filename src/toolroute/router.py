"""Catalogue + engine → action.

A request goes through four stages. *Offer*: the catalogue (read anew for every request where it is a callable) and ``tool_choice``
give the route. *Decide*: which alternative, by scoring whole names (the default) or greedily. *Write*: the rest of the reply under
the mask, for the decided tool with its documentation in the prompt. *Check*: the reply is parsed strictly and its arguments
validated, whatever wrote it.

The prompt begins with what depends on the catalogue only, so its tokens are evaluated once and reused. Nothing is ever cut to fit:
a prompt and cap that exceed the context are refused with both numbers.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .action import Action, Score, Timings, Usage, softmax
from .catalogue import Catalogue, Tool
from .engine.decode import Decoder, Step
from .engine.gate import Gate, margins, shipped_gate
from .engine.gbnf import GrammarMatcher
from .engine.protocol import Engine
from .engine.sampler import Sampler
from .engine.score import NameScores, score_names
from .engine.template import encode_chat, render_chat
from .errors import ContextOverflow, EngineError, ReplyRejected, ToolChoiceError
from .mask import MaskTable, Matcher
from .prompts import CONTENT_FREE, Message, as_messages, full_messages, late_text, system_text
from .route import parse_route, tool_parameters_doc
from .route.terminal import Terminals
from .route.validate import argument_validator
from .schema import Route, compile_route
from .schema.lower import StyleName

Decide = Literal["score", "greedy"]
DocsChoice = Literal["auto", "late", "full", "signatures", "schemas"]
OnCap = Literal["complete", "stop"]
Constraint = Literal["mask", "gbnf"]

FULL_DOCS_TOKENS: Final = 256
"""With ``docs="auto"``: the tokens that all parameter documentation may add to the reused prefix (count); beyond it, only the
chosen tool's is added, after the decision. About what two or three requests spend on reading late documentation."""

CHECKED_AHEAD: Final = 128
"""Tools whose argument validators are built when a catalogue is first seen (count, about 1 ms each); further ones are built when their tool
is chosen."""

_OFFERS_KEPT: Final = 8


class UnfittedGateWarning(UserWarning):
    """No gate was fitted for this model and prompt: whether to call a tool is decided by plain log-probabilities."""


@dataclass
class _Offer:
    """What one catalogue means for one router."""

    given: Catalogue
    route: Route
    docs: Literal["late", "full", "signatures", "schemas"]
    system: str
    priors: dict[str, float]


class Router:
    """Routes requests with one engine.

    ``catalogue``: tools, or a callable that gives them for each request; ``cap``: most tokens of a reply; ``terminals``: how a
    request may end without a tool; ``decide``: ``"score"`` whole names or ``"greedy"``; ``docs``: where parameter documentation
    stands: ``"full"`` in the catalogue's prompt, ``"late"`` for the chosen tool after the decision, ``"auto"`` the cheaper of the
    two, ``"signatures"`` nowhere, ``"schemas"`` full JSON Schemas; ``gate``: decides call or no call (None: none, ``"fitted"``: the
    one shipped for this model); ``on_cap``: ``"complete"`` closes the reply within the cap, ``"stop"`` cuts it there;
    ``constraint``: ``"mask"``, or ``"gbnf"`` for llama.cpp's own grammar sampler; ``format_assertion``: whether ``format`` asserts
    something;
    ``temperature``, ``top_k``, ``top_p``, ``seed``: of the arguments (greedy by default). Not thread-safe: one request at a time.
    """

    def __init__(
        self,
        engine: Engine,
        catalogue: Iterable[Any] | Callable[[], Iterable[Any]],
        cap: int = 256,
        *,
        terminals: Terminals = ("none",),
        style: StyleName = "spaced",
        decide: Decide = "score",
        docs: DocsChoice = "late",
        gate: Gate | Literal["fitted"] | None = "fitted",
        on_cap: OnCap = "complete",
        constraint: Constraint = "mask",
        format_assertion: bool = False,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int | None = 0,
    ) -> None:
        for name, value, known in (
            ("decide", decide, ("score", "greedy")),
            ("docs", docs, ("auto", "late", "full", "signatures", "schemas")),
            ("on_cap", on_cap, ("complete", "stop")),
            ("constraint", constraint, ("mask", "gbnf")),
        ):
            if value not in known:
                raise ValueError(f"{name}={value!r} is none of {', '.join(known)}")
        if cap < 1:
            raise ValueError(f"cap {cap} is not a positive number of tokens")
        self.engine, self.cap, self.style = engine, cap, style
        self.decide, self.docs, self.on_cap, self.terminals = decide, docs, on_cap, terminals
        self.constraint, self.format_assertion = constraint, format_assertion
        if constraint == "gbnf" and not hasattr(engine, "grammar"):
            raise EngineError(f"the engine {engine.name!r} has no grammars: constraint='gbnf' needs llama.cpp")
        self.sampler = Sampler(temperature, top_k, top_p, seed)
        self._gate = gate
        self._catalogue = catalogue
        self._offers: list[_Offer] = []
        MaskTable.of(engine.vocabulary).prepare()  # once per vocabulary; else the first string of the first reply would wait for it
        if not callable(catalogue):
            self._catalogue = catalogue if isinstance(catalogue, Catalogue) else Catalogue.from_tools(catalogue)
            self._offer()

    # -- offer -----------------------------------------------------------------------------------------------------------------

    @property
    def route_offered(self) -> Route:
        """The route of the present catalogue, with every tool and terminal."""
        return self._offer().route

    def _offer(self) -> _Offer:
        given = self._catalogue() if callable(self._catalogue) else self._catalogue
        catalogue = given if isinstance(given, Catalogue) else Catalogue.from_tools(given)
        for offer in self._offers:
            if offer.given is catalogue or offer.given == catalogue:
                return offer
        route = compile_route(catalogue, self.terminals, self.style, format_assertion=self.format_assertion)
        for tool in route.tools[:CHECKED_AHEAD]:
            # A schema the validator refuses is refused now, not after the model has answered.
            argument_validator(tool, self.format_assertion)
        docs = self._docs(route)
        system = system_text(route.tools, route.terminals, "signatures" if docs == "late" else docs, self.style)
        # Priors are a property of the prompt and the names, so a catalogue that changed elsewhere keeps them.
        same = next((o for o in self._offers if o.system == system and o.route.choices == route.choices), None)
        offer = _Offer(catalogue, route, docs, system, {} if same is None else same.priors)
        self._offers = [*self._offers[-_OFFERS_KEPT + 1 :], offer]
        return offer

    def _docs(self, route: Route) -> Literal["late", "full", "signatures", "schemas"]:
        if self.docs != "auto":
            return self.docs
        if self.decide == "score" and self._gate == "fitted" and shipped_gate(self.engine.model_hash, f"{self.style}/full") is None:
            return "late"  # the decision would have no gate under the longer prompt
        text = 0
        for tool in route.tools:
            text += len(tool_parameters_doc(tool))
            if text > FULL_DOCS_TOKENS * 8:  # no need to tokenise what is certainly too much
                return "late"
        documentation = "\n".join(tool_parameters_doc(tool) for tool in route.tools)
        return "full" if len(self.engine.tokenize(documentation)) <= FULL_DOCS_TOKENS else "late"

    def _choices(self, offer: _Offer, tool_choice: str | Mapping[str, Any]) -> Route:
        """The route that ``tool_choice`` leaves."""
        route = offer.route
        ends = [end.name for end in route.terminals]
        if isinstance(tool_choice, Mapping):
            function = tool_choice.get("function")
            name = function.get("name") if isinstance(function, Mapping) else tool_choice.get("name")
            if tool_choice.get("type") != "function" or not isinstance(name, str):
                raise ToolChoiceError('an object must be {"type": "function", "function": {"name": NAME}}', tool_choice=tool_choice)
            tool_choice = name
        elif tool_choice == "auto":
            return route
        elif tool_choice == "required":
            if not route.names:
                raise ToolChoiceError("the catalogue has no tool", tool_choice=tool_choice)
            return route.only(route.names)
        elif tool_choice == "none":
            if not ends:
                raise ToolChoiceError("the route has no terminal", tool_choice=tool_choice)
            return route.only(ends)
        if tool_choice not in route.names:
            raise ToolChoiceError("no such tool", tool_choice=tool_choice, offered=route.names)
        return route.only([tool_choice])

    # -- prompt ----------------------------------------------------------------------------------------------------------------

    def prompt_tokens(self, offer: _Offer, messages: Sequence[Message], appended: str = "") -> list[int]:
        """The tokens of a whole prompt, up to where the reply begins."""
        engine = self.engine
        pieces = render_chat(
            engine.chat_template, full_messages(offer.system, messages, appended), engine.bos_text, engine.eos_text, model=engine.name
        )
        return encode_chat(engine, pieces)

    def _reserve(self, offer: _Offer, tokens: int, cap: int) -> None:
        capacity = self.engine.reserve(tokens + cap)
        if capacity < tokens + cap:
            sizes = ((tool.name, len(self.engine.tokenize(tool_parameters_doc(tool)))) for tool in offer.route.tools)
            largest = sorted(sizes, key=lambda size: -size[1])[:3]
            raise ContextOverflow(prompt_tokens=tokens, cap=cap, given=capacity, largest=largest)

    # -- the whole way ---------------------------------------------------------------------------------------------------------

    def route(
        self,
        request: str | Sequence[Mapping[str, Any]],
        *,
        tool_choice: str | Mapping[str, Any] = "auto",
        cap: int | None = None,
        detail: bool = False,
        on_step: Callable[[Step], None] | None = None,
    ) -> Action:
        """The next action for ``request``: a text, or chat messages (role and content, the last one the one to act on).

        ``tool_choice``: ``"auto"``, ``"required"`` (a tool), ``"none"`` (a terminal), a tool's name, or OpenAI's object for one;
        ``cap``: for this request; ``detail``: keep the reply token by token in ``action.steps``; ``on_step``: called with each
        token as it is taken.

        Raises ``ToolChoiceError``, ``CapTooSmall``, ``ContextOverflow``, ``ReplyRejected`` (an ``after`` keyword refused the
        finished reply), ``EngineError``, and what the catalogue raises.
        """
        return _Request(self, request, tool_choice, self.cap if cap is None else cap, detail, on_step).run()

    def gate_for(self, offer: _Offer) -> Gate | None:
        """The gate that decides between calling and not calling."""
        if self._gate == "fitted":
            return shipped_gate(self.engine.model_hash, f"{self.style}/{'signatures' if offer.docs == 'late' else offer.docs}")
        return self._gate


class _Request:
    """One request under way."""

    def __init__(
        self,
        router: Router,
        request: str | Sequence[Mapping[str, Any]],
        tool_choice: str | Mapping[str, Any],
        cap: int,
        detail: bool,
        on_step: Callable[[Step], None] | None,
    ) -> None:
        self.router, self.engine, self.cap, self.detail, self.on_step = router, router.engine, cap, detail, on_step
        self.started = time.perf_counter()
        self.first_step = self.engine.steps
        self.messages = as_messages(request)
        self.offer = router._offer()
        self.route = router._choices(self.offer, tool_choice)
        self.compiled = time.perf_counter() - self.started
        self.prompt_seconds = self.score_seconds = 0.0
        self.prompt_steps = self.scored_tokens = 0
        self.scores: tuple[Score, ...] = ()
        self.confidence: float | None = None
        self.capped = False
        self.reused: int | None = None

    def run(self) -> Action:
        stop = self.router.on_cap == "stop"
        # Fails here, before any model step, where not even the shortest reply fits.
        Matcher(self.route, self.engine.vocabulary, None if stop else self.cap)
        prompt = self._prompt()
        chosen = self.route
        if len(self.route.choices) == 1:
            name: str | None = self.route.choices[0]
        else:
            name = self._decide(prompt) if self.router.decide == "score" else None
        tool = next((tool for tool in self.route.tools if tool.name == name), None)
        if name is not None:
            chosen = self.route.only([name])
            if tool is not None and self.offer.docs == "late":
                prompt = self._prompt(late_text(tool))
        return self._write(prompt, chosen)

    def _prompt(self, appended: str = "") -> list[int]:
        started = time.perf_counter()
        tokens = self.router.prompt_tokens(self.offer, self.messages, appended)
        self.router._reserve(self.offer, len(tokens), self.cap)
        self.prompt_seconds += time.perf_counter() - started
        return tokens

    # -- decide ----------------------------------------------------------------------------------------------------------------

    def _decide(self, prompt: list[int]) -> str:
        """The name to choose, by scores of whole names."""
        route, offer = self.route, self.offer
        ends = {end.name for end in route.terminals}
        gate = self.router.gate_for(offer)
        stems = {name: route.stem(name) for name in route.choices}
        wants_prior = gate is not None
        if wants_prior and not stems.keys() <= offer.priors.keys():
            # Once per catalogue: every choice, so that another tool_choice finds its priors too.
            every = {name: offer.route.stem(name) for name in offer.route.choices}
            empty = self.router.prompt_tokens(offer, [{"role": "user", "content": CONTENT_FREE}])
            offer.priors.update(self._score(empty, every).sums)
        sums = self._score(prompt, stems).sums
        picking = dict(sums)
        if gate is not None and gate.tool_by == "corrected":
            picking = {name: value - offer.priors[name] for name, value in sums.items()}
        order = sorted(picking, key=lambda n: -picking[n])
        if ends and len(ends) < len(stems):
            if gate is None:
                if self.router._gate == "fitted":
                    warnings.warn(
                        f"no gate is fitted for {self.engine.name}: call or no call is decided by plain log-probabilities",
                        UnfittedGateWarning,
                        stacklevel=4,
                    )
            else:
                self.confidence = gate.confidence(margins(sums, offer.priors, ends))
                wanted = self.confidence > 0.5
                order.sort(key=lambda n: (n in ends) == wanted)
        probability = softmax(picking)
        self.scores = tuple(Score(n, sums[n], offer.priors.get(n), probability[n]) for n in order)
        for name in order:
            if self._fits(name):
                return name
            self.capped = True  # the cap, not the model, turned this choice away
        raise AssertionError("the shortest reply of the route fits, so one of its choices does")

    def _fits(self, name: str) -> bool:
        if self.router.on_cap == "stop":
            return True
        vocabulary = self.engine.vocabulary
        return len(vocabulary.spell(self.route.only([name]).shortest)) <= self.cap

    def _score(self, prompt: list[int], stems: Mapping[str, str]) -> NameScores:
        self.router._reserve(self.offer, len(prompt), self.cap)
        found = score_names(self.engine, prompt, stems)
        self.reused = found.reused
        self.prompt_seconds += found.seconds_prompt
        self.score_seconds += found.seconds_score
        self.scored_tokens += found.tokens
        self.prompt_steps += -(-(len(prompt) - found.reused) // self.engine.n_batch)
        return found

    # -- write and check -------------------------------------------------------------------------------------------------------

    def _write(self, prompt: list[int], route: Route) -> Action:
        engine, router = self.engine, self.router
        stop = router.on_cap == "stop"
        cap = None if stop else self.cap
        if router.constraint == "mask":
            return self._decode(prompt, Matcher(route, engine.vocabulary, cap, engine.tokenize))
        with contextlib.closing(engine.grammar(route.gbnf())) as grammar:  # type: ignore[attr-defined]
            return self._decode(prompt, GrammarMatcher(route, engine.vocabulary, cap, engine.tokenize, grammar=grammar))

    def _decode(self, prompt: list[int], matcher: Matcher) -> Action:
        engine, router = self.engine, self.router
        stop = router.on_cap == "stop"
        router.sampler.restart()
        decoder = Decoder(engine, matcher, router.sampler, limit=self.cap if stop else None, detail=self.detail, on_step=self.on_step)
        decoder.take_forced()
        reused = len(prompt)
        if not matcher.is_complete and not decoder.stopped:
            whole = [*prompt, *decoder.pending]
            reused = engine.reuse(whole)
            started, before = time.perf_counter(), engine.steps
            row = engine.evaluate(whole[reused:])
            decoder.pending = []
            if reused < len(prompt):
                self.prompt_seconds += time.perf_counter() - started
                self.prompt_steps += engine.steps - before
            else:
                decoder.tally.decode += time.perf_counter() - started
            decoder.run(row)
        return self._action(prompt, min(reused if self.reused is None else self.reused, len(prompt)), matcher, decoder)

    def _action(self, prompt: list[int], reused: int, matcher: Matcher, decoder: Decoder) -> Action:
        started = time.perf_counter()
        finished = matcher.is_complete or matcher.is_terminated
        cut = not finished or matcher.capped or self.capped
        text = matcher.text.decode("utf-8", "replace" if not finished else "strict")
        tool: str | None = None
        arguments: dict[str, Any] | None = None
        if finished:
            parsed = parse_route(text, self.route.names, self.route.terminals)
            if not parsed.ok:
                raise ReplyRejected(parsed.error or "the reply does not parse", text=text)
            tool, arguments = parsed.tool, parsed.arguments
            self._validate(tool, arguments, text, cut)
        tally, now = decoder.tally, time.perf_counter()
        return Action(
            tool=tool,
            arguments=arguments,
            text=text,
            stop_reason="cap" if cut else "complete",
            complete=not cut,
            is_terminal=any(end.name == tool for end in self.route.terminals),
            scores=self.scores,
            confidence=self.confidence,
            usage=Usage(
                prompt_tokens=len(prompt),
                reused_tokens=reused,
                forced_tokens=tally.forced,
                decided_tokens=tally.decided,
                scored_tokens=self.scored_tokens,
                prompt_steps=self.prompt_steps,
                model_steps=self.engine.steps - self.first_step,
                overrides=tally.overrides,
            ),
            timings=Timings(
                compile=self.compiled,
                prompt=self.prompt_seconds,
                score=self.score_seconds,
                decode=tally.decode,
                mask=tally.mask,
                choose=tally.choose,
                parse=now - started,
                total=now - self.started,
            ),
            steps=tuple(tally.steps),
        )

    def _validate(self, name: str | None, arguments: dict[str, Any] | None, text: str, cut: bool) -> None:
        """The check that runs on every reply, whatever the mask knew. A cut reply is reported as cut, which forbids its execution
        anyway."""
        holder = next((tool for tool in self.route.tools if tool.name == name), None)
        if holder is None:
            end = next((end for end in self.route.terminals if end.name == name), None)
            if end is None or end.parameters is None:
                return
            holder = Tool(end.name, end.description, end.parameters)
        fault = argument_validator(holder, self.router.format_assertion).check(arguments)
        if fault is not None and not cut:
            raise ReplyRejected(fault, tool=name, text=text)
