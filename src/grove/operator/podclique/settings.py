"""What the operator's configuration and environment say of the pods it makes.

Made once, where the process is put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from grove.api import names
from grove.api.fields import JSON
from grove.api.kinds.operatorconfig import OperatorConfiguration, Waiter

IMAGE_VARIABLE: Final = "GROVE_INIT_CONTAINER_IMAGE"
"""Environment variable of the operator: the waiter's image without a tag."""
IMAGE: Final = "grove-initc"
REQUESTS: Final[Mapping[str, str | int]] = {"cpu": "100m", "memory": "128Mi"}
"""What an interpreter needs to start soon."""


class PodSettings(msgspec.Struct, frozen=True, kw_only=True):
    """See the top of the module."""

    waiter_image: str
    waiter_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    waiter_position: Literal["first", "last"] = "last"
    waiter_resources: JSON = {}
    token_seconds: int = 3607
    cluster_domain: str = names.CLUSTER_DOMAIN


def of_configuration(
    configuration: OperatorConfiguration, *, environment: Mapping[str, str], version: str
) -> PodSettings:
    """The settings of an operator of this version."""
    waiter = configuration.waiter
    return PodSettings(
        waiter_image=waiter.image or f"{environment.get(IMAGE_VARIABLE) or IMAGE}:{version}",
        waiter_pull_policy=waiter.image_pull_policy,
        waiter_position=waiter.position,
        waiter_resources=_resources(waiter),
        token_seconds=waiter.token_expiration_seconds,
        cluster_domain=configuration.network.cluster_domain,
    )


def _resources(waiter: Waiter) -> JSON:
    requests = REQUESTS if waiter.resources.requests is None else waiter.resources.requests
    limits = requests if waiter.resources.limits is None else waiter.resources.limits
    return {field: dict(amounts) for field, amounts in (("requests", requests), ("limits", limits)) if amounts}
