"""The schedulers of the configuration, by the names under which pods ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from grove.api.kinds.operatorconfig import Backend as Kind
from grove.api.kinds.podcliqueset import PodCliqueSetTemplate
from grove.api.policy import Policy
from grove.operator.backends.backend import Backend
from grove.operator.backends.grove import GroveScheduler
from grove.operator.backends.kubernetes import PlainScheduler

_KINDS: Final[Mapping[Kind, Callable[[str], Backend]]] = {
    "grove": GroveScheduler,
    "kubernetes": PlainScheduler,
    "external": PlainScheduler,
}


class UnsupportedBackendError(Exception):
    """A profile asks for a kind of scheduler that this release cannot tell of gangs."""


class Backends:
    """Made once, from the configuration."""

    def __init__(self, policy: Policy) -> None:
        self._default = policy.default_scheduler
        self._by_name = {name: _made(name, kind) for name, kind in policy.schedulers.items()}

    def of(self, scheduler_name: str) -> Backend:
        """The backend of a name; that of the default scheduler for one that nobody has configured."""
        return self._by_name.get(scheduler_name) or self._by_name[self._default]

    def of_template(self, template: PodCliqueSetTemplate) -> Backend:
        """The backend of a whole set: the first clique that names a scheduler decides."""
        stated = (one.spec.pod_spec.get("schedulerName") for one in template.cliques)
        return self.of(next((name for name in stated if name), self._default))


def _made(name: str, kind: Kind) -> Backend:
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise UnsupportedBackendError(
            f"scheduler profile {name}: backend {kind} is not supported; state one of {known}, or remove the profile"
        )
    return _KINDS[kind](name)
