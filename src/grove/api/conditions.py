"""Conditions of a status: the time of one moves only when its status does. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from grove.api.kinds.meta import Condition

Status = Literal["True", "False", "Unknown"]


def timestamp(now: datetime.datetime) -> str:
    """A time as the API server writes it."""
    return now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime.datetime:
    """A time that the API server or `timestamp` wrote."""
    return datetime.datetime.fromisoformat(text)


def find(conditions: Iterable[Condition], type: str) -> Condition | None:
    return next((one for one in conditions if one.type == type), None)


def is_true(conditions: Iterable[Condition], type: str) -> bool:
    found = find(conditions, type)
    return found is not None and found.status == "True"


def put(
    conditions: tuple[Condition, ...],
    type: str,
    status: Status,
    reason: str,
    message: str,
    *,
    now: datetime.datetime,
    generation: int | None = None,
) -> tuple[Condition, ...]:
    """The conditions with this one in its place; the very same tuple if it says nothing new."""
    held = find(conditions, type)
    if held is None:
        added = Condition(
            type=type,
            status=status,
            reason=reason,
            message=message,
            last_transition_time=timestamp(now),
            observed_generation=generation,
        )
        return (*conditions, added)
    since = held.last_transition_time if held.status == status else timestamp(now)
    changed = replace(
        held,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since,
        observed_generation=generation,
    )
    return conditions if changed == held else tuple(changed if one is held else one for one in conditions)


def without(conditions: tuple[Condition, ...], type: str) -> tuple[Condition, ...]:
    """The conditions without this one."""
    return tuple(one for one in conditions if one.type != type) if find(conditions, type) else conditions
