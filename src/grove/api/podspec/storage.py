"""Storage outside the cluster that a volume names directly, most of it superseded by CSI drivers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from grove.api import grammar
from grove.api.grammar import Fault
from grove.api.podspec.tree import Node

_INITIATOR: Final = re.compile(
    r"iqn.*\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+|eui.[A-Za-z0-9]{16}|naa.[A-Za-z0-9]{32}", re.ASCII
)
_HOST_PORT: Final = re.compile(r"([^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*")
_RESERVED_OPTION: Final = re.compile(r"(.*\.)?(kubernetes|k8s)\.io", re.IGNORECASE)
CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
MAX_TENANT: Final = 64


def _check_iscsi(source: Node) -> None:
    source.within("lun", 0, 255)
    for key in ("iqn", "initiatorName"):
        source.judge(key, _initiator)
    if (source.flag("chapAuthDiscovery") or source.flag("chapAuthSession")) and not source.has("secretRef"):
        source.problems.required(source.at("secretRef"), "", "name the secret with the CHAP credentials")


def _initiator(text: str) -> Fault | None:
    if _INITIATOR.fullmatch(text):
        return None
    return Fault("must start with iqn, eui or naa and be valid", "use a name such as iqn.2001-04.com.example:storage")


def _check_flocker(source: Node) -> None:
    if bool(source.text("datasetName")) == bool(source.text("datasetUUID")):
        source.problems.required(
            source.path, "exactly one of datasetName and datasetUUID is required", "give one of them"
        )
    source.judge("datasetName", _no_slash)


def _no_slash(text: str) -> Fault | None:
    return Fault("must not contain '/'", "name a dataset, not a path") if "/" in text else None


def _check_fibre_channel(source: Node) -> None:
    worldwide, identifiers = source.items("targetWWNs"), source.items("wwids")
    if not worldwide and not identifiers:
        source.problems.required(source.at("targetWWNs"), "must specify either targetWWNs or wwids", "give one of them")
    elif worldwide and identifiers:
        source.problems.invalid(
            source.at("targetWWNs"),
            worldwide,
            "targetWWNs and wwids can not be specified simultaneously",
            "keep one of them",
        )
    if worldwide:
        if not source.has("lun"):
            source.problems.required(source.at("lun"), "lun is required if targetWWNs is specified", "set lun")
        source.within("lun", 0, 255)


def _check_azure_disk(source: Node) -> None:
    source.choose("cachingMode", CACHING_MODES, may_be_empty=False)
    source.choose("kind", DISK_KINDS, may_be_empty=False)
    # Without a kind, the disk is taken for a shared one.
    prefix = "/subscriptions/" if source.text("kind") == "Managed" else "https://"
    address = source.text("diskURI")
    if address and not address.startswith(prefix):
        source.problems.unsupported(
            source.at("diskURI"), address, (f"{prefix}…",), "write the address of the disk, or set its kind"
        )


def _check_quobyte(source: Node) -> None:
    registry, tenant = source.text("registry"), source.text("tenant")
    if registry and tenant and len(tenant) > MAX_TENANT:
        source.problems.required(
            source.at("tenant"), f"must be a UUID of at most {MAX_TENANT} characters", "use the tenant's UUID"
        )
    elif registry and not all(_HOST_PORT.fullmatch(pair) for pair in registry.split(",")):
        source.problems.invalid(
            source.at("registry"),
            registry,
            "must be a host:port pair or multiple pairs separated by commas",
            "use an address such as quobyte.example.com:7861",
        )


def _check_storage_os(source: Node) -> None:
    source.judge("volumeName", grammar.label)
    source.judge("volumeNamespace", grammar.label)
    _check_secret(source)


def _check_secret(source: Node) -> None:
    if (secret := source.child("secretRef")) is not None:
        secret.need("name", "name the secret")


def _check_flex(source: Node) -> None:
    for option in source.mapping("options"):
        if _RESERVED_OPTION.fullmatch(option.partition("/")[0]):
            source.problems.invalid(
                source.at("options").key(option),
                option,
                "kubernetes.io and k8s.io namespaces are reserved",
                "use a domain of your own",
            )


RULES: Final[dict[str, Callable[[Node], None]]] = {
    "iscsi": _check_iscsi,
    "fc": _check_fibre_channel,
    "flocker": _check_flocker,
    "azureDisk": _check_azure_disk,
    "quobyte": _check_quobyte,
    "storageos": _check_storage_os,
    "cinder": _check_secret,
    "flexVolume": _check_flex,
}
"""What each kind of source needs beside its required fields."""
