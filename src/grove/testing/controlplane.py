"""A real Kubernetes control plane on this machine, for tests: etcd, kube-apiserver, and the controllers and scheduler
of Kubernetes if wanted. There are no kubelets: a node is an object that a test creates, and no pod runs.

    with ControlPlane.start() as cluster:
        status, pods = cluster.request("GET", "/api/v1/pods")

It ends with the `with` block, with the interpreter, or with the thread that started it: see `process.py`.
"""

import atexit
import datetime
import http
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from grove.testing import components
from grove.testing.binaries import find_binaries
from grove.testing.certificates import Authority, service_account_key
from grove.testing.components import APISERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER, Files, Settings
from grove.testing.connection import JSON, Connection
from grove.testing.kubeconfig import certificate_user, token_user, write_kubeconfig
from grove.testing.kubectl import Kubectl
from grove.testing.process import Process
from grove.testing.waiting import TimedOutError, eventually

ADMIN = "admin"

# Name and group of everyone who has a token of his own.
USERS: Mapping[str, tuple[str, str]] = {
    ADMIN: ("admin", "system:masters"),
    CONTROLLER_MANAGER: ("system:kube-controller-manager", ""),
    SCHEDULER: ("system:kube-scheduler", ""),
}

# The API server says that it is ready before it has created the namespaces that it promises; `default` is the last.
READY = ("/readyz?verbose", "/api/v1/namespaces/default")

# Long enough for any run of the tests, short enough to be of no use to anyone afterwards.
TOKEN_SECONDS = 24 * 60 * 60


class StartError(Exception):
    """A component did not start, or ended; the message holds the end of its log."""


class ControlPlane:
    """A running control plane, made by `start`."""

    def __init__(self, settings: Settings, logs: Path | None) -> None:
        self._settings = settings
        self._binaries = find_binaries(self._needed())  # first: a missing one is an error that leaves nothing behind
        self._directory = Path(tempfile.mkdtemp(prefix="grove-kubernetes-"))
        self._files = Files(self._directory)
        self.logs = self._directory / "logs" if logs is None else logs.absolute()
        self.kubeconfig = self._files.kubeconfig(ADMIN)
        self._authority = Authority.create("grove-test", datetime.datetime.now(datetime.UTC))
        self.ca = self._authority.certificate
        self._tokens = {name: secrets.token_urlsafe(32) for name in USERS}
        self._processes: dict[str, Process] = {}
        self._choose_port()

    @classmethod
    def start(
        cls,
        *,
        controller_manager: bool = Settings.controller_manager,
        scheduler: bool = Settings.scheduler,
        disabled_admission: Sequence[str] = Settings.disabled_admission,
        disabled_controllers: Sequence[str] = Settings.disabled_controllers,
        apiserver_flags: Sequence[str] = Settings.apiserver_flags,
        controller_manager_flags: Sequence[str] = Settings.controller_manager_flags,
        logs: Path | None = None,
        timeout: float = 60.0,
    ) -> Self:
        """Starts everything and returns when the API server is ready; controllers and scheduler follow by themselves.

        `logs` is where the components' logs go and stay; without it, they go with the control plane. `timeout` is for a
        machine that is busy with other things.
        """
        settings = Settings(
            controller_manager=controller_manager,
            scheduler=scheduler,
            disabled_admission=disabled_admission,
            disabled_controllers=disabled_controllers,
            apiserver_flags=apiserver_flags,
            controller_manager_flags=controller_manager_flags,
        )
        cluster = cls(settings, logs)
        atexit.register(cluster.stop)
        try:
            cluster._start(timeout)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def stop(self) -> None:
        """Ends every component and removes everything but logs that were given a place. May be called twice."""
        atexit.unregister(self.stop)
        for process in reversed(self._processes.values()):  # clients first: they would fill their logs with complaints
            process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    # What tests do with it

    def request(
        self, method: str, path: str, body: object = None, *, token: str | None = None, content_type: str = JSON
    ) -> tuple[int, Any]:
        """Status and parsed body of a request, by the administrator unless a token says otherwise."""
        return self._connection.request(method, path, body, token=token, content_type=content_type)

    def watch(
        self, path: str, *, seconds: int, token: str | None = None, **parameters: str
    ) -> Iterator[dict[str, Any]]:
        """The events of a watch that the server ends after about `seconds`."""
        return self._connection.watch(path, seconds=seconds, token=token, **parameters)

    def create(self, path: str, body: object) -> Any:
        """Creates an object that the test takes for granted, and gives it as the server stored it."""
        return self._succeed("POST", path, body)

    def create_namespace(self, name: str) -> str:
        """Creates a namespace and waits until pods may be created in it."""
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        if self._settings.controller_manager:
            account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            eventually(
                lambda: self._alive().request("GET", account)[0],
                lambda status: status == http.HTTPStatus.OK,
                timeout=30.0,
                message=f"namespace {name} has no service account `default`",
            )
        return name

    def delete_namespace(self, name: str) -> None:
        """Asks for a namespace to be deleted, and does not wait until it is."""
        self._succeed("DELETE", f"/api/v1/namespaces/{name}")

    def token_for(self, namespace: str, service_account: str) -> str:
        """A bound token of a service account, which is created unless it is there."""
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        account = {"metadata": {"name": service_account}}
        self._succeed("POST", accounts, account, also=http.HTTPStatus.CONFLICT)
        wanted = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        granted = self._succeed("POST", f"{accounts}/{service_account}/token", wanted)
        return str(granted["status"]["token"])

    def kubeconfig_for(self, namespace: str, service_account: str) -> Path:
        """A kubeconfig with a bound token of a service account, which is created unless it is there."""
        return self._write_kubeconfig(
            f"account-{namespace}-{service_account}",
            token_user(self.token_for(namespace, service_account)),
            namespace=namespace,
        )

    def kubeconfig_as(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate, for any user and groups."""
        return self._write_kubeconfig(f"user-{user}", certificate_user(self._authority.client(user, groups)))

    def kubectl(self, namespace: str = "default", kubeconfig: Path | None = None) -> Kubectl:
        """The kubectl of this control plane's version, as the administrator unless a kubeconfig says otherwise."""
        return Kubectl(self._binaries["kubectl"], kubeconfig or self.kubeconfig, namespace)

    def kill(self, name: str) -> None:
        """Kills a component without warning."""
        self._processes[name].kill()

    def restart(self, *names: str, timeout: float = 60.0) -> None:
        """Kills components unless they are dead, starts them again, and waits until the API server is ready.

        The garbage collector looks for new kinds every 30 s; a controller manager that is restarted after CRDs were
        created knows them at once.
        """
        for name in names:
            self.kill(name)
        for name in names:
            self._processes[name].start()
        self._wait_until_ready(timeout)

    @property
    def processes(self) -> Mapping[str, int]:
        """The process id of each component."""
        return {name: process.pid for name, process in self._processes.items()}

    # How it starts

    def _needed(self) -> list[str]:
        optional = {CONTROLLER_MANAGER: self._settings.controller_manager, SCHEDULER: self._settings.scheduler}
        return [ETCD, APISERVER, "kubectl", *(name for name, wanted in optional.items() if wanted)]

    def _start(self, timeout: float) -> None:
        self._write_files()
        self._launch(ETCD, components.etcd(self._files))
        # Not after etcd but beside it: the API server waits for its store by itself.
        self._launch(APISERVER, components.apiserver(self._files, self._settings, self._port))
        try:
            self._wait_until_ready(timeout)
        except StartError:
            if "address already in use" not in self._processes[APISERVER].tail():
                raise
            # Someone took the port between our looking and the API server's binding; twice would be no accident.
            self._choose_port()
            self._launch(APISERVER, components.apiserver(self._files, self._settings, self._port))
            self._wait_until_ready(timeout)
        for name in USERS:
            self._write_kubeconfig(name, token_user(self._tokens[name]))
        if self._settings.controller_manager:
            self._launch(CONTROLLER_MANAGER, components.controller_manager(self._files, self._settings))
        if self._settings.scheduler:
            self._launch(SCHEDULER, components.scheduler(self._files))

    def _choose_port(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        self.url = f"https://127.0.0.1:{self._port}"
        self._connection = Connection(self.url, self.ca, self._tokens[ADMIN])

    def _write_files(self) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        serving = self._authority.serving(components.HOSTS)
        self._files.ca.write_bytes(self.ca)
        self._files.serving_certificate.write_bytes(serving.certificate)
        self._files.serving_key.write_bytes(serving.key)
        accounts = service_account_key()
        self._files.service_account_key.write_bytes(accounts.private)
        self._files.service_account_public_key.write_bytes(accounts.public)
        lines = [f'{self._tokens[name]},{user},{user},"{group}"\n' for name, (user, group) in USERS.items()]
        self._files.tokens.write_text("".join(lines))

    def _write_kubeconfig(self, name: str, user: dict[str, str], namespace: str = "default") -> Path:
        path = self._files.kubeconfig(name)
        return write_kubeconfig(path, url=self.url, ca=self.ca, user=user, namespace=namespace)

    def _launch(self, name: str, arguments: Sequence[str]) -> None:
        command = [str(self._binaries[name]), *arguments]
        process = Process(name, command, directory=self._directory, log=self.logs / f"{name}.log")
        self._processes[name] = process  # before it starts: an interrupt in between would lose it
        process.start()

    def _wait_until_ready(self, timeout: float) -> None:
        def problem() -> str:
            connection = self._alive()
            try:
                for path in READY:
                    status, body = connection.request("GET", path, timeout=5.0)
                    if status != http.HTTPStatus.OK:
                        return f"{path}: {body}"
            except (OSError, HTTPException) as error:  # not listening yet
                return repr(error)
            return ""

        try:
            eventually(problem, lambda text: not text, timeout=timeout, message="the API server is not ready")
        except TimedOutError as error:
            raise StartError(f"{error}\n{self._excerpt(APISERVER)}") from error

    def _alive(self) -> Connection:
        """The connection, unless a component has ended; who waits for something asks this first."""
        for name, process in self._processes.items():
            if process.exit_code is not None:
                raise StartError(f"{name} ended with code {process.exit_code}\n{self._excerpt(name)}")
        return self._connection

    def _excerpt(self, name: str) -> str:
        process = self._processes[name]
        return f"the end of {process.log}:\n{process.tail()}"

    def _succeed(self, method: str, path: str, body: object = None, also: int | None = None) -> Any:
        status, answer = self.request(method, path, body)
        if status >= http.HTTPStatus.BAD_REQUEST and status != also:
            raise AssertionError(f"{method} {path}: {status} {answer}")
        return answer
