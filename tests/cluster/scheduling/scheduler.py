"""`grove scheduler` as a child process."""

from pathlib import Path

from tests.cluster.program import JSON, PATIENCE, Program

__all__ = ["ACCOUNT", "CONFIGURATION", "PATIENCE", "Scheduler"]

ACCOUNT = "grove-scheduler"

CONFIGURATION: JSON = {
    "apiVersion": "scheduler.config.grove.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "runtimeClientConnection": {"qps": -1},
    "leaderElection": {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"},
    "binding": {"gangBindTimeout": "8s"},
    # Of all servers the kernel chooses the ports; the log tells which.
    "server": {
        "healthProbes": {"bindAddress": "127.0.0.1", "port": 0},
        "metrics": {"bindAddress": "127.0.0.1", "port": 0},
    },
}


class Scheduler(Program):
    """A process of the scheduler."""

    def __init__(self, kubeconfig: Path, directory: Path, *, configuration: JSON | None = None) -> None:
        super().__init__("scheduler", kubeconfig, directory, CONFIGURATION | (configuration or {}))
