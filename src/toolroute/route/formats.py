"""What the ``format`` keyword asserts, for callers who want it asserted.

Theory. JSON Schema leaves ``format`` an annotation unless switched on, and so does this package. Switched on, each format of the
standard has one function from text to bool, written from its RFC and free of optional packages, so that the answer is the same
everywhere. A standard format without a function here is refused when asserted, never passed over; a name the standard does not know
(``int64``) stays an annotation, as the standard says.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable

from ..errors import SchemaError
from .ecma import compile_pattern

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))")
DURATION = re.compile(
    r"P(?:[0-9]+W|(?=[0-9T])(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)?"
    r"(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?)"
)
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOSTNAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_EMAIL = re.compile(rf'(?:{ATOM}(?:\.{ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*")@(?:({LABEL}(?:\.{LABEL})*)|\[([^\]]+)\])')
_CHAR = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_NO_COLON = r"(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})"
_HOST = r"(?:\[(?P<literal>[^\]]*)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)"
_AUTHORITY = rf"//(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{{2}})*@)?{_HOST}(?::[0-9]*)?(?:/{_CHAR}*)*"
_TAIL = rf"(?:\?(?:{_CHAR}|[/?])*)?(?:#(?:{_CHAR}|[/?])*)?"
_ABSOLUTE_PATH = rf"/(?:{_CHAR}+(?:/{_CHAR}*)*)?"
URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{_AUTHORITY}|{_ABSOLUTE_PATH}|{_CHAR}+(?:/{_CHAR}*)*|){_TAIL}")
RELATIVE = re.compile(rf"(?:{_AUTHORITY}|{_ABSOLUTE_PATH}|{_NO_COLON}+(?:/{_CHAR}*)*|){_TAIL}")
FUTURE_ADDRESS = re.compile(r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")
UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
RELATIVE_POINTER = re.compile(r"(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~[01])*)*)")


def _matches(expression: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: expression.fullmatch(text) is not None


def _date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.date(max(int(text[:4]), 1), int(text[5:7]), int(text[8:]))  # year 0000 is a leap year in RFC 3339 only in theory
    except ValueError:
        return False
    return True


def _time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    if not match:
        return False
    hour, minute, second = (int(match.group(part)) for part in (1, 2, 3))
    sign, hours, minutes = match.group(4), int(match.group(5) or 0), int(match.group(6) or 0)
    if hour > 23 or minute > 59 or second > 60 or hours > 23 or minutes > 59:
        return False
    offset = (hours * 60 + minutes) * (-1 if sign == "+" else 1)
    return second < 60 or (hour * 60 + minute + offset) % 1440 == 1439  # a leap second is the last one of a day in UTC


def _date_time(text: str) -> bool:
    return len(text) > 10 and text[10] in "Tt" and _date(text[:10]) and _time(text[11:])


def _address(text: str, version: int) -> bool:
    try:
        return "%" not in text and ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def _hostname(text: str) -> bool:
    return len(text) <= 253 and HOSTNAME.fullmatch(text) is not None


def _email(text: str) -> bool:
    match = _EMAIL.fullmatch(text)
    if not match:
        return False
    host, literal = match.groups()
    if host is not None:
        return _hostname(host)
    return _address(literal[5:], 6) if literal[:5].lower() == "ipv6:" else _address(literal, 4)


def _uri(*expressions: re.Pattern[str]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        match = next(filter(None, (expression.fullmatch(text) for expression in expressions)), None)
        literal = match["literal"] if match else None
        return match is not None and (literal is None or _address(literal, 6) or FUTURE_ADDRESS.fullmatch(literal) is not None)

    return check


def _regex(text: str) -> bool:
    try:
        compile_pattern(text)
    except SchemaError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _date,
    "date-time": _date_time,
    "duration": lambda text: DURATION.fullmatch(text) is not None,
    "email": _email,
    "hostname": _hostname,
    "ipv4": lambda text: _address(text, 4),
    "ipv6": lambda text: _address(text, 6),
    "json-pointer": _matches(POINTER),
    "regex": _regex,
    "relative-json-pointer": _matches(RELATIVE_POINTER),
    "time": _time,
    "uri": _uri(URI),
    "uri-reference": _uri(URI, RELATIVE),
    "uuid": _matches(UUID),
}
"""The formats that can be asserted."""

UNCHECKED = frozenset(("idn-email", "idn-hostname", "iri", "iri-reference", "uri-template"))
"""The formats of the standard that cannot."""
