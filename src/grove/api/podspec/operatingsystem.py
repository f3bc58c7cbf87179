"""What depends on the pod's operating system: fields that only one of them has, and Windows' own options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from grove.api import grammar
from grove.api.grammar import Fault
from grove.api.podspec.tree import Node

LINUX: Final = "linux"
WINDOWS: Final = "windows"
MAX_CREDENTIAL: Final = 64 * 1024
MAX_DOMAIN: Final = 255
MAX_USER: Final = 104

_NOT_ON_WINDOWS: Final = ("hostUsers", "shareProcessNamespace")
_NOT_SHARED_ON_WINDOWS: Final = ("hostPID", "hostIPC")
_NOT_IN_POD_ON_WINDOWS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_NOT_IN_CONTAINER_ON_WINDOWS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*", re.IGNORECASE)
_BAD_USER: Final = re.compile(r'[. ]+|.*["/\\:;|=,+*?<>@\[\]].*')


def check(spec: Node, containers: Sequence[Node]) -> None:
    """The pod's operating system, and what it forbids."""
    if (system := spec.child("os")) is not None:
        system.need("name", f"use {LINUX} or {WINDOWS}")
        name = system.text("name")
        if name and name not in (LINUX, WINDOWS):
            system.problems.unsupported(system.at("name"), name, (LINUX, WINDOWS))
        elif name == LINUX:
            _forbid_windows_options([spec, *containers])
        elif name == WINDOWS:
            _forbid_linux_fields(spec, containers)
    for owner in (spec, *containers):
        if (options := _options(owner)) is not None:
            _check_options(options)
    _check_host_process(spec, containers)


def _options(owner: Node) -> Node | None:
    context = owner.child("securityContext")
    return None if context is None else context.child("windowsOptions")


def _forbid_windows_options(owners: Sequence[Node]) -> None:
    for owner in owners:
        if (options := _options(owner)) is not None:
            options.problems.forbidden(
                options.path, "windows options cannot be set for a linux pod", "remove them, or set os.name: windows"
            )


def _forbid_linux_fields(spec: Node, containers: Sequence[Node]) -> None:
    given: list[tuple[Node, str]] = []
    given += [(spec, key) for key in _NOT_ON_WINDOWS if spec.has(key)]
    given += [(spec, key) for key in _NOT_SHARED_ON_WINDOWS if spec.flag(key)]
    if (context := spec.child("securityContext")) is not None:
        given += [(context, key) for key in _NOT_IN_POD_ON_WINDOWS if context.has(key) and context.value[key] != []]
    for container in containers:
        if (context := container.child("securityContext")) is not None:
            given += [(context, key) for key in _NOT_IN_CONTAINER_ON_WINDOWS if context.has(key)]
    for owner, key in given:
        owner.problems.forbidden(owner.at(key), "cannot be set for a windows pod", f"remove {key}")


def _check_options(options: Node) -> None:
    if options.has("gmsaCredentialSpecName"):
        options.need("gmsaCredentialSpecName", "name the credential spec, or remove it", grammar.subdomain)
    credential = options.text("gmsaCredentialSpec")
    if options.has("gmsaCredentialSpec") and credential is not None and not 0 < len(credential) <= MAX_CREDENTIAL:
        options.problems.invalid(
            options.at("gmsaCredentialSpec"),
            f"{len(credential)} characters",
            "must not be empty, and at most 64 KiB",
            "leave it to gmsaCredentialSpecName",
        )
    user = options.text("runAsUserName")
    if options.has("runAsUserName") and user is not None and (fault := _user(user)) is not None:
        options.problems.invalid(options.at("runAsUserName"), user, fault.detail, fault.remedy)


def _user(text: str) -> Fault | None:
    remedy = "write a user as in ContainerUser or DOMAIN\\user"
    if not text or _CONTROL.search(text):
        return Fault("must not be empty or contain control characters", remedy)
    if text.count("\\") > 1:
        return Fault("cannot contain more than one backslash", remedy)
    domain, backslash, user = text.rpartition("\\")
    if backslash and (len(domain) > MAX_DOMAIN or not (_NET_BIOS.fullmatch(domain) or _DOMAIN.fullmatch(domain))):
        return Fault("the domain matches neither the NetBios nor the DNS format", remedy)
    if not user or len(user) > MAX_USER or _BAD_USER.fullmatch(user):
        return Fault(f'the user must have 1 to {MAX_USER} characters, and none of "/\\:;|=,+*?<>@[]', remedy)
    return None


def _check_host_process(spec: Node, containers: Sequence[Node]) -> None:
    """All containers of a Windows pod run as processes of its host, or none."""
    options = _options(spec)
    of_pod = options.value.get("hostProcess") if options is not None else None
    running = 0
    for container in containers:
        options = _options(container)
        own = options.value.get("hostProcess") if options is not None else None
        if options is not None and own is not None and of_pod is not None and own != of_pod:
            options.problems.invalid(
                options.at("hostProcess"), own, "must be the same as the pod's", "set it for the pod only"
            )
        running += (of_pod if own is None else own) is True
    if not running:
        return
    if running != len(containers):
        spec.problems.invalid(
            spec.path,
            running,
            "if a pod contains any hostProcess container, then all containers must be hostProcess containers",
            "set hostProcess in the pod's securityContext.windowsOptions",
        )
    if not spec.flag("hostNetwork"):
        spec.problems.invalid(
            spec.at("hostNetwork"), False, "must be true if a pod contains any hostProcess container", "set it to true"
        )
