"""What goes wrong in a reconcile, as users read it in `status.lastErrors`, and the operation that it was part of."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Literal

from grove.api.conditions import timestamp
from grove.api.kinds.meta import LastError, LastOperation

Operation = Literal["GetExistingResourceNames", "Sync", "Delete"]


class StepError(Exception):
    """A step of a reconcile that failed: what it was, and why."""

    def __init__(self, code: str, message: str, *, operation: Operation = "Sync", cause: BaseException | None = None):
        self.code = code
        self.operation = operation
        text = f"[Operation: {operation}, Code: {code}] message: {message}"
        super().__init__(f"{text}, cause: {cause}" if cause is not None else text)


def last_errors(
    held: tuple[LastError, ...], found: Iterable[StepError], now: datetime.datetime
) -> tuple[LastError, ...]:
    """The errors for the status. One that is there already keeps the time at which it was first seen."""
    known = {(one.code, one.description): one for one in held}
    fresh = [LastError(code=one.code, description=str(one), observed_at=timestamp(now)) for one in found]
    return tuple(known.get((one.code, one.description), one) for one in fresh)


def last_operation(
    held: LastOperation | None,
    type: Literal["Reconcile", "Delete"],
    state: Literal["Processing", "Succeeded", "Error"],
    description: str,
    now: datetime.datetime,
) -> LastOperation:
    """The operation for the status; what says nothing new is not written again."""
    if held is not None and (held.type, held.state, held.description) == (type, state, description):
        return held
    return LastOperation(type=type, state=state, description=description, last_update_time=timestamp(now))
