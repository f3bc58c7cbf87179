"""The webhooks of an operator, served from a thread of the tests and registered with a real API server."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from grove.api.kinds.operatorconfig import Authorizer, OperatorConfiguration, OperatorServers, WebhookServer
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Policy
from grove.install import crds
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.kubeconfig import connect
from grove.operator.admission import review
from grove.operator.admission.assembly import Admission
from grove.operator.admission.exchange import ALLOWED, Request, Response
from grove.operator.admission.judges import Judge
from grove.operator.admission.webhooks import WEBHOOKS, Webhook
from grove.operator.resources import POD_CLIQUE_SETS, TOPOLOGY_BINDINGS
from grove.runtime.clock import SystemClock
from grove.runtime.manager import Manager
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually

SECRET = "grove-webhook-server-cert"
NAMESPACE = "grove-system"
OPERATOR = "system:serviceaccount:grove-system:grove-operator"


def judging(policy: Policy | None) -> Mapping[str, Judge]:
    """Judges that know what the policy says and nothing of the cluster; without one they allow everything."""

    def judge(webhook: Webhook) -> Judge:
        async def answer(request: Request) -> Response:
            if policy is None or webhook.purpose == "authorize":
                return ALLOWED
            verdict = review.default if webhook.purpose == "default" else review.validate
            return verdict(request, webhook.kinds, policy)

        return answer

    return {webhook.path: judge(webhook) for webhook in WEBHOOKS}


class Webhooks:
    """As an operator's process composes them; registered when the `with` block begins, gone when it ends."""

    def __init__(self, cluster: ControlPlane, *, authorizes: bool = False, port: int = 0) -> None:
        self.cluster = cluster
        self.port = port or free_port()
        self.admission: Admission
        self.judges: Switched
        self._authorizes = authorizes
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="webhooks")
        self._started = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._error: BaseException | None = None

    def start(self) -> None:
        """For who does not expect them to become ready."""
        self._thread.start()
        assert self._started.wait(30.0)

    def __enter__(self) -> Self:
        self.start()
        try:
            eventually(self.problem, lambda problem: not problem, timeout=30.0, message="the webhooks are not ready")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def problem(self) -> str:
        assert self._error is None, self._error
        return self.admission.check()

    def close(self) -> None:
        if self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(30.0)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error

    def judged_by(self, policy: Policy | None) -> contextlib.AbstractContextManager[None]:
        """Other judges for a while."""
        return self.judges.by(policy)

    def certificate(self) -> bytes:
        """What new connections get."""
        pair = self.admission.certificates.served.pair
        return b"" if pair is None else pair.certificate

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._task = self._loop.create_task(self._serve())
            with contextlib.suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._task)
        except Exception as error:  # noqa: BLE001 - the boundary of a thread: told where the test looks
            self._error = error
        finally:
            self._started.set()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    async def _serve(self) -> None:
        clock, rng = SystemClock(), random.Random(1)
        configuration = OperatorConfiguration(
            server=OperatorServers(
                webhooks=WebhookServer(bind_address="127.0.0.1", port=self.port, url=f"https://127.0.0.1:{self.port}")
            ),
            authorizer=Authorizer(enabled=self._authorizes),
        )
        async with Client(connect(str(self.cluster.kubeconfig)), field_manager="grove-operator") as client:
            caches = Caches(client, clock=clock, rng=rng)
            self.admission = Admission(
                client,
                configuration=configuration,
                namespace=NAMESPACE,
                user=OPERATOR,
                sets=caches.add(POD_CLIQUE_SETS, type=PodCliqueSet),
                topologies=caches.add(TOPOLOGY_BINDINGS, type=ClusterTopologyBinding),
                clock=clock,
                rng=rng,
                settle=1.0,
                calm=0.5,
            )
            self.judges = Switched(self.admission.judges.by_path())
            self.admission.server._judges = self.judges.now
            self._started.set()
            await Manager(always=[caches, *self.admission.runnables], led=lambda _: [Nothing()]).run()


class Switched:
    """Judges that can be others for a while."""

    def __init__(self, ordinary: Mapping[str, Judge]) -> None:
        self.now = dict(ordinary)
        self._ordinary = ordinary

    @contextlib.contextmanager
    def by(self, policy: Policy | None) -> Iterator[None]:
        self.now.update(judging(policy))
        try:
            yield
        finally:
            self.now.update(self._ordinary)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Nothing:
    """What the leader does here."""

    name = "nothing"

    async def run(self) -> None:
        await asyncio.Event().wait()


def install(cluster: ControlPlane) -> None:
    """Grove's kinds and the operator's namespace."""

    async def apply() -> None:
        async with Client(connect(str(cluster.kubeconfig)), field_manager=crds.FIELD_MANAGER) as client:
            applied = [one async for one in crds.apply(client)]
            await crds.wait(client, applied, clock=SystemClock())

    asyncio.run(apply())
    cluster.create_namespace(NAMESPACE)


def configurations(cluster: ControlPlane) -> dict[str, Any]:
    """The webhook configurations of the cluster, by name."""
    found: dict[str, Any] = {}
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        items = cluster.request("GET", f"/apis/admissionregistration.k8s.io/v1/{plural}")[1]["items"]
        found |= {item["metadata"]["name"]: item for item in items}
    return found
