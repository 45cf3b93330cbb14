"""The router on scripted models: what is offered, how it decides, what it costs, and how it refuses."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scripts import BYTES, engine, writes

from toolroute.action import Action
from toolroute.catalogue import Catalogue
from toolroute.engine import ScriptedEngine
from toolroute.engine.decode import Step
from toolroute.engine.gate import Gate, Margins, margins
from toolroute.errors import (
    CapTooSmall,
    CatalogueError,
    ContextOverflow,
    EngineError,
    ReplyRejected,
    RouteError,
    SchemaError,
    ToolChoiceError,
)
from toolroute.mask import MaskTable
from toolroute.route import Terminal
from toolroute.router import Router, UnfittedGateWarning

WEATHER = {
    "name": "get_weather",
    "description": "Forecast for a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name."}, "days": {"type": "integer", "minimum": 1}},
        "required": ["city"],
    },
}
MAIL = {
    "name": "send_mail",
    "description": "Send a mail.",
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
}
TOOLS = [WEATHER, MAIL]
OSLO = '{"tool": "get_weather", "arguments": {"city": "Oslo"}}'
MAILED = '{"tool": "send_mail", "arguments": {"to": "Ann"}}'
NONE = '{"tool": "none"}'


def make(*texts: str, tools: Any = TOOLS, **options: Any) -> Router:
    return Router(engine(*texts), tools, **{"gate": None, "cap": 200, **options})


@pytest.mark.parametrize("decide", ["score", "greedy"])
@pytest.mark.parametrize("docs", ["auto", "late", "full", "signatures", "schemas"])
def test_a_call(decide: str, docs: str) -> None:
    action = make(OSLO, decide=decide, docs=docs).route("What is the weather in Oslo?")
    assert isinstance(action, Action) and (action.tool, action.arguments, action.text) == ("get_weather", {"city": "Oslo"}, OSLO)
    assert (
        action.complete and action.stop_reason == "complete" and not action.is_terminal and action.confidence is None and action.steps == ()
    )
    assert action.usage.reply_tokens == len(OSLO) and action.usage.overrides == 0
    assert json.loads(json.dumps(action.to_dict()))["arguments"] == {"city": "Oslo"}


@pytest.mark.parametrize("decide", ["score", "greedy"])
@pytest.mark.parametrize("style", ["spaced", "compact"])
def test_none(decide: str, style: str) -> None:
    text = NONE if style == "spaced" else NONE.replace(" ", "")
    action = make(text, decide=decide, style=style).route("Hello")
    assert (action.tool, action.arguments, action.text, action.is_terminal, action.complete) == ("none", None, text, True, True)


def test_the_vocabulary_is_read_before_the_first_request() -> None:
    router = make('{"tool": "none"}')
    table = MaskTable.of(router.engine.vocabulary)
    assert set(table.strings) == {False, True}
    before = [len(strings._readings) for strings in table.strings.values()]
    router.route("hi")
    assert before == [len(strings._readings) for strings in table.strings.values()] and table.prepare() is table


def test_format_asserts_where_it_is_asked_to() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}, "required": ["d"]}}]
    texts = ['{"tool": "f", "arguments": {"d": "tomorrow"}}', '{"tool": "f", "arguments": {"d": "2024-02-29"}}']
    assert make(texts[0], tools=tools).route("hi", tool_choice="f").arguments == {"d": "tomorrow"}
    router = make(texts[1], tools=tools, format_assertion=True)
    assert router.route("hi", tool_choice="f").arguments == {"d": "2024-02-29"}
    assert [router.route_offered.accepts(text) for text in texts] == [False, True]


def test_scores_are_reported_best_first() -> None:
    action = make(MAILED).route("Write to Ann")
    assert [score.name for score in action.scores] == sorted((s.name for s in action.scores), key=lambda n: n != "send_mail") and len(
        action.scores
    ) == 3
    assert action.scores[0].name == action.tool == "send_mail" and action.scores[0].prior is None
    assert sum(score.probability for score in action.scores) == pytest.approx(1) and action.scores[0].logprob == max(
        s.logprob for s in action.scores
    )
    assert make(MAILED, decide="greedy").route("Write to Ann").scores == ()


def test_messages() -> None:
    router = make(OSLO)
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": NONE},
        {"role": "user", "content": "Oslo?"},
    ]
    assert router.route(chat).tool == "get_weather"
    text = bytes(t for t in router.engine.tokens if t < 256).decode()
    assert text.count("Be brief.") == 1 and text.index("get_weather") < text.index("Be brief.") < text.index("Oslo?")
    for wrong in ([], [{"role": "user"}], [{"role": "user", "content": ["x"]}]):
        with pytest.raises(RouteError):
            router.route(wrong)


# -- tool_choice ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decide", ["score", "greedy"])
@pytest.mark.parametrize(
    ("choice", "wants", "tool"),
    [
        ("auto", NONE, "none"),
        ("auto", OSLO, "get_weather"),
        ("required", NONE, None),
        ("required", MAILED, "send_mail"),
        ("none", OSLO, "none"),
        ("get_weather", MAILED, "get_weather"),
        ("send_mail", NONE, "send_mail"),
        ({"type": "function", "function": {"name": "send_mail"}}, OSLO, "send_mail"),
        ({"type": "function", "name": "get_weather"}, NONE, "get_weather"),
    ],
)
def test_tool_choice(choice: Any, wants: str, tool: str | None, decide: str) -> None:
    action = make(wants, decide=decide).route("x", tool_choice=choice)
    assert action.tool == tool if tool else action.tool in ("get_weather", "send_mail")


@pytest.mark.parametrize(
    "choice",
    [
        "nope",
        "",
        "None",
        "tool",
        {"type": "function"},
        {"type": "tool", "name": "get_weather"},
        {"type": "function", "function": {"name": 3}},
        {"name": "send_mail"},
    ],
)
def test_tool_choices_that_cannot_be_kept(choice: Any) -> None:
    router = make(OSLO)
    with pytest.raises(ToolChoiceError) as caught:
        router.route("x", tool_choice=choice)
    assert caught.value.tool_choice in (choice, "nope") and router.engine.steps == 0
    if choice == "nope":
        assert caught.value.offered == ("get_weather", "send_mail")


def test_tool_choices_without_tools_or_terminals() -> None:
    with pytest.raises(ToolChoiceError):
        make(NONE, tools=[]).route("x", tool_choice="required")
    with pytest.raises(ToolChoiceError):
        make(OSLO, terminals=()).route("x", tool_choice="none")
    assert make(NONE, tools=[]).route("x").tool == "none"
    assert make(OSLO, terminals=()).route("x").tool == "get_weather"


def test_terminals_with_arguments() -> None:
    finish = Terminal("finish", {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}, "Say the answer.")
    text = '{"tool": "finish", "arguments": {"answer": "42"}}'
    action = make(text, terminals=("none", finish)).route("x")
    assert (action.tool, action.arguments, action.is_terminal) == ("finish", {"answer": "42"}, True)
    assert make(text, terminals=("none", finish)).route("x", tool_choice="none").tool == "finish"


# -- what it costs -------------------------------------------------------------------------------------------------------------


def test_a_greedy_none_costs_no_step_after_the_prompt() -> None:
    router = make(NONE, decide="greedy")
    for request in ("Hello", "How are you?"):
        before = router.engine.steps
        action = router.route(request)
        usage = action.usage
        assert action.tool == "none" and usage.model_steps == usage.prompt_steps == router.engine.steps - before == 1
        assert usage.decided_tokens == 1 and usage.forced_tokens == len(NONE) - 1 and usage.scored_tokens == 0
    assert 0 < usage.reused_tokens < usage.prompt_tokens


def test_a_scored_none_costs_one_scoring_batch() -> None:
    router = make(NONE)
    for request in ("Hello", "How are you?"):
        before = router.engine.steps
        usage = router.route(request).usage
        assert usage.prompt_steps == 1 and usage.model_steps == router.engine.steps - before == 2 and usage.scored_tokens > 0
        assert usage.decided_tokens == 0 and usage.forced_tokens == len(NONE)


def test_a_prompt_longer_than_a_batch_costs_its_batches() -> None:
    router = Router(engine(NONE, n_batch=64), TOOLS, gate=None, decide="greedy")
    usage = router.route("Hello").usage
    assert usage.model_steps == usage.prompt_steps == -(-(usage.prompt_tokens + len('{"tool": "')) // 64)


def test_a_reply_without_a_decision_costs_nothing() -> None:
    router = make(OSLO, tools=[{"name": "ping"}])
    action = router.route("x", tool_choice="ping")
    assert action.text == '{"tool": "ping", "arguments": {}}' and action.usage.model_steps == router.engine.steps == 0
    assert action.usage.forced_tokens == len(action.text) and router.route("x", tool_choice="none").usage.model_steps == 0


def test_one_step_a_decision_and_none_after_the_last() -> None:
    router = make(OSLO, decide="greedy")
    action = router.route("x")
    usage = action.usage
    # Every decision but the first needs a step of its own (the prompt's batch serves the first); the closing braces need none.
    assert usage.model_steps == usage.prompt_steps + usage.decided_tokens - 1
    # The last decision is the brace after Oslo" (a member could follow); neither it nor the forced brace after it is evaluated.
    assert bytes(router.engine.tokens[-len(OSLO) + 2 :]).decode() == OSLO.removesuffix("}}")


def test_steps_and_details() -> None:
    seen: list[Step] = []
    action = make(OSLO, decide="greedy").route("x", detail=True, on_step=seen.append)
    assert [step.token for step in action.steps] == [step.token for step in seen] == list(OSLO.encode())
    decided = [step for step in seen if not step.forced]
    assert len(decided) == action.usage.decided_tokens and all(step.allowed and 0 < (step.probability or 0) <= 1 for step in decided)
    assert decided[0].text == b"g" and decided[0].allowed == 3 and all(step.allowed is None for step in seen if step.forced)


def test_overrides_are_counted() -> None:
    assert make(OSLO.replace("Oslo", "Os\nlo"), decide="greedy").route("x").usage.overrides >= 1


def test_timings_add_up() -> None:
    timings = make(OSLO).route("x").timings
    parts = [timings.compile, timings.prompt, timings.score, timings.decode, timings.mask, timings.choose, timings.parse]
    assert min(parts) >= 0 and sum(parts) <= timings.total * 1.01


def test_equal_requests_get_equal_replies() -> None:
    def row(tokens: Any) -> np.ndarray:
        return np.random.default_rng(list(tokens[-4:])).normal(size=257).astype(np.float32) * 2

    for options in ({}, {"temperature": 1.0, "seed": 3}, {"temperature": 0.8, "top_k": 5, "top_p": 0.9, "seed": 4}):
        router = Router(ScriptedEngine(BYTES, row), TOOLS, 120, gate=None, **options)
        first = router.route("x")
        assert [router.route("x").text for _ in range(3)] == [first.text] * 3
        assert Router(ScriptedEngine(BYTES, row), TOOLS, 120, gate=None, **options).route("x").text == first.text


# -- the cap -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decide", ["score", "greedy"])
def test_every_cap(decide: str) -> None:
    long = '{"tool": "get_weather", "arguments": {"city": "' + "x" * 100
    for cap in range(len(NONE), 120, 7):
        router = make(long, decide=decide, cap=cap)
        action = router.route("x")
        assert len(action.text) <= cap and action.usage.reply_tokens <= cap and router.route_offered.accepts(action.text)
        assert (action.stop_reason, action.complete) == ("cap", False)
        assert action.tool == ("none" if cap < 49 else "get_weather")
    fitting = make(OSLO, decide=decide, cap=len(OSLO)).route("x")
    assert fitting.complete and fitting.text == OSLO and fitting.stop_reason == "complete"


def test_caps_that_are_too_small() -> None:
    router = make(OSLO, cap=15)
    with pytest.raises(CapTooSmall) as caught:
        router.route("x")
    assert (caught.value.needed, caught.value.given) == (16, 15) and router.engine.steps == 0
    assert router.route("x", cap=16).tool == "none"
    with pytest.raises(CapTooSmall) as caught:
        router.route("x", tool_choice="send_mail", cap=40)
    assert caught.value.needed == len('{"tool": "send_mail", "arguments": {"to": ""}}')
    with pytest.raises(ValueError, match="cap"):
        make(OSLO, cap=0)


@pytest.mark.parametrize("decide", ["score", "greedy"])
def test_on_cap_stop_cuts(decide: str) -> None:
    for cap in (1, 12, 40, len(OSLO) - 1):
        router = make(OSLO, cap=cap, on_cap="stop", decide=decide)
        action = router.route("x")
        assert action.text == OSLO[:cap] and action.usage.reply_tokens == cap
        assert (action.tool, action.arguments, action.complete, action.stop_reason) == (None, None, False, "cap")
    action = make(OSLO, cap=len(OSLO), on_cap="stop", decide=decide).route("x")
    assert action.complete and action.text == OSLO and action.stop_reason == "complete"


# -- checks afterwards ---------------------------------------------------------------------------------------------------------


def test_a_keyword_that_is_checked_after_refuses_the_reply() -> None:
    tool = {
        "name": "even",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer", "not": {"const": 7}}}, "required": ["n"]},
    }
    good, bad = (json.dumps({"tool": "even", "arguments": {"n": n}}) for n in (8, 7))

    def ends(text: str) -> Router:
        def row(tokens: Any) -> np.ndarray:
            values = writes(text + "\0")(tokens)
            if bytes(t for t in tokens if t < 256).decode().endswith(text[:-2]):
                values[ord("}")] = 20
            return values

        return Router(ScriptedEngine(BYTES, row), [tool], gate=None)

    assert [e.keyword for e in ends(good).route_offered.report.after] in (["not"], [])
    assert ends(good).route("x").arguments == {"n": 8}
    if not ends(bad).route_offered.report.exact:
        with pytest.raises(ReplyRejected) as caught:
            ends(bad).route("x")
        assert caught.value.tool == "even" and caught.value.text == bad and "invalid arguments for even" in caught.value.reason


def test_rows_that_mean_nothing_are_an_error_not_a_choice() -> None:
    def row(tokens: Any) -> np.ndarray:
        values = np.zeros(257, np.float32)
        values[7] = np.nan
        return values

    router = Router(ScriptedEngine(BYTES, row), TOOLS, gate=None, decide="greedy")
    with pytest.raises(EngineError, match="not finite"):
        router.route("x")


def test_context_overflow_names_the_numbers_and_the_largest_tools() -> None:
    big = {
        **WEATHER,
        "name": "big",
        "parameters": {"type": "object", "properties": {"q": {"type": "string", "description": "long " * 200}}},
    }
    router = Router(engine(OSLO, n_ctx=700), [WEATHER, big, MAIL], 100, gate=None)
    with pytest.raises(ContextOverflow) as caught:
        router.route("x" * 500)
    error = caught.value
    assert error.given == 700 and error.cap == 100 and error.needed == error.prompt_tokens + 100 > 700 and router.engine.steps == 0
    assert error.largest[0][0] == "big" and error.largest[0][1] >= 1000 and len(error.largest) == 3
    assert "big" in str(error) and str(error.prompt_tokens) in str(error)


# -- catalogues that change ----------------------------------------------------------------------------------------------------


def test_a_callable_catalogue_is_read_for_every_request() -> None:
    tools: list[Any] = [WEATHER]
    calls = 0

    def current() -> list[Any]:
        nonlocal calls
        calls += 1
        return tools

    router = Router(engine(OSLO, MAILED, NONE), current, 200, gate=None, decide="greedy")
    assert router.route("x").tool == "get_weather"
    tools.append(MAIL)
    assert router.route("x", tool_choice="send_mail").tool == "send_mail"
    del tools[0]
    assert router.route_offered.names == ("send_mail",)
    with pytest.raises(ToolChoiceError):
        router.route("x", tool_choice="get_weather")
    tools.clear()
    assert router.route("x").tool == "none" and calls >= 4
    tools.append({"name": "none"})
    with pytest.raises(CatalogueError):
        router.route("x")
    tools[:] = [{"name": "bad", "parameters": {"type": "object", "properties": {"a": {"type": "wrong"}}}}]
    with pytest.raises(SchemaError) as caught:
        router.route("x")
    assert caught.value.tool == "bad"


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, 1.5), ("1", 1)])
def test_catalogues_that_differ_in_a_value_only(one: Any, other: Any) -> None:
    """Python calls 1 and True equal; JSON does not."""

    def tools(value: Any) -> list[Any]:
        return [{"name": "t", "parameters": {"type": "object", "properties": {"a": {"const": value}}, "required": ["a"]}}]

    current = [tools(one)]
    router = Router(engine(NONE), lambda: current[0], gate=None)
    for value in (one, other, one):
        current[0] = tools(value)
        assert router.route("x", tool_choice="t").arguments == {"a": value}
        assert router.route("x", tool_choice="t").text.endswith(json.dumps(value) + "}}")


def test_catalogues_that_differ_in_the_order_of_members_only() -> None:
    def tools(names: str) -> list[Any]:
        return [
            {"name": "t", "parameters": {"type": "object", "properties": {name: {"const": 1} for name in names}, "required": list(names)}}
        ]

    current = [tools("ab")]
    router = Router(engine(NONE), lambda: current[0], gate=None)
    for names in ("ab", "ba"):
        current[0] = tools(names)
        assert list(router.route("x", tool_choice="t").arguments or {}) == list(names)


def test_bad_tools_can_be_dropped() -> None:
    bad = {"name": "bad", "parameters": {"type": "object", "properties": {"a": {"$ref": "#/$defs/no"}}}}
    router = make(OSLO, tools=Catalogue.from_tools([bad, WEATHER], on_error="drop"))
    assert router.route_offered.names == ("get_weather",) and router.route("x").tool == "get_weather"
    with pytest.raises(SchemaError):
        make(OSLO, tools=[bad, WEATHER])


# -- the gate ------------------------------------------------------------------------------------------------------------------


def test_no_gate_for_a_model_is_said_once_a_decision() -> None:
    router = make(OSLO, gate="fitted")
    with pytest.warns(UnfittedGateWarning, match="scripted"):
        assert router.route("x").tool == "get_weather"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        router.route("x", tool_choice="required")  # nothing to gate
        router.route("x", tool_choice="get_weather")
        make(OSLO, gate="fitted", decide="greedy").route("x")


@pytest.mark.parametrize(("bias", "tool"), [(1000.0, "get_weather"), (-1000.0, "none")])
def test_a_gate_decides_between_calling_and_not(bias: float, tool: str) -> None:
    action = make(OSLO, gate=Gate(0.0, 0.0, bias)).route("x")
    assert action.tool == tool and action.confidence == pytest.approx(0 if bias < 0 else 1, abs=1e-9)
    assert all(score.prior is not None for score in action.scores) and action.scores[0].name == tool
    forced = make(NONE, gate=Gate(0.0, 0.0, bias)).route("x", tool_choice="required")
    assert forced.tool in ("get_weather", "send_mail") and forced.confidence is None


def test_priors_are_taken_once_a_catalogue() -> None:
    router = make(OSLO, gate=Gate(1.0, 0.0, 0.0))
    assert router.route("x").usage.model_steps > router.route("x").usage.model_steps
    first = router.route("x")
    assert router.route("x", tool_choice="required").usage.scored_tokens <= first.usage.scored_tokens
    assert {score.name: score.prior for score in router.route("y").scores} == {score.name: score.prior for score in first.scores}


def test_corrected_scores_pick_the_tool_where_the_gate_says_so() -> None:
    def row(tokens: Any) -> np.ndarray:
        """Loves get_weather; a request with "mail" in it makes it like send_mail a little more than before."""
        said = bytes(t for t in tokens if t < 256).decode("utf-8", "replace")
        asked = said.rpartition("User: ")[2]
        values = writes(OSLO, strength=9.0)(tokens)
        if asked.startswith("mail") and asked.endswith('{"tool": "'):
            values[ord("s")] = 6.0
        return values

    for by, tool in (("sum", "get_weather"), ("corrected", "send_mail")):
        router = Router(ScriptedEngine(BYTES, row), TOOLS, gate=Gate(0.0, 0.0, 9.0, by))  # type: ignore[arg-type]
        assert router.route("mail").tool == tool
        assert router.route("rain").tool == "get_weather"


def test_margins_and_confidence() -> None:
    found = margins({"a": -1.0, "b": -3.0, "none": -2.0}, {"a": -1.0, "b": -4.0, "none": -2.5}, ["none"])
    assert found == Margins(1.0, 0.5)
    gate = Gate(2.0, -4.0, 1.0)
    assert gate.confidence(found) == pytest.approx(1 / (1 + np.exp(-1.0)))
    assert Gate(1e9, 0, 0).confidence(Margins(1, 0)) == pytest.approx(1) and Gate(-1e9, 0, 0).confidence(Margins(1, 0)) == pytest.approx(0)


@pytest.mark.parametrize("wrong", [{"decide": "best"}, {"docs": "none"}, {"on_cap": "cut"}, {"temperature": -1.0}, {"top_p": 0.0}])
def test_settings_are_checked(wrong: Any) -> None:
    with pytest.raises(ValueError):
        make(OSLO, **wrong)
