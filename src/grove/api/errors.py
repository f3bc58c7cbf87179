"""What is wrong with an object: where, why, and what would help.

    Problem                    something to say about a field
    ├── FieldError             refuses the object
    └── FieldWarning                admits it, but the user should know

Texts follow Kubernetes field errors (`<path>: Invalid value: <value>: <detail>`), so that what `grove validate`, the
webhook and the API server print reads alike; the remedy is ours and always says what to do next.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Any, Final

import msgspec

MAX_VALUE_TEXT: Final = 120
MAX_CHOICES: Final = 20


class Key(str):
    """A key of a map in a path, printed as `[key]` where a field is printed as `.field`."""

    __slots__ = ()


Step = str | int


class Path(msgspec.Struct, frozen=True):
    """Where in an object: field names, list indices and map keys, from the root."""

    steps: tuple[Step, ...] = ()

    def field(self, *names: str) -> Path:
        return Path((*self.steps, *names))

    def index(self, position: int) -> Path:
        return Path((*self.steps, position))

    def key(self, name: str) -> Path:
        return Path((*self.steps, Key(name)))

    @classmethod
    def parse(cls, dotted: str) -> Path:
        """A path of plain fields, as written in code: `spec.template.cliques`."""
        return cls(tuple(step for step in dotted.split(".") if step))

    def parents(self) -> Iterator[Path]:
        """This path and those around it, innermost first, the root last."""
        for length in range(len(self.steps), -1, -1):
            yield Path(self.steps[:length])

    def __str__(self) -> str:
        text = ""
        for step in self.steps:
            if isinstance(step, int | Key):
                text += f"[{step}]"
            else:
                text += f".{step}" if text else step
        return text or "<root>"


class Reason(StrEnum):
    """Why a value is refused: Kubernetes' cause types, and one for fields that do not exist."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    DUPLICATE = "FieldValueDuplicate"
    NOT_SUPPORTED = "FieldValueNotSupported"
    NOT_FOUND = "FieldValueNotFound"
    FORBIDDEN = "FieldValueForbidden"
    TYPE_INVALID = "FieldValueTypeInvalid"
    UNKNOWN_FIELD = "UnknownField"


_LABELS: Final = {
    Reason.REQUIRED: "Required value",
    Reason.INVALID: "Invalid value",
    Reason.DUPLICATE: "Duplicate value",
    Reason.NOT_SUPPORTED: "Unsupported value",
    Reason.NOT_FOUND: "Not found",
    Reason.FORBIDDEN: "Forbidden",
    Reason.TYPE_INVALID: "Invalid value",
    Reason.UNKNOWN_FIELD: "Unknown field",
}
_WITHOUT_VALUE: Final = frozenset({Reason.REQUIRED, Reason.FORBIDDEN, Reason.UNKNOWN_FIELD})


class FieldError(msgspec.Struct, frozen=True):
    """One reason to refuse an object."""

    path: Path
    reason: Reason
    detail: str
    remedy: str
    value: Any = None

    def __str__(self) -> str:
        parts = [str(self.path), _LABELS[self.reason]]
        if self.reason not in _WITHOUT_VALUE:
            parts.append(value_text(self.value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)


class FieldWarning(msgspec.Struct, frozen=True):
    """Something the user should know about an object that is admitted."""

    path: Path
    detail: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"


class Problems:
    """Collects what the rules find; nothing stops at the first error."""

    __slots__ = ("errors", "warnings")

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[FieldWarning] = []

    def required(self, path: Path, detail: str, remedy: str) -> None:
        self.errors.append(FieldError(path, Reason.REQUIRED, detail, remedy))

    def invalid(self, path: Path, value: Any, detail: str, remedy: str) -> None:
        self.errors.append(FieldError(path, Reason.INVALID, detail, remedy, value))

    def duplicate(self, path: Path, value: Any, remedy: str, detail: str = "") -> None:
        self.errors.append(FieldError(path, Reason.DUPLICATE, detail, remedy, value))

    def unsupported(self, path: Path, value: Any, supported: tuple[str, ...], remedy: str = "") -> None:
        detail = "supported values: " + ", ".join(f'"{one}"' for one in supported)
        self.errors.append(FieldError(path, Reason.NOT_SUPPORTED, detail, remedy or "use one of them", value))

    def not_found(self, path: Path, value: Any, remedy: str, detail: str = "") -> None:
        self.errors.append(FieldError(path, Reason.NOT_FOUND, detail, remedy, value))

    def forbidden(self, path: Path, detail: str, remedy: str) -> None:
        self.errors.append(FieldError(path, Reason.FORBIDDEN, detail, remedy))

    def wrong_type(self, path: Path, value: Any, expected: str, remedy: str = "") -> None:
        detail = f"must be of type {expected}"
        self.errors.append(FieldError(path, Reason.TYPE_INVALID, detail, remedy or f"write {a(expected)} here", value))

    def unknown(self, path: Path, remedy: str) -> None:
        self.errors.append(FieldError(path, Reason.UNKNOWN_FIELD, "", remedy))

    def warn(self, path: Path, detail: str, remedy: str = "") -> None:
        self.warnings.append(FieldWarning(path, detail, remedy))

    def extend(self, other: Problems) -> None:
        self.errors.extend(other.errors)
        self.warnings.extend(other.warnings)


def choices(names: Collection[str]) -> str:
    """The names to choose from, not all of them where there are many."""
    shown = ", ".join(itertools.islice(names, MAX_CHOICES)) or "there are none"
    return f"{shown} and {len(names) - MAX_CHOICES} more" if len(names) > MAX_CHOICES else shown


def a(noun: str) -> str:
    """The noun with its article."""
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"


def value_text(value: Any) -> str:
    """The value as JSON on one line, cut where it would drown the message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE_TEXT else text[: MAX_VALUE_TEXT - 1] + "…"
