"""The webhooks of an operator, served from a thread of the tests and registered with a real API server."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from grove.api.kinds import catalog
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Policy, Topologies
from grove.install import crds
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.kubeconfig import connect
from grove.kube.resources import of_kind
from grove.operator.admission import review
from grove.operator.admission.authorizer import Protection
from grove.operator.admission.certificatestore import SecretCertificates
from grove.operator.admission.exchange import ALLOWED, Request, Response
from grove.operator.admission.judges import Judge, Judges
from grove.operator.admission.registrar import Registrar
from grove.operator.admission.registration import Url
from grove.operator.admission.server import WebhookServer
from grove.operator.admission.webhooks import WEBHOOKS, Webhook
from grove.runtime.clock import SystemClock
from grove.runtime.manager import Manager, Runnable
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually

SECRET = "grove-webhook-server-cert"
NAMESPACE = "grove-system"
BINDINGS = of_kind(catalog.TOPOLOGY_BINDING)
SETS = of_kind(catalog.POD_CLIQUE_SET)


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

    def __init__(
        self, cluster: ControlPlane, *, protection: Protection | None = None, settle: float = 1.0, port: int = 0
    ) -> None:
        self.cluster = cluster
        self.judges: dict[str, Judge] = {}
        self._protection = protection
        self._settle = settle
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="webhooks")
        self._started = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        self.server: WebhookServer
        self.certificates: SecretCertificates
        self.registrar: Registrar
        self.ordinary: Mapping[str, Judge]

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
        return self.server.check() or self.registrar.check()

    def close(self) -> None:
        if self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(30.0)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error

    @contextlib.contextmanager
    def judged_by(self, policy: Policy | None) -> Iterator[None]:
        """Other judges for a while."""
        self.judges.update(judging(policy))
        try:
            yield
        finally:
            self.judges.update(self.ordinary)

    def certificate(self) -> bytes:
        """What new connections get."""
        pair = self.certificates.served.pair
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
        async with Client(connect(str(self.cluster.kubeconfig)), field_manager="grove-operator") as client:
            caches = Caches(client, clock=clock, rng=rng)
            bindings = caches.add(BINDINGS, type=ClusterTopologyBinding)
            sets = caches.add(SETS, type=PodCliqueSet)

            async def read_topologies() -> Topologies:
                return review.topologies_of((await client.list_all(BINDINGS, type=ClusterTopologyBinding)).items)

            def parent(namespace: str, name: str) -> ObjectMeta | None:
                found = sets.get(name, namespace)
                return None if found is None else found.metadata

            self.ordinary = Judges(
                policy=Policy(),
                topologies=lambda: review.topologies_of(bindings),
                read_topologies=read_topologies,
                parent=parent,
                known=lambda: "" if bindings.is_synced and sets.is_synced else "the caches are not filled yet",
                protection=self._protection,
            ).by_path()
            self.judges.update(self.ordinary)
            self.certificates = SecretCertificates(
                client,
                namespace=NAMESPACE,
                secret_name=SECRET,
                names=["127.0.0.1"],
                clock=clock,
                rng=rng,
                settle=self._settle,
            )
            served = self.certificates.served
            self.server = WebhookServer(
                host="127.0.0.1", port=self._port, judges=self.judges, served=served, clock=clock
            )
            self.registrar = Registrar(
                client,
                served=served,
                listening=self.server.started.wait,
                where=lambda: Url(f"https://127.0.0.1:{self.server.port}"),
                with_authorizer=self._protection is not None,
                clock=clock,
                rng=rng,
            )
            self._started.set()
            always: list[Runnable] = [caches, self.certificates, self.server, self.registrar]
            await Manager(always=always, led=lambda _: [Nothing()]).run()


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
