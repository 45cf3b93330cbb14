"""Patterns as languages, against Python's ``re`` on the same pattern; sets of words, shortest words, limits."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from toolroute.errors import RouteError, SchemaError, SchemaLimit, UnsupportedSchema
from toolroute.grammar.pattern import compile_regex
from toolroute.grammar.regex import ANY, EVERYTHING, NOTHING, both, chars, concat, either, negated, repeat, words
from toolroute.route.ecma import compile_pattern

PATTERNS = [
    "a", "^a", "a$", "^a$", "^a*b+$", "[^a]", "(a|b)*a", "^(?:ab|b)+$", "a{2}", "^a{2,3}$", "^(a{1,2}){2}$", "^(?=.*a)(?=.*b).{2,3}$",
    "^(?!ab).*$", "a|^b$|c", "^$", "", "(^a|b)c", "^(ab)?$", r"\d", r"^\w+$", "^[a-c]+(?:b|c)$", "a.b", "(?!a)b", "^(?!.*aa).*$",
    "(a*)*b", "^(a|ab)(c|bcd)$", "x*", "(?:$)", "^(?:a$|b)", "^(?:(?=a)a|b){2}$", "a(?=b$)", "(?=a$|b)", "^.{3}$", r"a\.b|\.", "^[^b]*$",
    "(?:^|b)a", "(?:b|^)a(?:c|$)", "^(?:a|b){2,}$", "^(?:(?!b).){1,3}$",
]  # fmt: skip


def texts(alphabet: str, longest: int) -> list[str]:
    return ["".join(text) for size in range(longest + 1) for text in itertools.product(alphabet, repeat=size)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_texts_in_which_a_pattern_is_found(pattern: str) -> None:
    language, expected = compile_regex(pattern), compile_pattern(pattern)
    assert [text for text in texts("abc.", 5) if language.accepts(text) != bool(expected.search(text))] == []
    shortest = language.shortest()
    assert shortest is not None and expected.search(shortest)


def random_pattern(random: Random, depth: int = 0) -> str:
    kind = random.random()
    if depth > 3 or kind < 0.35:
        return random.choice(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\."])
    inner = random_pattern(random, depth + 1)
    if kind < 0.5:
        return inner + random_pattern(random, depth + 1)
    if kind < 0.6:
        return f"(?:{inner}|{random_pattern(random, depth + 1)})"
    if kind < 0.72:
        return f"(?:{inner}){random.choice('*+?')}"
    if kind < 0.8:
        return f"(?:{inner}){random.choice(['{0,2}', '{1,2}', '{2,3}', '{0,1}', '{2}'])}"
    return random.choice([f"(?={inner})", f"(?!{inner})", f"^{inner}", f"{inner}$"])


def test_random_patterns_and_their_combinations() -> None:
    random, found = Random(3), []
    while len(found) < 250:
        pattern = random_pattern(random)
        try:
            found.append((compile_pattern(pattern), compile_regex(pattern)))
        except RouteError:
            continue
    some = texts("abc.", 3)
    for (one, a), (other, b) in itertools.pairwise(found):
        together, any_of, none = both(a, negated(b)), either(a, b), negated(a)
        for text in some:
            x, y = bool(one.search(text)), bool(other.search(text))
            assert a.accepts(text) == x and together.accepts(text) == (x and not y), (one, other, text)
            assert any_of.accepts(text) == (x or y) and none.accepts(text) == (not x)
        known = [text for text in some if together.accepts(text)]
        shortest = together.shortest()
        assert shortest is not None or not known
        if shortest is not None:
            assert together.accepts(shortest) and all(len(shortest) <= len(text) for text in known)


def test_shortest_between_lengths() -> None:
    language = compile_regex("^(?:ab)*$")
    assert language.shortest() == "" and language.shortest(1) == "ab" and language.shortest(3, 3) is None
    assert language.shortest(5) == "ababab" and language.shortest(5, 5) is None
    assert both(compile_regex("^a+$"), compile_regex("^b+$")).shortest() is None
    assert compile_regex("^.{8,}$").shortest() == "a" * 8  # a readable one


def test_constructors() -> None:
    assert words(()) is NOTHING and negated(NOTHING) is EVERYTHING and negated(negated(words(("ab",)))) is words(("ab",))
    assert words(("a", "c", "b")) is chars(((0x61, 0x63),)) and repeat(ANY) is EVERYTHING
    assert either(words(("ab",)), words(("ac", "ab"))) is words(("ab", "ac"))
    assert both(words(("ab", "xy")), compile_regex("x")) is words(("xy",))
    assert concat(EVERYTHING, EVERYTHING) is EVERYTHING and both() is EVERYTHING and either() is NOTHING
    many = words(f"word{i}" for i in range(10_000))
    assert many.accepts("word9999") and not many.accepts("word10000") and negated(many).accepts("word")


def test_unicode() -> None:
    for pattern, good, bad in (
        (r"^\p{Lu}$", "É", "é"), (r"^\u{1F600}$", "😀", "😁"), (r"^[\uD83D\uDE00]$", "😀", "x"), (r"^.$", "日", "\u2028"),
        (r"^\D$", "٣", "3"),
    ):  # fmt: skip
        language = compile_regex(pattern)
        assert language.accepts(good) and not language.accepts(bad), pattern


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("(?<=a)b", UnsupportedSchema), (r"\ba", UnsupportedSchema), (r"(a)\1", UnsupportedSchema),
        ("(?:(?=a).)*", UnsupportedSchema),
        ("a**", SchemaError), ("(", SchemaError), (")", SchemaError), ("[b-a]", SchemaError), ("a{2,1}", SchemaError), ("*a", SchemaError),
        ("(?:" * 200 + ")" * 200, SchemaLimit), ("a" * 30_000, SchemaLimit),
    ],
)  # fmt: skip
def test_what_has_no_language(pattern: str, kind: type[SchemaError]) -> None:
    with pytest.raises(kind) as caught:
        compile_regex(pattern)
    assert caught.value.keyword == "pattern"


def test_a_search_is_bounded() -> None:
    with pytest.raises(SchemaLimit, match="states"):
        compile_regex("^(?:a|b)*a(?:a|b){14}$").shortest()
    assert compile_regex("^((a{1,1000}){1,1000}){1,1000}$").shortest() == "a"
