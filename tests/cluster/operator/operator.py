"""`grove operator` as a child process."""

from pathlib import Path

from tests.cluster.program import JSON, PATIENCE, Program

__all__ = ["ACCOUNT", "CONFIGURATION", "PATIENCE", "Operator"]

ACCOUNT = "grove-operator"

CONFIGURATION: JSON = {
    "apiVersion": "operator.config.grove.io/v1alpha1",
    "kind": "OperatorConfiguration",
    "runtimeClientConnection": {"qps": -1},
    "scheduler": {"profiles": [{"name": "default-scheduler"}], "defaultProfileName": "default-scheduler"},
    # Of all servers the kernel chooses the ports; the log tells which.
    "server": {
        "webhooks": {"bindAddress": "127.0.0.1", "port": 0},
        "healthProbes": {"bindAddress": "127.0.0.1", "port": 0},
        "metrics": {"bindAddress": "127.0.0.1", "port": 0},
    },
}


class Operator(Program):
    """A process of the operator."""

    def __init__(
        self, kubeconfig: Path, directory: Path, *, configuration: JSON | None = None, webhooks: str = "127.0.0.1"
    ) -> None:
        wanted = CONFIGURATION | (configuration or {})
        super().__init__("operator", kubeconfig, directory, wanted, "--webhooks", webhooks)
