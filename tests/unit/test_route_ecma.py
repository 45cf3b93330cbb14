"""ECMA-262 patterns in Python's ``re``."""

from __future__ import annotations

import re
import warnings

import pytest

from toolroute.errors import SchemaError, UnsupportedSchema
from toolroute.grammar.charset import complement, property_ranges, union
from toolroute.route.ecma import compile_pattern, translate


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("a|b$", "xb", True),
        ("^.$", "\r", False),
        ("^.$", "\u2028", False),
        ("^.$", "\x85", True),
        ("^.$", "🎉", True),
        (r"^\d$", "٣", False),
        (r"^\D$", "٣", True),
        (r"^\w$", "é", False),
        (r"^\W$", "é", True),
        (r"^\s$", "\ufeff", True),
        (r"^\s$", "\x1c", False),
        (r"^\S$", "\x1c", True),
        (r"\S", "  x", True),
        (r"^ready\!\/\-\_\"$", 'ready!/-_"', True),
        (r"^\cJ\t\v\f\0$", "\n\t\v\f\0", True),
        (r"^\x41\u0042\u{43}$", "ABC", True),
        (r"^\ud83c\udf89$", "🎉", True),
        (r"^[\ud83c\udf89-\u{1f38a}]$", "🎊", True),
        (r"^(?<x>a|b)\k<x>$", "aa", True),
        (r"^(?<x>a|b)\k<x>$", "ab", False),
        (r"^(a)?\1b$", "b", True),
        (r"^\1(a)$", "a", True),
        (r"^(a)(b)\2{2}$", "abbb", True),
        (r"^((a)|b)(?:c\2)*$", "aca", True),
        (r"^\p{Lu}+$", "ÀB", True),
        (r"^\p{Lu}+$", "Àb", False),
        (r"^\P{L}$", "1", True),
        (r"^[\p{L}\d-]+$", "é1-", True),
        (r"^[^\p{Cc}\p{Zl}/]{1,40}$", "a\u2028", False),
        (r"^[\P{L}]$", "a", False),
        (r"^\p{gc=Letter}\p{General_Category=Nd}\p{Any}\p{ASCII}$", "q٣éa", True),
        ("[]", "x", False),
        ("[]*a", "a", True),
        ("^[^]$", "\n", True),
        ("^[[a]$", "[", True),
        ("^[A-Z&&a||~~]+$", "&|~", True),
        (r"^[a-\d]+$", "-a5", True),
        (r"^[\b]$", "\b", True),
        (r"^[\w.-]+$", "a-b.c", True),
        ("^{a}$", "{a}", True),
        ("^a{,5}$", "a{,5}", True),
        ("^a{2,}?b$", "aaab", True),
        ("^]}$", "]}", True),
        (r"^\bé", "é", False),
        (r"\bfoo\b", "a foo.", True),
        (r"^a\B.$", "ab", True),
        ("(?<=a)b(?!c)", "abd", True),
        ("(?<!a)b", "ab", False),
        (r"^(?!\.)(?!.*\.\.)[a-z0-9._-]+@[a-z0-9-]+\.[a-z]{2,}$", "a.b@c.de", True),
        ("^(|a)+$", "aaa", True),
        ("^#\\ x$", "# x", True),
        ("^" + "(" * 60 + "a" + ")" * 60 + "$", "a", True),
        ("", "anything", True),
    ],
)
def test_meaning(pattern: str, text: str, found: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bool(compile_pattern(pattern).search(text)) is found
        assert bool(re.search(translate(pattern), text)) is found


@pytest.mark.parametrize(
    "pattern",
    [
        "(?P<a>x)", "(?P=a)", r"\Aa", r"a\Z", r"a\z", "(?i)a", "(?#x)", "(?>a)", "(?(1)a)", "a*+", "a++", "a{2}+", "a**", "^*", r"\b+",
        "*a", "(a", "a)", "[a", "[b-a]", "a{2,1}", "a{2}{3}", "{2}", "(?=a)*", "\\", "[\\", r"\k<x>", r"\k", r"\1", r"(a)\2", r"\x4",
        r"\u12", r"\u{110000}", r"\01", r"\e", r"\c1", r"\p", r"\pL", r"[\1]", r"[\k<x>]", "(?<x", "(?<>a)", "(?<1>a)",
    ],
)  # fmt: skip
def test_what_is_not_ecma_262(pattern: str) -> None:
    with pytest.raises(SchemaError) as caught:
        translate(pattern)
    assert type(caught.value) is SchemaError
    assert caught.value.keyword == "pattern"
    assert repr(pattern) in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{Script=Greek}", r"\p{Emoji}", r"[\p{Alphabetic}]", "(?<=a+)b", "(?i:a)", "(?-i:a)", r"\ud800", r"[\ud800-\udbff]",
        "a{9999999999}", "a{4294967296}", "(" * 5000 + ")" * 5000, "(?<a>x)|(?<a>y)", r"(?<=(a)\1)b",
    ],
)  # fmt: skip
def test_what_python_cannot_express(pattern: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        translate(pattern)
    assert caught.value.keyword == "pattern"


def test_sets_of_code_points() -> None:
    assert union([(5, 7), (1, 2), (3, 3), (6, 9)]) == ((1, 3), (5, 9))
    assert complement(()) == ((0, 0x10FFFF),)
    assert complement(complement(((0, 4), (9, 0x10FFFF)))) == ((0, 4), (9, 0x10FFFF))
    assert property_ranges("Zl") == ((0x2028, 0x2028),)
    assert property_ranges("Line_Separator") == property_ranges("Zl")
    assert property_ranges("Cc") == ((0, 31), (127, 159))
    assert property_ranges("Assigned") == complement(property_ranges("Cn") or ())
    assert property_ranges("Script=Greek") is None and property_ranges("") is None and property_ranges("sc=Lu") is None
