"""Credentials from another program, as kubectl's exec plugins: client.authentication.k8s.io/v1 and v1beta1.

The program is run when there are no credentials, when they expire, and when the server refuses them; once, however many
requests wait for it. What it prints is kept in memory only, and never shown: it holds secrets.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from grove.kube.credentials import ClientCertificate, Identity
from grove.kube.errors import ConnectionConfigError, CredentialsError

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")

# Renewed a little before they expire: a request takes time, and clocks differ.
MARGIN = 10.0
# Long enough for a login in a browser.
TIMEOUT = 300.0
# Of what a plugin says on stderr, the end.
MAX_TEXT = 500


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """The exec part of a kubeconfig's user."""

    where: str
    command: str
    api_version: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"

    def __repr__(self) -> str:
        return f"Plugin({self.command!r}, …)"  # arguments and environment may be secrets


class _CredentialStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime.datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _CredentialStatus | None = None


class ExecPlugin:
    """Credentials that a plugin gives, and gives anew."""

    def __init__(
        self,
        plugin: Plugin,
        *,
        cluster: Mapping[str, Any],
        environment: Mapping[str, str] = os.environ,
        wall_clock: Callable[[], float],
        terminal: Callable[[], bool] = lambda: sys.stdin is not None and sys.stdin.isatty(),
        timeout: float = TIMEOUT,
    ) -> None:
        """`wall_clock` is the time of day, for that is what plugins say when credentials expire."""
        self._plugin = plugin
        self._cluster = cluster
        self._environment = environment
        self._wall_clock = wall_clock
        self._terminal = terminal
        self._timeout = timeout
        self._identity: Identity | None = None
        self._until: float | None = None
        self._running = asyncio.Lock()

    async def identity(self) -> Identity:
        if (known := self._known()) is not None:
            return known
        async with self._running:
            if (known := self._known()) is not None:  # someone else was first
                return known
            output = await self._run()
            self._identity, self._until = read_credential(output, self._plugin)
            return self._identity

    def refused(self, identity: Identity) -> bool:
        if identity is self._identity:
            self._identity = None
        return True

    def _known(self) -> Identity | None:
        if self._identity is not None and (self._until is None or self._wall_clock() < self._until - MARGIN):
            return self._identity
        return None

    async def _run(self) -> bytes:
        plugin = self._plugin
        interactive = self._interactive()
        command = shutil.which(plugin.command, path=self._environment.get("PATH", os.defpath))
        if command is None:
            raise self._failed(
                "is not installed" if os.sep not in plugin.command else "is not there, or not executable"
            )
        try:
            process = await asyncio.create_subprocess_exec(
                command,
                *plugin.arguments,
                env={**self._environment, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": self._info(interactive)},
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise self._failed(f"cannot be run: {error.strerror}") from error
        try:
            async with asyncio.timeout(self._timeout):
                output, complaint = await process.communicate()
        except TimeoutError:
            raise self._failed(f"has not ended within {self._timeout:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = " ".join(complaint.decode(errors="replace").split())[-MAX_TEXT:]
            raise self._failed(f"ended with code {process.returncode}" + (f": {said}" if said else ""))
        return output

    def _interactive(self) -> bool:
        mode = self._plugin.interactive_mode
        if mode == "Always" and not self._terminal():
            raise self._failed("wants to ask the user (interactiveMode: Always), and there is no terminal")
        return mode != "Never" and self._terminal()

    def _info(self, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.provide_cluster_info:
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _failed(self, why: str) -> CredentialsError:
        hint = f"\n{self._plugin.install_hint.strip()}" if self._plugin.install_hint else ""
        return CredentialsError(f"{self._plugin.where}: exec plugin `{self._plugin.command}` {why}{hint}")


def read_plugin(content: Any, where: str, *, folder: Path) -> Plugin:
    """The exec part of a user, checked. A command with a slash is relative to the kubeconfig's folder."""
    if not isinstance(content, Mapping):
        raise ConnectionConfigError(f"{where}: exec must be an object")
    api_version = content.get("apiVersion")
    if api_version not in VERSIONS:
        raise ConnectionConfigError(
            f"{where}: exec.apiVersion: {api_version!r} is not supported; {' and '.join(VERSIONS)} are: "
            "let the tool that wrote this kubeconfig write it anew"
        )
    command = content.get("command")
    if not isinstance(command, str) or not command:
        raise ConnectionConfigError(f"{where}: exec.command: name the program")
    mode = content.get("interactiveMode") or ("" if api_version == VERSIONS[0] else "IfAvailable")
    if mode not in ("Never", "IfAvailable", "Always"):
        raise ConnectionConfigError(
            f"{where}: exec.interactiveMode: {mode!r} must be Never, IfAvailable or Always"
            + ("" if mode else f" ({api_version} demands it)")
        )
    return Plugin(
        where=where,
        command=str(folder / command) if os.sep in command else command,
        api_version=api_version,
        arguments=tuple(str(one) for one in content.get("args") or ()),
        environment=tuple((str(one["name"]), str(one.get("value", ""))) for one in content.get("env") or ()),
        install_hint=str(content.get("installHint") or ""),
        provide_cluster_info=content.get("provideClusterInfo") is True,
        interactive_mode=mode,
    )


def read_credential(output: bytes, plugin: Plugin) -> tuple[Identity, float | None]:
    """The identity in what a plugin printed, and when it expires, as a time of day. Quotes nothing of it."""
    where = f"{plugin.where}: exec plugin `{plugin.command}`"
    try:
        credential = msgspec.json.decode(output, type=_ExecCredential)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CredentialsError(f"{where} printed no ExecCredential: {type(error).__name__}") from None
    if credential.kind != "ExecCredential" or credential.api_version != plugin.api_version:
        printed = f"{credential.kind or 'nothing'} of {credential.api_version or 'no version'}"
        raise CredentialsError(f"{where} printed {printed}, not ExecCredential of {plugin.api_version}")
    status = credential.status or _CredentialStatus()
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise CredentialsError(f"{where} gave a certificate without its key, or a key without its certificate")
    if not status.token.isprintable():
        raise CredentialsError(f"{where} gave a token with characters that no token has")
    if not (status.token or status.client_certificate_data):
        raise CredentialsError(f"{where} gave neither a token nor a client certificate")
    certificate = (
        ClientCertificate(status.client_certificate_data.encode(), status.client_key_data.encode())
        if status.client_certificate_data
        else None
    )
    expires = status.expiration_timestamp
    return Identity(status.token, certificate), None if expires is None else expires.timestamp()
