"""What everything that waits asks for the time. The clock itself is made in `main` and handed down; see runtime/clock.

The interface stands here because the lease and the client wait too, and rooms import only rooms below them.
"""

import datetime
from typing import Protocol


class Clock(Protocol):
    """Two times that must not be mixed: one to measure with, one to show.

    Timers of the event loop (`asyncio.timeout`, `call_later`) run beside it: where the two could differ, after the
    machine slept, the clock is what counts.
    """

    def monotonic(self) -> float:
        """Seconds since some moment. Never goes back, and goes on while the process is stopped or the machine sleeps.

        Every decision about a duration is made with it: leases, back-off, deadlines.
        """
        ...

    def wall(self) -> datetime.datetime:
        """The time of day, in UTC: for timestamps that people or other machines read. It may jump either way."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Returns after at least so long; at once, but after other tasks had their turn, if that is zero or less."""
        ...
