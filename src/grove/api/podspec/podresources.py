"""Resources of the pod as a whole (`spec.resources`), and how those of its containers must fit into them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from grove.api.podspec import resources
from grove.api.podspec.tree import JSON, Node

Amounts = dict[str, int]

WINDOWS: Final = "windows"


def check(spec: Node) -> None:
    """The pod's own resources."""
    own = spec.child("resources")
    if own is None:
        return
    system = spec.child("os")
    if system is not None and system.text("name") == WINDOWS:
        spec.problems.forbidden(spec.at("resources"), "may not be set for a windows pod", "set them in the containers")
        return
    if own.has("claims"):
        own.problems.forbidden(own.at("claims"), "may not be set at pod level", "name the claims in the containers")
    resources.check_all(own, resources.pod_name)
    _check_requests(spec, own)
    _check_limits(spec, own)


def _check_requests(spec: Node, own: Node) -> None:
    needed = total(spec, "requests")
    for name, amount in own.mapping("requests").items():
        _check_enough(own, "requests", name, amount, needed)
    for name, amount in own.mapping("limits").items():
        # Without a request of its own, the pod is given what its containers request.
        if name not in own.mapping("requests") and resources.may_overcommit(name):
            _check_enough(own, "limits", name, amount, needed)


def _check_enough(own: Node, kind: str, name: str, amount: Any, needed: Amounts) -> None:
    value = resources.rounded(amount)
    if value is not None and name in needed and needed[name] > value:
        own.problems.invalid(
            own.at(kind).key(name),
            amount,
            f"must be greater than or equal to what the containers request, {_thousandths(needed[name])}",
            "raise it, or lower the containers' requests",
        )


def _check_limits(spec: Node, own: Node) -> None:
    limits = {name: value for name, amount in own.mapping("limits").items() if (value := resources.rounded(amount))}
    for container in spec.each("containers"):
        requirements = container.child("resources")
        if requirements is None:
            continue
        for name, amount in requirements.mapping("limits").items():
            value = resources.rounded(amount)
            if value is not None and name in limits and value > limits[name]:
                requirements.problems.invalid(
                    requirements.at("limits").key(name),
                    amount,
                    f"must be less than or equal to the pod's limit of {own.mapping('limits')[name]}",
                    "lower it, or raise the pod's limit",
                )
    for name, value in total(spec, "limits").items():
        if name.startswith(resources.HUGE_PAGES) and value > limits.get(name, value):
            own.problems.invalid(
                own.at("limits").key(name),
                own.mapping("limits")[name],
                f"must be greater than or equal to what the containers may use, {_thousandths(value)}",
                "raise it, or lower the containers' limits",
            )


def total(spec: Node, kind: str) -> Amounts:
    """What the containers need together, in thousandths: those that stay, or the start that needs most."""
    running: Amounts = {}
    peak: Amounts = {}
    for init in spec.each("initContainers"):
        amounts = dict(_amounts(init.value, kind))
        if init.text("restartPolicy") == "Always":
            _add(running, amounts)
            amounts = running
        else:
            _add(amounts, running)
        _raise(peak, amounts)
    for container in spec.each("containers"):
        _add(running, dict(_amounts(container.value, kind)))
    _raise(running, peak)
    return running


def _amounts(container: JSON, kind: str) -> Iterator[tuple[str, int]]:
    """A container's requests or limits. Where only a limit is set, the request is the same."""
    requirements: Any = container.get("resources")
    if not isinstance(requirements, dict):
        return
    limits, asked = requirements.get("limits"), requirements.get(kind)
    merged = {**(limits if isinstance(limits, dict) else {}), **(asked if isinstance(asked, dict) else {})}
    for name, amount in merged.items():
        value = resources.rounded(amount)
        if value is not None:
            yield name, value


def _add(amounts: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        amounts[name] = amounts.get(name, 0) + value


def _raise(amounts: Amounts, least: Amounts) -> None:
    for name, value in least.items():
        amounts[name] = max(amounts.get(name, 0), value)


def _thousandths(value: int) -> str:
    return str(value // 1000) if value % 1000 == 0 else f"{value}m"
