"""Values taken from the pod itself: `fieldRef` and `resourceFieldRef`, in variables and in downward API files."""

from __future__ import annotations

from typing import Final

from grove.api import grammar
from grove.api.podspec.tree import Node, judge_always, quantity
from grove.api.quantities import NANO

VARIABLE_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FILE_FIELDS: Final = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
RESOURCES: Final = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS: Final = frozenset({NANO // 1000, NANO})
_BYTE_DIVISORS: Final = frozenset(
    [NANO * 1000**power for power in range(7)] + [NANO * 1024**power for power in range(1, 7)]
)


def check_field(reference: Node, fields: tuple[str, ...]) -> None:
    """A field of the pod; `metadata.labels['key']` and `metadata.annotations['key']` name one entry."""
    if reference.text("apiVersion") not in ("", "v1", None):
        reference.problems.invalid(
            reference.at("fieldPath"), reference.text("fieldPath"), "only version v1 has fields", "remove apiVersion"
        )
        return
    field = reference.text("fieldPath")
    if not reference.need("fieldPath", "name a field, as in metadata.name") or field is None:
        return
    map_name, bracket, key = field.removesuffix("']").partition("['")
    if bracket and map_name and field.endswith("']"):
        if map_name not in ("metadata.annotations", "metadata.labels"):
            reference.problems.invalid(
                reference.at("fieldPath"), field, "does not support subscript", "remove the part in brackets"
            )
        else:
            # An annotation's key is compared without regard to case.
            key = key.lower() if map_name == "metadata.annotations" else key
            judge_always(reference.at("fieldPath"), key, grammar.qualified, reference.problems)
    elif ("spec.nodeName" if field == "spec.host" else field) not in fields:
        reference.problems.unsupported(reference.at("fieldPath"), field, fields)


def check_resource(reference: Node, *, needs_container: bool) -> None:
    """A request or a limit of a container."""
    resource = reference.text("resource")
    if needs_container and reference.text("containerName") == "":
        reference.need("containerName", "name the container whose resource to show")
    elif not reference.need("resource", "name a resource, as in limits.memory") or resource is None:
        return
    elif resource not in RESOURCES and not resource.startswith(_HUGE_PAGES):
        reference.problems.unsupported(reference.at("resource"), resource, RESOURCES)
        return
    where, written = reference.at("divisor"), reference.value.get("divisor")
    divisor = quantity(where, written, reference.problems)
    if not divisor or not resource:
        return
    of_cpu = resource in ("limits.cpu", "requests.cpu")
    if of_cpu and divisor not in _CPU_DIVISORS:
        reference.problems.invalid(where, written, "must be 1m or 1 for cpu", "use 1m or 1")
    elif not of_cpu and divisor not in _BYTE_DIVISORS:
        reference.problems.invalid(
            where,
            written,
            "must be one of 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei",
            "use a single unit, such as 1Mi",
        )
