"""Reading an untyped pod spec: a node is a JSON object, where it stands, and where its problems go.

The structural schema has already said what has the wrong type, so a reader answers "not there" for such a value and the
rules pass over it. As in Kubernetes, null is the same as absent, and so is an empty text where the text is no pointer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from grove.api import quantities
from grove.api.errors import Path, Problems
from grove.api.grammar import Fault

JSON: TypeAlias = dict[str, Any]


TextRule: TypeAlias = Callable[[str], Fault | None]


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON object of the spec."""

    value: JSON
    path: Path
    problems: Problems

    # Reading

    def at(self, *names: str) -> Path:
        """Where a field of this object stands."""
        return self.path.field(*names)

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, key: str) -> str | None:
        """The text; empty where it is absent, None where something else stands there."""
        found = self.value.get(key)
        if found is None:
            return ""
        return found if isinstance(found, str) else None

    def number(self, key: str) -> int | None:
        found = self.value.get(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def flag(self, key: str) -> bool:
        return self.value.get(key) is True

    def child(self, key: str) -> Node | None:
        found = self.value.get(key)
        return Node(found, self.at(key), self.problems) if isinstance(found, dict) else None

    def each(self, key: str) -> Iterator[Node]:
        """The objects of a list."""
        for position, item in enumerate(self.items(key)):
            if isinstance(item, dict):
                yield Node(item, self.at(key).index(position), self.problems)

    def texts(self, key: str) -> Iterator[tuple[Path, str]]:
        """The texts of a list and where each stands."""
        for position, item in enumerate(self.items(key)):
            if isinstance(item, str):
                yield self.at(key).index(position), item

    def items(self, key: str) -> list[Any]:
        found = self.value.get(key)
        return found if isinstance(found, list) else []

    def mapping(self, key: str) -> JSON:
        found = self.value.get(key)
        return found if isinstance(found, dict) else {}

    # Judging

    def judge(self, key: str, rule: TextRule) -> bool:
        """Whether the text, if there is one, follows the rule; tells if it does not."""
        return judge(self.at(key), self.text(key), rule, self.problems)

    def need(self, key: str, remedy: str, rule: TextRule | None = None, detail: str = "") -> bool:
        """Whether the text is there and follows the rule; tells if it is missing or does not."""
        if self.text(key) == "":
            self.problems.required(self.at(key), detail, remedy)
            return False
        return rule is None or self.judge(key, rule)

    def choose(self, key: str, options: tuple[str, ...], *, may_be_empty: bool = True) -> None:
        """One of the options, or absent; `may_be_empty` where Kubernetes takes an empty text for an absent one."""
        found = self.text(key)
        if found is None or found in options or (found == "" and (may_be_empty or not self.has(key))):
            return
        self.problems.unsupported(self.at(key), found, options)

    def need_choice(self, key: str, options: tuple[str, ...], detail: str = "") -> None:
        """One of the options."""
        if self.need(key, "use one of " + ", ".join(options), detail=detail):
            self.choose(key, options)

    def within(self, key: str, low: int, high: int) -> None:
        found = self.number(key)
        if found is not None and not low <= found <= high:
            self.problems.invalid(
                self.at(key),
                found,
                f"must be between {low} and {high}, inclusive",
                f"use a number from {low} to {high}",
            )

    def at_least(self, key: str, low: int) -> None:
        found = self.number(key)
        if found is not None and found < low:
            detail = f"must be greater than or equal to {low}" if low != 1 else "must be greater than zero"
            self.problems.invalid(self.at(key), found, detail, f"use {low} or more")


def judge(path: Path, text: str | None, rule: TextRule, problems: Problems) -> bool:
    """Whether a text follows a rule; an empty one is taken for absent."""
    fault = rule(text) if text else None
    if fault is not None:
        problems.invalid(path, text, fault.detail, fault.remedy)
    return fault is None


def judge_always(path: Path, text: str, rule: TextRule, problems: Problems) -> bool:
    """Like `judge` where an empty text is a value of its own, such as a list's item."""
    fault = rule(text)
    if fault is not None:
        problems.invalid(path, text, fault.detail, fault.remedy)
    return fault is None


def quantity(path: Path, value: Any, problems: Problems) -> int | None:
    """The quantity in billionths; tells if a text is none."""
    found = nano(value)
    if found is None and isinstance(value, str):
        problems.invalid(path, value, "is not a quantity", "write an amount such as 500m, 2 or 4Gi")
    return found


def nano(value: Any) -> int | None:
    """The quantity in billionths; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return quantities.nano(value)
    except quantities.InvalidQuantity:
        return None
