"""The languages of the formats accept what the check of the finished reply accepts."""

from __future__ import annotations

from random import Random

import pytest

from toolroute.route.formats import FORMATS
from toolroute.schema import compile_schema
from toolroute.schema.formats import NARROWER, REGULAR, language

SEEDS = {
    "date": ["2024-02-29", "2023-02-28", "2000-02-29", "1900-02-29", "0000-02-29", "2023-12-31", "0004-02-29"],
    "time": ["23:59:60Z", "12:30:00+01:00", "12:30:00.5z", "23:59:60.123Z"],
    "date-time": ["2024-02-29T23:59:60Z", "2023-01-01t00:00:00+23:59"],
    "duration": ["P1Y", "P3W", "PT1H", "P1Y2M3DT4H5M6S", "P1M", "PT5M6S", "P"],
    "email": ["a@b.c", '"a b"@x.y', "a.b+c@[1.2.3.4]", "a@[IPv6:::1]", "x@y-z.com"],
    "hostname": ["a.b", "x-y.z", "a" * 63 + ".com", ".".join(["a" * 62] * 4), "a"],
    "ipv4": ["1.2.3.4", "255.255.255.255", "0.0.0.0"],
    "ipv6": ["::", "::1", "1:2:3:4:5:6:7:8", "1::8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4",
             "1::1.2.3.4", "1:2:3:4:5::1.2.3.4", "fe80::a"],
    "json-pointer": ["", "/a/b~0~1", "/"],
    "relative-json-pointer": ["0", "1/a", "2#", "10"],
    "uri": ["http://a.b/c?d=e#f", "urn:x:y", "http://[::1]:80/", "ftp://u:p@h/", "mailto:a@b.c", "http://[v1.x]/"],
    "uri-reference": ["/a/b", "a/b?c", "#x", "//h/p", "http://x", "", "../a"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
}  # fmt: skip
ALPHABET = "0123456789abcdefzZTtP:/-+.@[]#%?~YMDWHSv "


def test_every_checked_format_but_one_is_regular() -> None:
    assert REGULAR == set(FORMATS) - {"regex"} == set(SEEDS) and NARROWER <= REGULAR


@pytest.mark.parametrize("name", sorted(REGULAR))
def test_the_language_is_what_the_check_accepts(name: str) -> None:
    random, accepted = Random(1), 0
    for _ in range(1500):
        text = random.choice(SEEDS[name])
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            at, how = random.randrange(len(text) + 1), random.random()
            text = text[:at] + (random.choice(ALPHABET) if how < 0.7 else "") + text[at + (how < 0.4 or how >= 0.7) :]
        wanted = FORMATS[name](text)
        assert language(name).accepts(text) == wanted, text
        accepted += wanted
    assert 50 < accepted < 1500
    shortest = language(name).shortest()
    assert shortest is not None and FORMATS[name](shortest)


def test_format_asserts_only_where_it_is_asked_to() -> None:
    schema = {"type": "string", "format": "date"}
    assert compile_schema(schema).accepts('"x"')
    route = compile_schema(schema, format_assertion=True)
    assert route.report.exact and route.accepts('"2024-02-29"') and not route.accepts('"2023-02-29"')
    assert {entry.keyword: entry.status for entry in route.report.assertions} == {"type": "mask", "format": "mask"}
    both = compile_schema({**schema, "pattern": "^2024", "not": {"const": "2024-01-01"}}, format_assertion=True)
    assert both.accepts('"2024-01-02"') and not both.accepts('"2024-01-01"') and not both.accepts('"2025-01-02"')
    later = compile_schema({"type": "string", "format": "regex"}, format_assertion=True)
    assert [entry.keyword for entry in later.report.after] == ["format"]
