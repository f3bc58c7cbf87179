"""What the operator must know of a scheduler, and what it does to pods that are that scheduler's."""

from __future__ import annotations

from typing import Protocol

from grove.api.fields import JSON


class Backend(Protocol):
    """A kind of scheduler, under the name that a profile of the configuration gives it."""

    @property
    def name(self) -> str:
        """The scheduler's name, as pods state it."""
        ...

    @property
    def holds_pods(self) -> bool:
        """Whether pods are kept from the scheduler until all of their gang exist: it would place them one by one."""
        ...

    @property
    def reports_gangs(self) -> bool:
        """Whether the scheduler writes phase and conditions of PodGangs itself; otherwise the operator does."""
        ...

    def prepare(self, pod: JSON, *, gang: str, clique: str) -> JSON:
        """The pod as this scheduler wants it, from one that is otherwise complete. Pure."""
        ...
