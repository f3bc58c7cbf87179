"""A scheduler that places pods one by one, such as Kubernetes' own: gates hold the pods until their gang is whole.

More it cannot promise: it may find room for some pods of the gang and for others not.
"""

from __future__ import annotations

import msgspec

from grove.api.fields import JSON


class PlainScheduler(msgspec.Struct, frozen=True):
    """See the top of the module."""

    name: str
    holds_pods: bool = True
    reports_gangs: bool = False

    def prepare(self, pod: JSON, *, gang: str, clique: str) -> JSON:
        return {**pod, "spec": {**pod["spec"], "schedulerName": self.name}}
