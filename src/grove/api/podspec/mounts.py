"""What a container mounts: volumes as directories, and claims as raw devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.api.podspec import files
from grove.api.podspec.tree import JSON, Node

PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def check(container: Node, volumes: Mapping[str, JSON]) -> None:
    """The mounts and devices of one container. `volumes` are all that the pod has, by name."""
    devices = list(container.each("volumeDevices"))
    mounts = list(container.each("volumeMounts"))
    _check_mounts(container, mounts, devices, volumes)
    _check_devices(mounts, devices, volumes)


def _check_mounts(container: Node, mounts: list[Node], devices: list[Node], volumes: Mapping[str, JSON]) -> None:
    seen: set[str] = set()
    device_names = {device.text("name") for device in devices}
    device_paths = {device.text("devicePath") for device in devices}
    for mount in mounts:
        name, path = mount.text("name"), mount.text("mountPath")
        _check_volume(mount, volumes)
        if name and name in device_names:
            mount.problems.invalid(
                mount.at("name"), name, "must not already exist in volumeDevices", "mount it or use it as a device"
            )
        if mount.need("mountPath", "say where in the container the volume appears") and path is not None:
            if path in seen:
                mount.problems.invalid(
                    mount.at("mountPath"), path, "must be unique", "mount every volume at a path of its own"
                )
            elif path in device_paths:
                mount.problems.invalid(
                    mount.at("mountPath"), path, "must not already exist as a path in volumeDevices", "use another path"
                )
            seen.add(path)
            if ":" in path:
                mount.problems.warn(
                    mount.at("mountPath"),
                    "contains ':', which Kubernetes forbids unchecked",
                    "use a path without ':'",
                )
        _check_sub_path(mount)
        _check_propagation(mount, container)


def _check_volume(user: Node, volumes: Mapping[str, JSON]) -> None:
    name = user.text("name")
    if user.need("name", "name one of the pod's volumes") and name is not None and name not in volumes:
        known = ", ".join(sorted(volumes))
        remedy = f"name one of the pod's volumes: {known}" if known else "add the volume to the pod's volumes"
        user.problems.not_found(user.at("name"), name, remedy)


def _check_sub_path(mount: Node) -> None:
    mount.judge("subPath", files.descending)
    if mount.judge("subPathExpr", files.descending) and mount.text("subPath") and mount.text("subPathExpr"):
        mount.problems.invalid(
            mount.at("subPathExpr"),
            mount.text("subPathExpr"),
            "subPathExpr and subPath are mutually exclusive",
            "keep one of them",
        )


def _check_propagation(mount: Node, container: Node) -> None:
    propagation = mount.text("mountPropagation")
    mount.choose("mountPropagation", PROPAGATIONS, may_be_empty=False)
    security = container.child("securityContext")
    if propagation == "Bidirectional" and not (security is not None and security.flag("privileged")):
        mount.problems.forbidden(
            mount.at("mountPropagation"),
            "Bidirectional mount propagation is available only to privileged containers",
            "use HostToContainer, or make the container privileged",
        )
    mount.choose("recursiveReadOnly", RECURSIVE, may_be_empty=False)
    if mount.text("recursiveReadOnly") not in ("Enabled", "IfPossible"):
        return
    if not mount.flag("readOnly"):
        mount.problems.forbidden(
            mount.at("recursiveReadOnly"), "may only be specified when readOnly is true", "set readOnly: true"
        )
    if mount.has("mountPropagation") and propagation != "None":
        mount.problems.forbidden(
            mount.at("recursiveReadOnly"),
            "may only be specified when mountPropagation is None or not specified",
            "remove mountPropagation",
        )


def _check_devices(mounts: list[Node], devices: list[Node], volumes: Mapping[str, JSON]) -> None:
    seen_names: set[str] = set()
    seen_paths: set[str] = set()
    mount_names = {mount.text("name") for mount in mounts}
    mount_paths = {mount.text("mountPath") for mount in mounts}
    for device in devices:
        name, path = device.text("name"), device.text("devicePath")
        _check_volume(device, volumes)
        if name:
            source = volumes.get(name, {})
            if name in volumes and source.get("persistentVolumeClaim") is None and source.get("ephemeral") is None:
                device.problems.invalid(
                    device.at("name"),
                    name,
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                    "name a volume that is a claim",
                )
            if name in seen_names:
                device.problems.invalid(device.at("name"), name, "must be unique", "use every claim once")
            elif name in mount_names:
                device.problems.invalid(
                    device.at("name"), name, "must not already exist in volumeMounts", "mount it or use it as a device"
                )
            seen_names.add(name)
        if device.need("devicePath", "say which device file the container sees", files.no_backsteps) and path:
            if path in seen_paths or path in mount_paths:
                device.problems.invalid(device.at("devicePath"), path, "must be unique", "use another path")
            seen_paths.add(path)
