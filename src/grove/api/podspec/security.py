"""Security contexts of pods and containers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from grove.api.podspec import files
from grove.api.podspec.tree import Node

MAX_ID: Final = 2**31 - 1
PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
SYSCTL_LENGTH: Final = 253
APPARMOR_LENGTH: Final = 4095
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_IPC_SYSCTLS: Final = re.compile(
    r"kernel\.(sem|shm|shmall|shmmax|shmmni|shm_rmid_forced|msg|msgmax|msgmnb|msgmni)|fs\.mqueue\..*"
)


def check_pod(spec: Node) -> None:
    """The security context of the pod, and the namespaces of the host that it shares."""
    if spec.flag("shareProcessNamespace") and spec.flag("hostPID"):
        spec.problems.invalid(
            spec.at("shareProcessNamespace"),
            True,
            "shareProcessNamespace and hostPID cannot both be enabled",
            "remove one of them",
        )
    context = spec.child("securityContext")
    if context is None:
        return
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        context.within(key, 0, MAX_ID)
    for position, group in enumerate(context.items("supplementalGroups")):
        if isinstance(group, int) and not 0 <= group <= MAX_ID:
            context.problems.invalid(
                context.at("supplementalGroups").index(position),
                group,
                f"must be between 0 and {MAX_ID}, inclusive",
                "use the number of a group",
            )
    _check_sysctls(context, spec)
    context.choose("fsGroupChangePolicy", ("Always", "OnRootMismatch"), may_be_empty=False)
    context.choose("supplementalGroupsPolicy", ("Merge", "Strict"), may_be_empty=False)
    context.choose("seLinuxChangePolicy", ("MountOption", "Recursive"), may_be_empty=False)
    if context.text("seLinuxChangePolicy") == "MountOption":
        context.problems.warn(
            context.at("seLinuxChangePolicy"),
            "needs the feature gate SELinuxMount; without it every pod is refused",
            "remove it, or enable the gate",
        )
    _check_profiles(context)


def check_container(container: Node, *, host_users: bool) -> None:
    """The security context of a container."""
    context = container.child("securityContext")
    if context is None:
        return
    for key in ("runAsUser", "runAsGroup"):
        context.within(key, 0, MAX_ID)
    context.choose("procMount", ("Default", "Unmasked"), may_be_empty=False)
    if context.text("procMount") == "Unmasked" and host_users:
        context.problems.invalid(
            context.at("procMount"),
            "Unmasked",
            "`hostUsers` must be false to use `Unmasked`",
            "set hostUsers: false for the pod, or remove procMount",
        )
    _check_profiles(context)
    if context.value.get("allowPrivilegeEscalation") is False:
        capabilities = context.child("capabilities")
        if context.flag("privileged"):
            context.problems.invalid(
                context.path,
                False,
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
                "remove one of them",
            )
        if capabilities is not None and "CAP_SYS_ADMIN" in capabilities.items("add"):
            context.problems.invalid(
                context.path,
                False,
                "cannot set `allowPrivilegeEscalation` to false and add the capability CAP_SYS_ADMIN",
                "remove one of them",
            )


def check_user_namespace(spec: Node, containers: Iterable[Node]) -> None:
    """A pod with users of its own (`hostUsers: false`) shares little with the host."""
    if spec.value.get("hostUsers") is not False:
        return
    for key in ("hostPID", "hostIPC"):
        if spec.flag(key):
            spec.problems.forbidden(spec.at(key), "not allowed when `hostUsers` is false", f"remove {key}")
    if spec.flag("hostNetwork"):
        spec.problems.warn(
            spec.at("hostNetwork"),
            "with hostUsers: false it needs the feature gate UserNamespacesHostNetworkSupport; without it every pod is "
            "refused",
            "remove one of the two, or enable the gate",
        )
    for container in containers:
        if container.items("volumeDevices"):
            container.problems.forbidden(
                container.at("volumeDevices"), "not allowed when `hostUsers` is false", "mount the volume instead"
            )


def _check_sysctls(context: Node, spec: Node) -> None:
    seen: set[str] = set()
    for sysctl in context.each("sysctls"):
        name = sysctl.text("name")
        if not sysctl.need("name", "name the sysctl, such as net.core.somaxconn") or name is None:
            continue
        if len(name) > SYSCTL_LENGTH or not _SYSCTL.fullmatch(name):
            sysctl.problems.invalid(
                sysctl.at("name"),
                name,
                f"must have at most {SYSCTL_LENGTH} characters, in lower case segments between '.' or '/'",
                "use a name such as net.core.somaxconn",
            )
        elif name in seen:
            sysctl.problems.duplicate(sysctl.at("name"), name, "set every sysctl once")
        seen.add(name)
        dotted = _dotted(name)
        for key, shared in (
            ("hostNetwork", dotted.startswith("net.")),
            ("hostIPC", _IPC_SYSCTLS.fullmatch(dotted) is not None),
        ):
            if shared and spec.flag(key):
                sysctl.problems.invalid(
                    sysctl.at("name"), name, f"may not be specified when '{key}' is true", f"remove it, or {key}"
                )


def _dotted(name: str) -> str:
    """The name with dots between its parts: the first separator, '.' or '/', tells which way it is written."""
    separator = next((letter for letter in name if letter in "./"), ".")
    return name if separator == "." else name.translate(str.maketrans("./", "/."))


def _check_profiles(context: Node) -> None:
    if (seccomp := context.child("seccompProfile")) is not None:
        seccomp.need_choice("type", PROFILES, "type is required when seccompProfile is set")
        _check_localhost(seccomp, "seccomp")
        if seccomp.text("type") == "Localhost":
            seccomp.judge("localhostProfile", files.descending)
    if (apparmor := context.child("appArmorProfile")) is not None:
        apparmor.need_choice("type", PROFILES, "type is required when appArmorProfile is set")
        _check_localhost(apparmor, "AppArmor")
        profile = apparmor.text("localhostProfile")
        if apparmor.text("type") == "Localhost" and apparmor.has("localhostProfile") and profile is not None:
            if profile != profile.strip():
                apparmor.problems.invalid(
                    apparmor.at("localhostProfile"), profile, "must not be padded with whitespace", "remove the spaces"
                )
            elif not profile:
                apparmor.need("localhostProfile", "name the profile")
            elif len(profile) > APPARMOR_LENGTH:
                apparmor.problems.invalid(
                    apparmor.at("localhostProfile"),
                    profile,
                    f"must be no more than {APPARMOR_LENGTH} characters",
                    "shorten it",
                )


def _check_localhost(profile: Node, kind: str) -> None:
    """A profile has a file if, and only if, it is one of the node's."""
    given, local = profile.has("localhostProfile"), profile.text("type") == "Localhost"
    if local and not given:
        profile.problems.required(
            profile.at("localhostProfile"), f"must be set when {kind} type is Localhost", "name the profile"
        )
    elif given and profile.text("type") in PROFILES and not local:
        profile.problems.invalid(
            profile.at("localhostProfile"),
            profile.value["localhostProfile"],
            f"can only be set when {kind} type is Localhost",
            "remove it, or set type: Localhost",
        )
