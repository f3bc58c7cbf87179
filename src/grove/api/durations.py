"""Go durations (`4h`, `1h30m`, `250ms`) as exact nanoseconds, and back as Go prints them."""

from __future__ import annotations

import re
from typing import Final

NANOSECOND: Final = 1
MICROSECOND: Final = 1000 * NANOSECOND
MILLISECOND: Final = 1000 * MICROSECOND
SECOND: Final = 1000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_UNITS: Final = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_LARGEST: Final = 2**63 - 1
_LONGEST: Final = 100
"""No duration needs as many characters, and Python refuses to read numbers of thousands of digits."""


class InvalidDuration(ValueError):
    """The text is not a duration."""


def parse(text: str) -> int:
    """The duration in nanoseconds; a fraction finer than that is cut, as Go does."""
    if len(text) > _LONGEST:
        raise _invalid(f"{text[:_LONGEST]}…")
    sign, rest = 1, text
    if rest[:1] in ("-", "+"):
        sign, rest = (-1 if rest[0] == "-" else 1), rest[1:]
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None or not (match[1] or match[2]):
            raise _invalid(text)
        unit = _UNITS[match[3]]
        fraction = match[2] or ""
        total += int(match[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        position = match.end()
    if not rest or total > _LARGEST:
        raise _invalid(text)
    return sign * total


def text(nanoseconds: int) -> str:
    """The duration as Go prints it: `4h0m0s`, `1.5s`, `250ms`, `0s`."""
    if nanoseconds == 0:
        return "0s"
    sign, value = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if value < SECOND:
        for unit, size in (("ms", MILLISECOND), ("µs", MICROSECOND), ("ns", NANOSECOND)):
            if value >= size:
                return f"{sign}{_decimal(value, size)}{unit}"
    hours, value = divmod(value, HOUR)
    minutes, value = divmod(value, MINUTE)
    seconds = f"{_decimal(value, SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}d}".rstrip("0")


def _invalid(text: str) -> InvalidDuration:
    return InvalidDuration(f'"{text}" is not a duration: write a number with a unit, as in 30s, 15m, 4h or 1h30m')
