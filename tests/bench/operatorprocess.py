"""A `grove operator` process, and what it has used and written so far."""

from __future__ import annotations

from pathlib import Path

from tests.bench.figures import FOLDER
from tests.bench.groveprocess import LOCAL, GroveProcess, Usage

__all__ = ["PROFILE", "OperatorProcess", "Usage"]

PROFILE = FOLDER / "operator.prof"


class OperatorProcess(GroveProcess):
    """The process. To be used with `with`; with `profile`, PROFILE is there afterwards."""

    def __init__(self, kubeconfig: Path, scheduler: str, *, profile: bool = False) -> None:
        profiles = [{"name": "grove-scheduler"}, {"name": "default-scheduler"}]
        configuration = {
            "apiVersion": "operator.config.grove.io/v1alpha1",
            "kind": "OperatorConfiguration",
            "runtimeClientConnection": {"qps": -1},
            "scheduler": {"profiles": profiles, "defaultProfileName": scheduler},
            "server": {"webhooks": LOCAL, "healthProbes": LOCAL, "metrics": LOCAL},
        }
        super().__init__("operator", kubeconfig, configuration, "--webhooks", "127.0.0.1", profile=profile)
