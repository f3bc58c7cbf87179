"""What the binder and its like ask and tell the engine, by way of the loop that owns it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from grove.scheduler.outcomes import BindFailure


class Head(Protocol):
    """`live.py` is one."""

    def unfit(self, uids: Collection[str]) -> Collection[str]:
        """Which of the pods cannot go where they were decided to go any more, by what is known this very moment."""
        ...

    async def news(self) -> None:
        """Returns when the engine has been told of more changes in the cluster."""
        ...

    def bound(self, uid: str) -> None:
        """A pod is on the node that was decided."""
        ...

    def bind_failed(self, uid: str, why: BindFailure) -> None:
        """A pod is not there: its room is free again."""
        ...

    def evicted(self, uid: str) -> None:
        """A pod is on its way out."""
        ...

    def evict_failed(self, uid: str, why: str) -> None:
        """A pod stays."""
        ...
