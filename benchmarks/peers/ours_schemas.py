"""toolroute over any schema. With ``AFTER=1`` what the mask admits is checked as the router checks it.

The check: the text is parsed strictly, and its value is judged by the schema's validator, with ``format`` as an assertion. Building the
validator counts as compiling then.

Every miss is explained (see ``blame``), so that misses can be counted by what causes them; and what the mask accepted token by token is
compared with what the language accepts byte by byte.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from benchmarks.peers.blame import blame_accepted, blame_refused
from benchmarks.peers.harness import Session, main
from benchmarks.peers.ours import Ours
from benchmarks.peers.schemas import reason
from toolroute.errors import RouteError, TokenRejected
from toolroute.mask import Matcher
from toolroute.route.jsontext import JsonFault, load
from toolroute.route.judge import SchemaValidator
from toolroute.schema import Route, compile_schema


def compiled(schema: Any, format_assertion: bool) -> Route:
    """The schema as JSON Schema means it, members in any order. Raises what ``compile_schema`` raises."""
    return compile_schema(schema, style="spaced", additional="schema", property_order="any", format_assertion=format_assertion)


class Compiled(NamedTuple):
    """``validator``: None where it is not asked."""

    schema: Any
    route: Route
    validator: SchemaValidator | None


class OursSchemas(Ours):
    """The engine under test, over schemas."""

    refusal = TokenRejected

    def __init__(self, after: bool) -> None:
        super().__init__()
        self.after = after

    def why(self, error: Exception) -> str:
        """The class of the error, the keyword, and the reason."""
        if isinstance(error, RouteError) and hasattr(error, "keyword"):
            return f"{type(error).__name__}: {error.keyword or '-'}: {getattr(error, 'reason', error)}"[:300]
        return reason(error)

    def compile(self, row: dict[str, Any]) -> Any:
        schema = json.loads(row["schema"])
        route = compiled(schema, True)
        return Compiled(schema, route, SchemaValidator(schema, format_assertion=True) if self.after else None)

    def start(self, compiled: Any) -> Session:
        matcher = Matcher(compiled.route, self.vocabulary)
        return Session(matcher.mask, matcher.accept, lambda: len(matcher.mask()), lambda: matcher.is_accepting)

    def explain(self, compiled: Any, row: dict[str, Any], verdicts: list[bool]) -> dict[str, Any]:
        """The verdicts with the check, and why those are wrong that are."""
        final, misses, disagree = [], [], []
        judge = compiled.validator
        for number, (test, masked) in enumerate(zip(row["tests"], verdicts, strict=True)):
            texts = [text["text"] for text in test["texts"]]
            if any(map(compiled.route.accepts, texts)) is not masked:
                disagree.append(number)
            verdict = masked and (judge is None or _passes(judge, texts[0]))
            final.append(verdict)
            if verdict is test["valid"]:
                continue
            validator = judge or _validator(compiled.schema)
            if verdict:
                why = blame_accepted(compiled.route, validator, texts[0])
            elif masked:
                why = "the check refuses a valid instance: " + blame_accepted(compiled.route, validator, texts[0])
            else:
                why = blame_refused(compiled.route, compiled.schema, texts[0])
            misses.append({"test": number, "why": why})
        return {"verdicts": final, "misses": misses, "disagree": disagree, "exact": compiled.route.report.exact}


def _passes(judge: SchemaValidator, text: str) -> bool:
    try:
        value = load(text)
    except JsonFault:
        return False
    return judge.check(value) is None


def _validator(schema: Any) -> SchemaValidator | None:
    """The validator, for an explanation; None where the schema cannot be checked."""
    try:
        return SchemaValidator(schema, format_assertion=True)
    except RouteError:
        return None


if __name__ == "__main__":
    main(OursSchemas(bool(os.environ.get("AFTER"))))
