"""What defaulting does to pod specs: the defaults of pods that Grove relies on, those of the configuration, and one
correction that spares users a trap: a device that is requested without a limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from grove.api.errors import Path, Problems
from grove.api.fields import JSON, as_mapping
from grove.api.kinds.operatorconfig import PodDefaults
from grove.api.podspec import resources
from grove.api.policy import Policy

RESTART_POLICY: Final = "Always"
GRACE_PERIOD_SECONDS: Final = 30
PORT_NAME: Final = "grove"

_CONTAINER_LISTS: Final = ("initContainers", "containers")


def filled(spec: JSON, path: Path, policy: Policy, problems: Problems) -> JSON:
    """The pod spec with its defaults; in lenient mode with limits for devices that have only a request."""
    result = dict(spec)
    result["restartPolicy"] = spec.get("restartPolicy") or RESTART_POLICY
    if spec.get("terminationGracePeriodSeconds") is None:
        result["terminationGracePeriodSeconds"] = GRACE_PERIOD_SECONDS
    containers = spec.get("containers")
    if isinstance(containers, list):
        result["containers"] = _with_configured(containers, policy.pod_defaults)
    return result if policy.strict else with_device_limits(result, path, problems)


def with_device_limits(spec: JSON, path: Path, problems: Problems) -> JSON:
    """The pod spec with a limit for every device that is requested without one.

    Kubernetes refuses such pods (devices can't be overcommitted), yet examples in the wild are full of them.
    """
    result = dict(spec)
    for name in _CONTAINER_LISTS:
        containers = spec.get(name)
        if isinstance(containers, list):
            result[name] = [
                _with_limits(container, path.field(name).index(position), problems)
                if isinstance(container, dict)
                else container
                for position, container in enumerate(containers)
            ]
    return result


def _with_limits(container: JSON, path: Path, problems: Problems) -> JSON:
    stated = as_mapping(container.get("resources"))
    requests, limits = as_mapping(stated.get("requests")), as_mapping(stated.get("limits"))
    missing = {name: amount for name, amount in requests.items() if resources.is_extended(name) and name not in limits}
    for name, amount in missing.items():
        problems.warn(
            path.field("resources", "limits").key(name),
            f"set to the request, {amount}: Kubernetes refuses pods that request {name} without a limit",
            f"state the limit; for devices the limit alone is enough, as in limits: {{{name}: {amount}}}",
        )
    if not missing:
        return container
    return {**container, "resources": {**stated, "limits": {**limits, **missing}}}


def _with_configured(containers: list[Any], pod_defaults: PodDefaults) -> list[Any]:
    result = []
    for container in containers:
        if pod_defaults.requests and isinstance(container, dict) and not _states_resources(container):
            container = {**container, "resources": {"requests": dict(pod_defaults.requests)}}
        result.append(container)
    port_stated = any(as_mapping(container).get("ports") for container in containers)
    if pod_defaults.port and not port_stated and result and isinstance(result[0], dict):
        port = {"name": pod_defaults.port_name or PORT_NAME, "containerPort": pod_defaults.port, "protocol": "TCP"}
        result[0] = {**result[0], "ports": [port]}
    return result


def _states_resources(container: Mapping[str, Any]) -> bool:
    stated = as_mapping(container.get("resources"))
    return any(stated.get(part) for part in ("requests", "limits", "claims"))
