"""What of the operator's configuration cannot be had. Pure."""

from __future__ import annotations

from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.runtime.exits import CannotRun, Exit


def check_network(configuration: OperatorConfiguration) -> None:
    """Raises CannotRun where multi-node NVLink is asked for: ComputeDomains are not made yet."""
    if configuration.network.auto_mnnvl_enabled:
        raise CannotRun(
            Exit.NETWORK,
            "network.autoMNNVLEnabled: true: this release makes no ComputeDomains",
            "set it to false or leave it out",
        )
