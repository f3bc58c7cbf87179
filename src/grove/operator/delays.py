"""The durations that templates set, as far as something waits for them. Pure.

The webhook refuses durations that are none, or not positive; where it did not run, they count as left out.
"""

from __future__ import annotations

import datetime

from grove.api import defaults, durations
from grove.api.kinds.podcliqueset import PodCliqueSetTemplate
from grove.api.kinds.scaling import RollingUpdate


def termination_delay(template: PodCliqueSetTemplate) -> datetime.timedelta:
    """How long a gang may be below its minimum before it is stopped and started anew."""
    return _positive(template.termination_delay) or _timedelta(defaults.TERMINATION_DELAY)


def progress_deadline(pace: RollingUpdate | None) -> datetime.timedelta | None:
    """How long an update may be without progress before it counts as stuck; None for ever."""
    return None if pace is None else _positive(pace.progress_deadline)


def _positive(text: str | None) -> datetime.timedelta | None:
    try:
        nanoseconds = durations.parse(text or "0")
    except durations.InvalidDuration:
        return None
    return _timedelta(nanoseconds) if nanoseconds > 0 else None


def _timedelta(nanoseconds: int) -> datetime.timedelta:
    return datetime.timedelta(microseconds=nanoseconds / durations.MICROSECOND)
