"""Containers and init containers: what all of them need, and what tells the two apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from grove.api import grammar
from grove.api.podspec import env, mounts, ports, probes, resources, restarts, security
from grove.api.podspec.tree import JSON, Node

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES: Final = ("FallbackToLogsOnError", "File")


class Surroundings(NamedTuple):
    """What a container must know of its pod."""

    volumes: Mapping[str, JSON]
    claims: Collection[str]
    grace: int
    host_network: bool
    host_users: bool
    never_restarts: bool


def check(spec: Node, pod: Surroundings) -> None:
    """All containers of a pod."""
    containers, inits = list(spec.each("containers")), list(spec.each("initContainers"))
    if not spec.items("containers"):
        spec.problems.required(spec.at("containers"), "", "add at least one container")
    if spec.items("ephemeralContainers"):
        spec.problems.forbidden(
            spec.at("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
            "remove them: kubectl debug adds one to a running pod",
        )
    _check_names([*containers, *inits])
    for container in containers:
        _check_container(container, pod, runs_once=False)
        if pod.host_network:
            ports.check_host_network(container)
    # Init containers run one after the other, so that two may want the same port.
    ports.check_conflicts(containers, pod.host_network)
    for init in inits:
        _check_container(init, pod, runs_once=init.text("restartPolicy") != "Always")
        ports.check_conflicts([init], pod.host_network)


def _check_names(containers: list[Node]) -> None:
    seen: set[str] = set()
    for container in containers:
        name = container.text("name")
        if container.need("name", "name the container", grammar.label) and name in seen:
            container.problems.duplicate(container.at("name"), name, "give every container a name of its own")
        if name:
            seen.add(name)


def _check_container(container: Node, pod: Surroundings, *, runs_once: bool) -> None:
    image = container.text("image")
    container.need("image", "name the image to run")
    if image and image != image.strip():
        container.problems.invalid(
            container.at("image"), image, "must not have leading or trailing whitespace", "remove the spaces"
        )
    container.choose("imagePullPolicy", PULL_POLICIES)
    container.choose("terminationMessagePolicy", MESSAGE_POLICIES)
    ports.check(container)
    env.check(container, pod.volumes)
    mounts.check(container, pod.volumes)
    if (requirements := container.child("resources")) is not None:
        resources.check(requirements, pod.claims)
    restarts.check(container, pod_never_restarts=pod.never_restarts, runs_once=runs_once)
    security.check_container(container, host_users=pod.host_users)
    if runs_once:
        probes.forbid(container)
    else:
        probes.check(container, pod.grace)
