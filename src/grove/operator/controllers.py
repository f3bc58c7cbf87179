"""The controllers of the operator, made anew for each term of a leader, with the right to write in it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.events import Recorder
from grove.operator.backends.registry import Backends
from grove.operator.world import Key, World
from grove.operator.writer import Writer
from grove.runtime.controller import Controller


class Controllers:
    """See the top of the module."""

    def __init__(
        self,
        configuration: OperatorConfiguration,
        *,
        world: World,
        caches: Caches,
        backends: Backends,
        recorder: Recorder,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.writers: Mapping[str, Writer] = {}
        """Of the term, by the name of the controller."""
        self._running: Sequence[Controller[Key]] = ()
        self._settings = configuration.controllers
        self._world = world
        self._caches = caches
        self._backends = backends
        self._recorder = recorder
        self._clock = clock
        self._rng = rng

    def running(self) -> Sequence[Controller[Key]]:
        """Those of the term; none on a replica that stands by."""
        return self._running

    def of_term(self, client: Client) -> Sequence[Controller[Key]]:
        """All of them, writing through this client."""
        self._running = ()
        return self._running
