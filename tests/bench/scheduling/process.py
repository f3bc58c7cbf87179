"""A `grove scheduler` process, and what it has used and written so far."""

from __future__ import annotations

from pathlib import Path

from tests.bench.groveprocess import LOCAL, GroveProcess


class SchedulerProcess(GroveProcess):
    """The process. To be used with `with`."""

    def __init__(self, kubeconfig: Path, *, profile: bool = False) -> None:
        configuration = {
            "apiVersion": "scheduler.config.grove.io/v1alpha1",
            "kind": "SchedulerConfiguration",
            "runtimeClientConnection": {"qps": -1},
            "server": {"healthProbes": LOCAL, "metrics": LOCAL},
        }
        super().__init__("scheduler", kubeconfig, configuration, profile=profile)
