"""Running kubectl as a user would, apart from the user's own settings.

Its home, cache and preferences lie beside the kubeconfig, so ~/.kube is neither read nor written, and they go when the
cluster goes.
"""

import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grove.testing.kubeconfig import in_namespace


class KubectlError(AssertionError):
    """kubectl failed where the test did not expect it."""


@dataclass(frozen=True)
class Result:
    """What a run of kubectl printed and returned."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Kubectl:
    """kubectl for one kubeconfig, as `ControlPlane` writes them, and one namespace."""

    binary: Path
    kubeconfig: Path
    namespace: str = "default"

    def run(self, *arguments: str, stdin: str | None = None, check: bool = True, timeout: float = 60.0) -> Result:
        """Runs `kubectl <arguments>`; a `-n` among the arguments wins over the namespace."""
        done = subprocess.run(
            [self.binary, *arguments],
            env=self.environment(),
            input="" if stdin is None else stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if check and done.returncode != 0:
            command = shlex.join(["kubectl", *arguments])
            raise KubectlError(f"`{command}` returned {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
        return Result(done.returncode, done.stdout, done.stderr)

    def environment(self) -> dict[str, str]:
        """Ours, for PATH and locale, without what would lead kubectl to another cluster or to the user's files."""
        home = self.kubeconfig.parent / "kubectl-home"
        home.mkdir(exist_ok=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("KUBE")}
        return kept | {
            "HOME": str(home),
            # Not as a flag: one before the name of a plugin keeps kubectl from finding the plugin.
            "KUBECONFIG": str(in_namespace(self.kubeconfig, self.namespace)),
            "KUBECACHEDIR": str(home / "cache"),
        }
