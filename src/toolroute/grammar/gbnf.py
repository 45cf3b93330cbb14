"""Expressions → GBNF, the grammar notation of llama.cpp.

Theory. A node becomes a rule, a shared node one rule. Objects and arrays are printed position by position, as right-linear rules, which
is what they are here as well; numbers and strings in a regular language are printed as the finite automata they are. Rules are named by
what they are and numbered in the order in which they are met, so equal routes print equal text.

GBNF reads code points, our expressions bytes; both say the same, since text is UTF-8 on either side. Two things it cannot say, and the
text is wider there: that free member names are distinct, and that brackets nest at most so deep. Whoever decodes with it parses strictly
afterwards, as always. llama.cpp takes repetitions up to 2,000 and silently widens what is beyond: longer ones are written as several, and
what would take too many rules is refused.

Cost: linear in the states printed, at most ``MAX_RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from ..errors import SchemaLimit, UnsupportedSchema
from .arrays import Array, ItemsAt
from .charset import LAST, SURROGATES, Ranges, complement, union
from .containers import Reference, Value, free_array, free_object
from .expr import END, Bytes, Choice, Lit, Node, Seq, State, Tree, choice, cons, intern, lit
from .multiples import Multiples
from .numbers import Digits, integer, number
from .objects import MembersAt, Object
from .regex import EVERYTHING, NOTHING, Regex, both, negated, words
from .strings import Body, string
from .text import Text, decoded

MAX_RULES: Final = 5_000
"""Rules of one grammar (count)."""

BLOCK: Final = 1_000
"""Characters or items in one repetition (count); llama.cpp takes 2,000."""

_CHAR = r'[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" code-unit)'
_CODE_UNIT = (
    "[0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex | [dD] [89abAB] hex hex "
    '"\\\\u" [dD] [c-fC-F] hex hex'
)
_PLAIN_NAME = r'[^"\\\x00-\x1F] | "\\" (["\\bfnrt] | "u00" ("0" [0-7bef] | "1" [0-9a-f]))'


class _Printer:
    """One grammar under way. ``rules``: name → right-hand side, in the order they were begun."""

    def __init__(self) -> None:
        self.rules: dict[str, str] = {}
        self._names: dict[Any, str] = {}
        self._counts: dict[str, int] = {}

    def rule(self, key: Any, kind: str, body: Callable[[], str]) -> str:
        """The name of the rule for ``key``, written when first asked for."""
        name = self._names.get(key)
        if name is None:
            if len(self.rules) >= MAX_RULES:
                reason = f"a GBNF grammar of more than {MAX_RULES} rules"
                raise SchemaLimit(reason, limit="MAX_RULES", needed=MAX_RULES + 1, given=MAX_RULES)
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
            name = self._names[key] = kind if count == 1 else f"{kind}-{count}"
            self.rules[name] = ""  # holds its place before the rules it refers to
            self.rules[name] = body()
        return name

    def fixed(self, name: str, body: str) -> str:
        """A rule that is always the same."""
        if name not in self.rules:
            self.rules[name] = body
        return name

    # -- nodes -----------------------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> str:
        """``node`` as a term: a literal, a rule's name, or a sequence of those."""
        named = _named().get(node)
        if named is not None:
            body = _PRINTERS[type(node)]
            return self.rule(("named", node), named, lambda: body(self, node))
        printer = _PRINTERS.get(type(node))
        if printer is None:
            raise UnsupportedSchema(f"GBNF has no form for {type(node).__name__}")
        return printer(self, node)

    def chain(self, state: State) -> str:
        """A state: its nodes, one after the other."""
        parts = []
        while state.k is not state:
            parts.append(self.node(state.node))
            state = state.k
        return " ".join(part for part in parts if part) or '""'

    def alternatives(self, terms: Iterable[str]) -> str:
        return " | ".join(dict.fromkeys(term or '""' for term in terms))

    def automaton(self, node: Node, kind: str) -> str:
        """A node without wide leaves, as the finite automaton of its states."""
        start = cons(node, END)
        assert start is not None
        return self._state(start, kind)

    def _state(self, state: State, kind: str) -> str:
        node = state.node
        if isinstance(node, Digits) and state.k is END and (span := _any_digits(node)) is not None:
            return self.repeated("[0-9]", *span, "digits")

        def body() -> str:
            targets: dict[State, list[int]] = {}
            for byte, after in state.view.edges.items():
                targets.setdefault(after, []).append(byte)
            terms = []
            for after, found in targets.items():
                chars = charclass(union((byte, byte) for byte in found))
                terms.append(chars if after is END else f"{chars} {self._state(after, kind)}")
            if state.view.accepts:
                terms.append('""')
            return self.alternatives(terms)

        return self.rule(state, kind, body)

    def repeated(self, term: str, low: int, high: int | None, kind: str) -> str:
        """``low`` to ``high`` times ``term``, a single name or class, in repetitions that llama.cpp takes."""
        if high is None and low <= BLOCK:
            return f"{term}*" if low == 0 else f"{term}+" if low == 1 else f"{term}{{{low},}}"
        if high is not None and high <= BLOCK:
            return "" if high == 0 else f"{term}{{{low},{high}}}" if low != high else f"{term}{{{low}}}"
        block = self.rule((term, "block"), f"{kind}-block", lambda: f"{term}{{{BLOCK}}}")
        if low >= BLOCK:
            rest = self.repeated(term, low % BLOCK, None if high is None else high - low + low % BLOCK, kind)
            return " ".join([*[block] * (low // BLOCK), rest]).strip()
        if high is None:
            return f"{term}{{{low},}}"
        # Up to a block, or a block and the rest.
        def body() -> str:
            more = self.repeated(term, 0, high - BLOCK, kind)
            return f"{term}{{{low},{BLOCK}}} | {block} {more}"

        return self.rule((term, low, high), f"{kind}-some", body)

    # -- strings ---------------------------------------------------------------------------------------------------------------

    def char(self) -> str:
        self.fixed("char", _CHAR)
        self.fixed("code-unit", _CODE_UNIT)
        self.fixed("hex", "[0-9a-fA-F]")
        return "char"

    def body(self, node: Body) -> str:
        """The rest of a string, with its closing quote."""
        term = self.fixed("name-char", _PLAIN_NAME) if node.strict else self.char()
        if node.low == 0 and node.high is None and not node.strict:
            return self.fixed("string-rest", 'char* "\\""')
        return f'{self.repeated(term, node.low, node.high, "chars")} "\\""'.strip()

    def text(self, language: Regex, low: int, high: int | None, kind: str) -> str:
        """Characters out of a language, as ``json.dumps`` writes them, and the closing quote."""
        if language is EVERYTHING:
            term = self.fixed("name-char", _PLAIN_NAME)
            return f'{self.repeated(term, low, high, "chars")} "\\""'.strip()

        def body() -> str:
            terms: list[str] = []
            if high is None or high > 0:
                targets: dict[Regex, list[tuple[int, int]]] = {}
                classes = language.classes
                for i, first in enumerate(classes):
                    last = classes[i + 1] - 1 if i + 1 < len(classes) else LAST
                    after = language.step(first)
                    if after is not NOTHING:
                        targets.setdefault(after, []).append((first, last))
                for after, ranges in targets.items():
                    fewer = None if high is None else high - 1
                    if after.shortest(max(low - 1, 0), fewer) is not None:
                        chars = spelled_class(union(ranges))
                        if chars:
                            terms.append(f"{chars} {self.text(after, max(low - 1, 0), fewer, kind)}")
            if low == 0 and language.nullable:
                terms.append('"\\""')
            return self.alternatives(terms)

        return self.rule((language, low, high), kind, body)

    # -- containers ------------------------------------------------------------------------------------------------------------

    def members(self, at: MembersAt) -> str:
        """An open object from a position on, to its closing bracket."""
        obj = at.object
        comma, colon = obj.style.comma.decode(), obj.style.colon.decode()

        def body() -> str:
            lead = "" if at.count == 0 else comma
            terms: list[str] = []
            for index in at.next_members():
                key, value, _ = obj.members[index]
                after = at.after(index)
                if after.best is not None and value.best is not None:
                    terms.append(f"{quoted(lead + key.decode() + colon)} {self.node(value)} {self.members(after)}")
            for names, value in obj.free if at.may_extend else ():
                free = negated(words(map(decoded, sorted(obj.reserved))))
                language = free if names is None else both(names, free)
                after = at.after_free(b"\0")
                after = intern(MembersAt, obj, after.left, after.due, after.seen, frozenset(), after.count)  # it cannot know what was used
                if after.best is not None and language.shortest() is not None:
                    name = self.text(language, 0, None, "name")
                    terms.append(f"{quoted(lead + chr(34))} {name} {quoted(colon)} {self.node(value)} {self.members(after)}")
            if at.may_close:
                terms.append('"}"')
            return self.alternatives(terms)

        return self.rule(at, "members", body)

    def items(self, at: ItemsAt) -> str:
        """An open array from a position on, to its closing bracket."""
        array = at.array

        def body() -> str:
            lead = quoted(array.style.comma.decode()) + " " if at.index else ""
            terms = []
            for node, meets in array.choices(at.index, at.met):
                met = tuple(n + hit for n, hit in zip(at.met, meets, strict=True))
                if array.unique:
                    assert isinstance(node, Tree)
                    for text, _ in node.entries:
                        after = array.at(at.index + 1, met, at.used | {text})
                        if text not in at.used and after.best is not None:
                            terms.append(f"{lead}{quoted(text.decode())} {self.items(after)}")
                else:
                    after = array.at(at.index + 1, met, at.used)
                    if node.best is not None and after.best is not None:
                        terms.append(f"{lead}{self.node(node)} {self.items(after)}")
            if at.index >= array.low and all(n >= d.low for n, d in zip(at.met, array.demands, strict=True)):
                terms.append('"]"')
            return self.alternatives(terms)

        return self.rule(at, "items", body)

    def array(self, node: Array) -> str:
        if node.prefix or node.demands or node.unique or len(node.rest) != 1 or node.rest[0].node.best is None:
            return f'"[" {self.items(node.start)}'

        def body() -> str:
            item = self.node(node.rest[0].node)
            high = node.high
            if high == 0:
                return '"[" "]"'
            following = self.rule((node, "item"), "item", lambda: f"{quoted(node.style.comma.decode())} {item}")
            rest = self.repeated(following, max(node.low - 1, 0), None if high is None else high - 1, "items")
            some = f"{item} {rest}".strip()
            return f'"[" {some} "]"' if node.low else f'"[" ({some})? "]"'

        return self.rule(node, "array", body)


def _any_digits(node: Digits) -> tuple[int, int] | None:
    """From how many to how many digits, where any digits will do."""
    counts = [t for t, window in enumerate(node.windows) if window is not None]
    if counts == list(range(counts[0], counts[-1] + 1)) and all(node.windows[t] == (0, 10**t - 1) for t in counts):
        return counts[0], counts[-1]
    return None


@lru_cache(maxsize=1)
def _named() -> dict[Node, str]:
    """The commonest nodes, by the name that a reader expects."""
    return {integer(): "integer", number(): "number", string(): "string"}


def _tree(printer: _Printer, node: Tree) -> str:
    def body() -> str:
        return printer.alternatives(
            f"{quoted(text.decode())} {printer.node(after)}".strip() for text, after in node.entries if after.best is not None
        )

    return printer.rule(node, "choice", body)


def _choice(printer: _Printer, node: Choice) -> str:
    return printer.rule(node, "value-of", lambda: printer.alternatives(printer.node(one) for one in node.nodes if one.best is not None))


def _reference(printer: _Printer, node: Reference) -> str:
    assert node.target is not None
    target = node.target
    return printer.rule(node, "shared", lambda: printer.node(target))


def _value(printer: _Printer, node: Value) -> str:
    containers = (free_object(node, node.style), free_array(node, node.style))
    parts = choice((lit(b"null"), lit(b"true"), lit(b"false"), number(), string(), *containers))
    assert isinstance(parts, Choice)
    return printer.rule(node, "any-value", lambda: printer.alternatives(printer.node(one) for one in parts.nodes))


def _seq(printer: _Printer, node: Seq) -> str:
    return " ".join(part for one in node.nodes if (part := printer.node(one)))


_PRINTERS: Final[dict[type, Callable[[_Printer, Any], str]]] = {
    Lit: lambda printer, node: quoted(node.text.decode()) if node.text else "",
    Bytes: lambda printer, node: charclass(union((byte, byte) for byte in node.values)),
    Seq: _seq,
    Choice: _choice,
    Tree: _tree,
    Digits: lambda printer, node: printer.automaton(node, "digits"),
    Multiples: lambda printer, node: printer.automaton(node, "multiple"),
    Body: lambda printer, node: printer.body(node),
    Text: lambda printer, node: printer.text(node.language, node.low, node.high, "text"),
    Object: lambda printer, node: f'"{{" {printer.members(node.start)}',
    Array: lambda printer, node: printer.array(node),
    Value: _value,
    Reference: _reference,
}


def quoted(text: str) -> str:
    """``text`` as a GBNF literal."""
    return '"' + "".join(_escaped(ord(char), '"\\') for char in text) + '"'


def charclass(ranges: Ranges) -> str:
    """A set of characters as a GBNF class."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return quoted(chr(ranges[0][0]))
    found = complement(ranges)
    if len(found) < len(ranges):
        return f"[^{_members(found)}]"
    return f"[{_members(ranges)}]"


def _members(ranges: Ranges) -> str:
    return "".join(_escaped(low, "[]\\-^") + (f"-{_escaped(high, '[]-^' + chr(92))}" if high > low else "") for low, high in ranges)


def _escaped(code: int, special: str) -> str:
    char = chr(code)
    if char in special:
        return f"\\{char}" if char in '"\\[]' else f"\\x{code:02X}"
    if 0x20 <= code < 0x7F:
        return char
    return f"\\x{code:02X}" if code < 0x80 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: '"', 0x5C: "\\"}


def spelled_class(ranges: Ranges) -> str:
    """Characters of a string as ``json.dumps`` writes them."""
    inside = [(low, high) for low, high in ranges]
    out = complement(union([*complement(union(inside)), (0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), SURROGATES[0]]))
    terms = [charclass(out)] if out else []
    for code in (*range(0x20), 0x22, 0x5C):
        if any(low <= code <= high for low, high in ranges):
            terms.append(quoted("\\" + _SHORT[code]) if code in _SHORT else quoted(f"\\u{code:04x}"))
    return terms[0] if len(terms) == 1 else f"({' | '.join(terms)})" if terms else ""


class Alternative(NamedTuple):
    """A choice of a route: what its rule is called and a line says about it, the text that begins it, and the node after that text."""

    name: str
    comment: str
    text: bytes
    node: Node


def gbnf(start: State) -> str:
    """The language of ``start`` as a grammar whose root rule is ``root``.

    Raises ``UnsupportedSchema`` or ``SchemaLimit`` where GBNF has no form for it.
    """
    return _printed(lambda printer: printer.chain(start), {})


def gbnf_choices(opening: bytes, alternatives: Sequence[Alternative]) -> str:
    """``opening`` and then one of ``alternatives``, each a rule of its own with a comment above it. Raises as ``gbnf`` does."""
    comments: dict[str, str] = {}

    def root(printer: _Printer) -> str:
        names = []
        for one in alternatives:
            names.append(printer.rule((one.name, one.text), one.name, partial(_alternative, printer, one)))
            comments[names[-1]] = one.comment
        return f"{quoted(opening.decode())} ({' | '.join(names)})"

    return _printed(root, comments)


def _alternative(printer: _Printer, one: Alternative) -> str:
    return f"{quoted(one.text.decode())} {printer.node(one.node)}".strip()


def _printed(root: Callable[[_Printer], str], comments: dict[str, str]) -> str:
    printer = _Printer()
    try:
        printer.rule("root", "root", lambda: root(printer))
    except RecursionError:
        raise SchemaLimit("rules nest too deep for GBNF", limit="MAX_RULES", needed=MAX_RULES + 1, given=MAX_RULES) from None
    lines = []
    for name, body in printer.rules.items():
        if name in comments:
            lines.append(f"# {comments[name]}")
        lines.append(f"{name} ::= {body}")
    return "\n".join(lines) + "\n"
