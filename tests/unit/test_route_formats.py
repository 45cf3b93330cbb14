"""Formats, where they are asserted."""

from __future__ import annotations

import pytest

from toolroute.route.formats import FORMATS

GOOD = {
    "date": ["2024-02-29", "0001-01-01"],
    "date-time": ["2024-01-31T23:59:59Z", "2024-01-31t00:00:00.123z", "1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00"],
    "time": ["12:00:00Z", "00:00:00.5+05:30", "23:59:60Z"],
    "duration": ["P1Y2M3D", "P4W", "PT1H2M3S", "P1DT12H", "PT0S", "P1M"],
    "email": ["a@b.example", "a.b+c@x", '"a b"@x.org', "a@[127.0.0.1]", "a@[IPv6:::1]"],
    "hostname": ["a", "a-b.example.com", "x" * 63],
    "ipv4": ["127.0.0.1"],
    "ipv6": ["::1", "2001:db8::ff00:42:8329", "::ffff:1.2.3.4"],
    "json-pointer": ["", "/a/~0~1b", "/"],
    "regex": ["^a$", r"\p{L}"],
    "relative-json-pointer": ["0", "1/a", "2#"],
    "uri": ["https://user@example.com:80/a/b?q=1#f", "urn:isbn:1", "mailto:a@b", "file:///etc", "http://[::1]/", "http://[v1.a:b]/", "a:"],
    "uri-reference": ["", "/a", "a/b", "//host/x", "?q", "#f", "https://x.org"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
}
BAD = {
    "date": ["2023-02-29", "2024-1-1", "20240101", "2024-W01-1", "2024-01-01\n", "٢٠٢٤-01-01"],
    "date-time": ["2024-01-31", "2024-01-31 00:00:00Z", "2024-01-31T00:00:00", "2024-01-31T24:00:00Z", "1990-12-31T22:59:60Z"],
    "time": ["12:00:00", "12:00Z", "25:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:00+24:00"],
    "duration": ["P", "PT", "P1", "1D", "P1Y1D", "PT1H1S", "P1W1D", "P1DT", "-P1D"],
    "email": ["a", "@b", "a@", "a b@c", ".a@b", "a.@b", "a@-b", "a@[1]"],
    "hostname": ["", "-a", "a-", "a..b", "a.", "x" * 64, "a_b", ".".join(["x" * 60] * 5)],
    "ipv4": ["127.0.0.256", "1.2.3", "01.2.3.4", "::1"],
    "ipv6": ["1.2.3.4", ":::", "12345::", "fe80::1%eth0"],
    "json-pointer": ["a", "/~", "/~2", "#/a"],
    "regex": ["(", r"\A", "(?P<a>x)"],
    "relative-json-pointer": ["", "/a", "01", "-1", "0##"],
    "uri": ["", "/a", "example.com", "http://a b", "http://[1]/", "1a:b", "http://x/%zz", "http://é"],
    "uri-reference": ["a b", "\\x", "1a:b", "%"],
    "uuid": ["123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400", "g23e4567-e89b-12d3-a456-426614174000"],
}


def test_every_format_is_covered() -> None:
    assert set(GOOD) == set(BAD) == set(FORMATS)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_accepted(name: str, text: str) -> None:
    assert FORMATS[name](text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_refused(name: str, text: str) -> None:
    assert not FORMATS[name](text)
