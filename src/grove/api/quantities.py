"""Kubernetes quantities (`500m`, `2Gi`, `1e3`) as exact integers.

Counting in nano-units keeps every quantity that Kubernetes can store exact: it rounds anything finer away from zero to
the next nano-unit, and so does this. Floats never appear.
"""

from __future__ import annotations

import functools
import re
from typing import Final

NANO: Final = 10**9

_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
LARGEST: Final = (2**63 - 1) * NANO
"""Where counting ends. Kubernetes caps binary quantities here; of a greater decimal one it can compute little."""
MAX_DIGITS: Final = 256
# Beyond this, no digits bring a number back between one nano-unit and the largest quantity.
_MAX_EXPONENT: Final = MAX_DIGITS + 64
_MAX_EXPONENT_DIGITS: Final = 18


class InvalidQuantity(ValueError):
    """The text is not a quantity."""


def nano(text: str | int) -> int:
    """The quantity in billionths, rounded away from zero where it is finer than that."""
    return _capped(text * NANO) if isinstance(text, int) else _parsed(text)


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> int:
    # A cluster states few different amounts, each of them on thousands of pods and nodes.
    match = _QUANTITY.fullmatch(text)
    # Kubernetes' parser takes a suffix without a number for zero; the schemas of its types refuse it.
    if match is None or not (match["whole"] or match["part"]):
        raise InvalidQuantity(
            f'"{text}" is not a quantity: write a number with an optional suffix, as in 500m, 2 or 4Gi'
        )
    whole, part = match["whole"] or "", match["part"] or ""
    if len(whole + part) > MAX_DIGITS or len(match["exponent"] or "") > _MAX_EXPONENT_DIGITS:
        raise InvalidQuantity(f'"{text[:32]}…" is not a quantity: it has too many digits')
    digits = int(whole + part)
    if match["exponent"] is not None:
        exponent = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(match["exponent"])))
        value = _scaled(digits, exponent - len(part), 1)
    elif match["suffix"] in _BINARY:
        value = _scaled(digits, -len(part), _BINARY[match["suffix"]])
    else:
        value = _scaled(digits, _DECIMAL[match["suffix"] or ""] - len(part), 1)
    return _capped(-value if match["sign"] == "-" else value)


def whole(text: str | int) -> int:
    """The quantity in whole units, rounded away from zero: bytes, devices, pods."""
    return _rounded(nano(text), NANO)


def milli(text: str | int) -> int:
    """The quantity in thousandths, rounded away from zero: milli-CPU."""
    return _rounded(nano(text), 10**6)


def canonical(text: str | int) -> str:
    """The shortest decimal way to write the quantity; equal quantities are written alike."""
    value = nano(text)
    for suffix, power in (("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("u", -6)):
        unit = 10 ** (power + 9)
        if value % unit == 0:
            return f"{value // unit}{suffix}" if value else "0"
    return f"{value}n"


def _scaled(digits: int, power: int, factor: int) -> int:
    numerator = digits * factor * NANO
    ten: int = 10 ** abs(power)
    return numerator * ten if power >= 0 else -(-numerator // ten)


def _rounded(value: int, unit: int) -> int:
    # Floor division rounds negative numbers away from zero already.
    return -(-value // unit) if value > 0 else value // unit


def _capped(value: int) -> int:
    return max(-LARGEST, min(LARGEST, value))
