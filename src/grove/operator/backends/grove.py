"""Grove's own scheduler: it reads PodGangs, waits for the whole gang itself, and reports what became of it."""

from __future__ import annotations

import msgspec

from grove.api.fields import JSON


class GroveScheduler(msgspec.Struct, frozen=True):
    """See the top of the module."""

    name: str
    holds_pods: bool = False
    reports_gangs: bool = True

    def prepare(self, pod: JSON, *, gang: str, clique: str) -> JSON:
        return {**pod, "spec": {**pod["spec"], "schedulerName": self.name}}
