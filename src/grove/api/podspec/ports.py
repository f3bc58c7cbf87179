"""Ports of containers: names, numbers, and host ports that two of them want."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from grove.api import grammar
from grove.api.podspec.tree import Node

MAX_PORT: Final = 65535
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def check(container: Node) -> None:
    """The ports of one container."""
    seen: set[str] = set()
    for port in container.each("ports"):
        name = port.text("name")
        if name and port.judge("name", grammar.port):
            if name in seen:
                port.problems.duplicate(port.at("name"), name, "give every port of a container a name of its own")
            seen.add(name)
        number = port.number("containerPort")
        if number == 0 or not port.has("containerPort"):
            port.problems.required(port.at("containerPort"), "", "say which port the container listens on")
        else:
            port.within("containerPort", 1, MAX_PORT)
        if port.number("hostPort") != 0:
            port.within("hostPort", 1, MAX_PORT)
        port.choose("protocol", PROTOCOLS)


def check_host_network(container: Node) -> None:
    """The ports of a container that has the host's network: none is mapped to another."""
    for port in container.each("ports"):
        host = port.number("hostPort")
        if host and host != port.number("containerPort"):
            port.problems.invalid(
                port.at("hostPort"),
                host,
                "must match `containerPort` when `hostNetwork` is true",
                "remove hostPort or set it to containerPort",
            )


def check_conflicts(containers: Iterable[Node], host_network: bool) -> None:
    """Host ports of containers that run at the same time. With the host's network, every port is a host port."""
    seen: set[tuple[str, str, int]] = set()
    for container in containers:
        for port in container.each("ports"):
            host = port.number("hostPort") or (port.number("containerPort") if host_network else None)
            if not host:
                continue
            taken = (port.text("protocol") or "TCP", port.text("hostIP") or "", host)
            if taken in seen:
                port.problems.duplicate(
                    port.at("hostPort"), "{}/{}/{}".format(*taken), "use another port, or remove hostPort"
                )
            seen.add(taken)


def check_reference(node: Node, key: str) -> None:
    """A port by number or by name, as probes write it."""
    found = node.value.get(key)
    if isinstance(found, str):
        fault = grammar.port(found)
        if fault is not None:
            node.problems.invalid(node.at(key), found, fault.detail, fault.remedy)
    elif found is None:
        node.problems.invalid(
            node.at(key), 0, f"must be between 1 and {MAX_PORT}, inclusive", "say which port to ask, by number or name"
        )
    else:
        node.within(key, 1, MAX_PORT)
