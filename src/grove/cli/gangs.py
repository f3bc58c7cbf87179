"""How gangs fare, in words and tables: what `grove why` and `grove plan` have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from grove.cli import output

if TYPE_CHECKING:
    from grove.scheduler.answers import Gathered, GroupAnswer
    from grove.scheduler.explain import Explanation

_MOST_NODES = 4


def age(seconds: float) -> str:
    """As kubectl says it: the two greatest units."""
    left = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return "".join(parts[:2])


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def counted(nodes: Mapping[str, int]) -> str:
    """`n1 ×4, n2 ×4`; of many nodes the first ones."""
    shown = [f"{name} ×{pods}" if pods > 1 else name for name, pods in [*nodes.items()][:_MOST_NODES]]
    more = len(nodes) - len(shown)
    return ", ".join(shown) + (f" and {count(more, 'more node')}" if more else "") or "-"


def within(domains: Mapping[str, str]) -> str:
    """`in rack r1`, the narrowest domain of all its pods; empty: they have nothing in common."""
    return next((f"in {level} {domain}" for level, domain in reversed([*domains.items()])), "")


def groups(found: Iterable[GroupAnswer]) -> list[str]:
    rows = [
        (one.name or "-", f"{one.placed}/{one.placed + one.waiting}", str(one.minimum), counted(one.nodes))
        for one in found
    ]
    return output.as_table(("group", "placed", "minimum", "nodes"), rows).splitlines()


def explanation(found: Explanation) -> Iterator[str]:
    """Why a gang waits, beginning with its sentence."""
    yield f"{found.reason}: {found.sentence}"
    if found.nearest:
        yield ""
        rows = [
            (
                one.domain or "the cluster",
                one.group or "-",
                str(one.fits),
                str(one.needs),
                f"{one.lacks} {one.resource}" if one.resource else "-",
            )
            for one in found.nearest
        ]
        yield from output.as_table(("nearest", "group", "fits", "needs", "lacks"), rows).splitlines()
    if found.reasons:
        yield ""
        refusals = [(str(one.nodes), one.why) for one in found.reasons]
        yield from output.as_table(("nodes", "why they refuse its pods"), refusals).splitlines()
    if found.held_for:
        yield ""
        yield f"Room that would do is held for {', '.join(found.held_for)}."
    if found.suggestions:
        yield ""
        yield "What would help:"
        for one in found.suggestions:
            yield f"  - {one.text}{' (tried: it has a place then)' if one.is_tried else ''}"


def gathered(found: Gathered, now: float) -> str:
    where = f"in {found.domain}" if found.domain else "in the whole cluster"
    soon = "nobody knows when" if found.free_at is None else f"expected in {age(found.free_at - now)}"
    return f"Room is gathered for it {where}: {found.lacking} of what it needs must still become free, {soon}."


def indented(lines: Iterable[str], by: int = 2) -> Iterator[str]:
    for line in lines:
        yield f"{' ' * by}{line}" if line else ""
