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
_LONGEST_NUMBER: Final = len(str(_LARGEST))


class InvalidDuration(ValueError):
    """The text is not a duration."""


def parse(text: str) -> int:
    """The duration in nanoseconds, to the last one what Go reads."""
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
        count = match[1].lstrip("0")
        if len(count) > _LONGEST_NUMBER:
            raise _invalid(text)
        unit = _UNITS[match[3]]
        total += int(count or "0") * unit + _fraction(match[2] or "", unit)
        position = match.end()
    if not rest or total > (_LARGEST if sign > 0 else _LARGEST + 1):
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


def _fraction(digits: str, unit: int) -> int:
    """The nanoseconds in the digits after the point: as many digits as Go's integers hold, and Go's rounding."""
    value, scale = 0, 1.0
    for digit in digits:
        if value > _LARGEST // 10:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return int(value * (unit / scale))


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}d}".rstrip("0")


def _invalid(text: str) -> InvalidDuration:
    return InvalidDuration(f'"{text}" is not a duration: write a number with a unit, as in 30s, 15m, 4h or 1h30m')
