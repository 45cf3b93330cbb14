"""The languages of the formats: exactly what ``route.formats`` accepts, for the mask.

Each is a pattern, built from the same pieces as the check of the finished reply, with what the check does by calculation written out: the
lengths of months and leap years, and IP addresses. One thing is narrower: a leap second is written in UTC only. With another offset it is
the last second of a day for one local minute in 1,440, a language of thousands of states for what nobody says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from ..grammar.pattern import compile_regex
from ..grammar.regex import ANY, Regex, both, concat, either, repeat
from ..route import formats as checks

_MAX_HOST: Final = 253  # characters of a host name, as RFC 1035 has it

_DATE: Final = (
    r"(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)"
)
_OFFSET: Final = r"[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]"
_FRACTION: Final = r"(?:\.[0-9]+)?"
_TIME: Final = rf"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]{_FRACTION}(?:[Zz]|{_OFFSET})"
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_HEX: Final = r"[0-9A-Fa-f]{1,4}"
_LAST: Final = rf"(?:{_HEX}:{_HEX}|{_IPV4})"


def _ipv6() -> str:
    forms = [rf"(?:{_HEX}:){{6}}{_LAST}", rf"(?:{_HEX}(?::{_HEX}){{0,6}})?::"]
    for before in range(6):  # groups before the double colon, at most; the rest of eight, less one, may follow
        lead = "" if before == 0 else rf"{_HEX}" if before == 1 else rf"{_HEX}(?::{_HEX}){{{before - 1}}}"
        most = 5 - before
        forms.append(rf"{lead}::(?:{_HEX}:){{0,{most}}}{_LAST}")
    for before in range(7):
        lead = "" if before == 0 else rf"{_HEX}(?::{_HEX}){{{before - 1}}}"
        most = 6 - before
        forms.append(rf"{lead}::{_HEX}(?::{_HEX}){{0,{most}}}")
    return f"(?:{'|'.join(forms)})"


def _whole(pattern: str) -> Regex:
    return compile_regex(f"^(?:{pattern})$")


def _time() -> Regex:
    return _whole(rf"{_TIME}|23:59:60{_FRACTION}(?:[Zz]|[+-]00:00)")


def _host() -> Regex:
    return both(_whole(checks.HOSTNAME.pattern), repeat(ANY, 0, _MAX_HOST))


def _email() -> Regex:
    local = rf'(?:{checks.ATOM}(?:\.{checks.ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*")@'
    literal = rf"\[(?:{_IPV4}|[Ii][Pp][Vv]6:{_ipv6()})\]"
    return concat(_whole(local), either(_host(), _whole(literal)))


def _uri(*patterns: str) -> Regex:
    literal = rf"(?:{_ipv6()}|{checks.FUTURE_ADDRESS.pattern})"
    return either(*[_whole(pattern.replace(r"(?P<literal>[^\]]*)", literal)) for pattern in patterns])


_BUILDERS: Final[dict[str, Callable[[], Regex]]] = {
    "date": lambda: _whole(_DATE),
    "date-time": lambda: concat(_whole(f"{_DATE}[Tt]"), _time()),
    "duration": lambda: _whole(checks.DURATION.pattern),
    "email": _email,
    "hostname": _host,
    "ipv4": lambda: _whole(_IPV4),
    "ipv6": lambda: _whole(_ipv6()),
    "json-pointer": lambda: _whole(checks.POINTER.pattern),
    "relative-json-pointer": lambda: _whole(checks.RELATIVE_POINTER.pattern),
    "time": _time,
    "uri": lambda: _uri(checks.URI.pattern),
    "uri-reference": lambda: _uri(checks.URI.pattern, checks.RELATIVE.pattern),
    "uuid": lambda: _whole(checks.UUID.pattern),
}
REGULAR: Final = frozenset(_BUILDERS)
"""The formats that have a language. Only ``regex`` has none."""


NARROWER: Final = frozenset(("time", "date-time"))
"""Formats of which the check accepts a little more than the language says."""


@lru_cache(maxsize=32)
def language(name: str) -> Regex:
    """The language of a format of ``REGULAR``."""
    return _BUILDERS[name]()
