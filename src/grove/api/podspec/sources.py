"""The kinds of source that a volume can have, and what each of them needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from grove.api import grammar
from grove.api.podspec import claimtemplates, files, projections, storage
from grove.api.podspec.tree import Node, quantity

KINDS: Final = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
# Lists count as well as texts.
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "gitRepo": ("repository",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "secret": ("secretName",),
    "nfs": ("server", "path"),
    "iscsi": ("targetPortal", "iqn"),
    "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",),
    "rbd": ("monitors",),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "quobyte": ("registry", "volume"),
    "flexVolume": ("driver",),
    "configMap": ("name",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "storageos": ("volumeName",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "hostPath": ("path",),
    "image": ("reference",),
    "csi": ("driver",),
}
HOST_PATH_TYPES: Final = (
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
DRIVER_LENGTH: Final = 63


def check(kind: str, source: Node) -> None:
    """The source of a volume."""
    for key in _REQUIRED.get(kind, ()):
        if source.value.get(key) in (None, "", []):
            source.problems.required(source.at(key), "", f"set {key}, which a volume of type {kind} needs")
    if kind in _RULES:
        _RULES[kind](source)


def _check_empty_dir(source: Node) -> None:
    limit = quantity(source.at("sizeLimit"), source.value.get("sizeLimit"), source.problems)
    if limit is not None and limit < 0:
        source.problems.forbidden(source.at("sizeLimit"), "must not be negative", "use a size such as 1Gi")


def _check_host_path(source: Node) -> None:
    source.judge("path", files.no_backsteps)
    if source.text("path"):
        source.choose("type", HOST_PATH_TYPES)


def _check_git_repository(source: Node) -> None:
    source.judge("directory", files.descending)


def _check_disk(source: Node) -> None:
    source.within("partition", 0, 255)


def _check_nfs(source: Node) -> None:
    source.judge("path", files.absolute)


def _check_keys(source: Node) -> None:
    files.check_mode(source, "defaultMode")
    projections.check_items(source)


def _check_image(source: Node) -> None:
    source.choose("pullPolicy", PULL_POLICIES)


def _check_csi(source: Node) -> None:
    driver = source.text("driver")
    if driver and len(driver) > DRIVER_LENGTH:
        source.problems.invalid(
            source.at("driver"), driver, f"must be no more than {DRIVER_LENGTH} characters", "shorten it"
        )
    source.judge("driver", grammar.caseless_subdomain)
    if (secret := source.child("nodePublishSecretRef")) is not None:
        secret.need("name", "name the secret", grammar.subdomain)


_RULES: Final[dict[str, Callable[[Node], None]]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": _check_host_path,
    "gitRepo": _check_git_repository,
    "gcePersistentDisk": _check_disk,
    "awsElasticBlockStore": _check_disk,
    "nfs": _check_nfs,
    "secret": _check_keys,
    "configMap": _check_keys,
    "downwardAPI": projections.check_downward,
    "projected": projections.check_projected,
    "csi": _check_csi,
    "ephemeral": claimtemplates.check,
    "image": _check_image,
    **storage.RULES,
}
