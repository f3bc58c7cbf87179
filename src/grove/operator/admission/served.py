"""The certificate that is served at this moment, and who is told when it changes.

Written by who provides certificates (`certificatestore.py`, `certificatefiles.py`), read by the server and by who
registers the webhooks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from grove.operator.admission.certificates import Bundle

NOT_READY = "certificates are not ready yet"


class Served:
    """Nothing until the first `take`."""

    def __init__(self) -> None:
        self.pair: Bundle | None = None
        """Certificate and key for new connections."""
        self.authorities = b""
        """Whom the API server should trust; empty where others tell it."""
        self.problem = ""
        """Why there is no newer one."""
        self._ready = asyncio.Event()
        self._followers: list[Callable[[], None]] = []

    def take(self, pair: Bundle | None = None, authorities: bytes = b"") -> None:
        """Another pair, other authorities, or both; what is left out stays."""
        self.problem = ""
        changed = False
        if authorities and authorities != self.authorities:
            self.authorities, changed = authorities, True
        if pair is not None and pair != self.pair:
            self.pair, changed = pair, True
            self._ready.set()
        if changed:
            for follower in tuple(self._followers):
                follower()

    async def ready(self) -> None:
        """Returns when there is a pair."""
        await self._ready.wait()

    def follow(self, follower: Callable[[], None]) -> Callable[[], None]:
        """Calls `follower`, which does not wait, after each change. The result ends that."""
        self._followers.append(follower)
        return lambda: self._followers.remove(follower)

    def check(self) -> str:
        """For readiness: what was served keeps being served, so a later problem is none of the kubelet's."""
        if self.pair is not None:
            return ""
        return f"{NOT_READY}: {self.problem}" if self.problem else NOT_READY
