"""Resource requests and limits: names, amounts, and how a request must stand to its limit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

from grove.api import grammar, quantities
from grove.api.errors import Path, Problems
from grove.api.grammar import Fault
from grove.api.podspec.tree import Node, judge, judge_always, nano, quantity

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
HUGE_PAGES: Final = "hugepages-"
STANDARD: Final = (CPU, EPHEMERAL_STORAGE, MEMORY)
POD_LEVEL: Final = (CPU, MEMORY)

NameRule: TypeAlias = Callable[[str], Fault | None]


def is_native(name: str) -> bool:
    """Whether Kubernetes itself gives the resource its meaning."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether a device plugin or an administrator gives the resource its meaning, as with nvidia.com/gpu."""
    return not is_native(name) and not name.startswith("requests.")


def may_overcommit(name: str) -> bool:
    """Whether a request may be below its limit."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def container_name(name: str) -> Fault | None:
    """The name of a resource that a container may ask for."""
    fault = grammar.qualified(name)
    if fault is not None:
        return fault
    if "/" not in name:
        if name in STANDARD or name.startswith(HUGE_PAGES):
            return None
        return Fault(
            "must be a standard resource for containers",
            f"use {', '.join(STANDARD)} or hugepages-<size>, or write the device's domain, as in nvidia.com/gpu",
        )
    # A quota counts the resource under this name.
    if not is_native(name) and (not is_extended(name) or grammar.qualified(f"requests.{name}") is not None):
        return Fault(
            "doesn't follow extended resource name standard",
            "use a shorter domain that does not start with 'requests.'",
        )
    return None


def pod_name(name: str) -> Fault | None:
    """The name of a resource that a pod may ask for as a whole."""
    fault = grammar.qualified(name)
    if fault is not None:
        return fault
    if name in POD_LEVEL or name.startswith(HUGE_PAGES):
        return None
    return Fault("must be cpu, memory or hugepages-<size> at the level of the pod", "ask for it in a container")


def check(resources: Node, claims: Collection[str]) -> None:
    """The requirements of a container. `claims` are the names of the pod's resource claims."""
    check_all(resources, container_name)
    _check_claims(resources, claims)


def check_all(resources: Node, rule: NameRule) -> None:
    """The requests and limits of a container or a pod."""
    limits, requests = resources.mapping("limits"), resources.mapping("requests")
    check_amounts(limits, resources.at("limits"), resources.problems, rule)
    check_amounts(requests, resources.at("requests"), resources.problems, rule)
    for name, request in requests.items():
        _check_against_limit(resources, name, request, limits)
    asked = limits.keys() | requests.keys()
    if any(name.startswith(HUGE_PAGES) for name in asked) and not asked & {CPU, MEMORY}:
        resources.problems.forbidden(resources.path, "HugePages require cpu or memory", "ask for cpu or memory as well")


def check_amounts(amounts: dict[str, Any], path: Path, problems: Problems, rule: NameRule) -> None:
    """The names and amounts of a list of resources."""
    for name, amount in amounts.items():
        where = path.key(name)
        judge_always(where, name, rule, problems)
        value = quantity(where, amount, problems)
        if value is not None:
            _check_amount(name, amount, value, where, problems)


def _check_amount(name: str, amount: Any, value: int, where: Path, problems: Problems) -> None:
    if value < 0:
        problems.invalid(where, amount, "must be greater than or equal to 0", "use 0 or more")
    elif is_extended(name) and quantities.milli(amount) % 1000 != 0:
        problems.invalid(where, amount, "must be an integer", "ask for whole devices")
    elif name.startswith(HUGE_PAGES):
        size = nano(name.removeprefix(HUGE_PAGES))
        if not size or size < 0 or size % quantities.NANO != 0:
            problems.invalid(where, amount, f"{name} does not name a page size", "use a size such as hugepages-2Mi")
        elif quantities.whole(amount) * quantities.NANO % size != 0:
            problems.invalid(
                where,
                amount,
                f"is not positive integer multiple of {name}",
                f"use a multiple of {name.removeprefix(HUGE_PAGES)}",
            )


def _check_against_limit(resources: Node, name: str, request: Any, limits: dict[str, Any]) -> None:
    where = resources.at("requests").key(name)
    if name not in limits:
        if not may_overcommit(name):
            resources.problems.required(
                resources.at("limits"),
                f"limit must be set for non overcommitable resources, and {name} is one",
                f"set the limit of {name} to its request, {request}",
            )
        return
    asked, limit = rounded(request), rounded(limits[name])
    if asked is None or limit is None:
        return
    if asked != limit and not may_overcommit(name):
        resources.problems.invalid(
            where, request, f"must be equal to {name} limit of {limits[name]}", "make request and limit the same"
        )
    elif asked > limit:
        resources.problems.invalid(
            where,
            request,
            f"must be less than or equal to {name} limit of {limits[name]}",
            "lower the request or raise the limit",
        )


def rounded(amount: Any) -> int | None:
    """The amount in thousandths: Kubernetes rounds what it stores up to that."""
    return None if nano(amount) is None else quantities.milli(amount)


def _check_claims(resources: Node, claims: Collection[str]) -> None:
    """Each entry uses a claim of the pod, as a whole or one request of it, and no device twice."""
    whole: set[str] = set()
    parts: dict[str, set[str]] = {}
    for claim in resources.each("claims"):
        name, request = claim.text("name"), claim.text("request")
        if not claim.need("name", "name one of the pod's resourceClaims") or name is None or request is None:
            continue
        used = parts.setdefault(name, set())
        judge(claim.at("request"), request, grammar.label, claim.problems)
        if name in whole or request in used or (not request and used):
            claim.problems.duplicate(claim.path, f"{name}/{request}".rstrip("/"), "use each claim or request once")
        if request:
            used.add(request)
        else:
            whole.add(name)
        if name not in claims:
            known = ", ".join(sorted(claims))
            claim.problems.not_found(
                claim.path,
                name,
                f"name one of {known}" if known else "add it to the pod's resourceClaims",
                "must be one of the names in the pod's resourceClaims",
            )
