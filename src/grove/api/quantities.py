"""Kubernetes quantities (`500m`, `2Gi`, `1e3`) as exact integers.

Counting in nano-units keeps every quantity that Kubernetes can store exact: it rounds anything finer up to the next
nano-unit, and so does this. Floats never appear.
"""

from __future__ import annotations

import re
from typing import Final

NANO: Final = 10**9

_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
MAX_EXPONENT: Final = 64
MAX_LENGTH: Final = 100
"""No quantity needs as many characters, and Python refuses to read numbers of thousands of digits."""

LARGEST: Final = (2**63 - 1) * NANO
"""Kubernetes caps every quantity here."""


class InvalidQuantity(ValueError):
    """The text is not a quantity."""


def nano(text: str | int) -> int:
    """The quantity in billionths, rounded away from zero where it is finer than that."""
    if isinstance(text, int):
        return _capped(text * NANO)
    if len(text) > MAX_LENGTH:
        raise InvalidQuantity(f'"{text[:MAX_LENGTH]}…" is not a quantity: it has more than {MAX_LENGTH} characters')
    match = _QUANTITY.fullmatch(text)
    if match is None or not (match["whole"] or match["part"]):
        raise InvalidQuantity(
            f'"{text}" is not a quantity: write a number with an optional suffix, as in 500m, 2 or 4Gi'
        )
    whole, part = match["whole"] or "", match["part"] or ""
    digits = int((whole + part) or "0")
    if match["exponent"] is not None:
        exponent = int(match["exponent"])
        if abs(exponent) > MAX_EXPONENT:
            raise InvalidQuantity(f'"{text}" is not a quantity: its exponent is beyond ±{MAX_EXPONENT}')
        value = _scaled(digits, exponent - len(part), 1)
    elif match["suffix"] in _BINARY:
        value = _scaled(digits, -len(part), _BINARY[match["suffix"]])
    else:
        value = _scaled(digits, _DECIMAL[match["suffix"] or ""] - len(part), 1)
    return _capped(-value if match["sign"] == "-" else value)


def whole(text: str | int) -> int:
    """The quantity in whole units, rounded up: bytes, devices, pods."""
    return -(-nano(text) // NANO)


def milli(text: str | int) -> int:
    """The quantity in thousandths, rounded up: milli-CPU."""
    return -(-nano(text) // 10**6)


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


def _capped(value: int) -> int:
    return max(-LARGEST, min(LARGEST, value))
