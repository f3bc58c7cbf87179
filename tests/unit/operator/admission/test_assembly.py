from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from grove.api import codec
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.names import CLUSTER_DOMAIN
from grove.kube.cachedclient import Caches
from grove.kube.resources import SECRETS
from grove.operator.admission import certificates, registration
from grove.operator.admission.assembly import Admission
from grove.operator.admission.certificatesecret import bundle_of
from grove.operator.resources import POD_CLIQUE_SETS, TOPOLOGY_BINDINGS
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.admission.cluster import NAMESPACE, Cluster, running, until
from tests.unit.operator.admission.requests import asked, workload


def assembled(cluster: Cluster, **configuration: Any) -> tuple[Admission, Caches]:
    rng = random.Random(1)
    caches = Caches(cluster.client, clock=cluster.clock, rng=rng)
    tree = {"apiVersion": "operator.config.grove.io/v1alpha1", "kind": "OperatorConfiguration", **configuration}
    made = Admission(
        cluster.client,
        configuration=codec.decode(tree, OperatorConfiguration),
        namespace=NAMESPACE,
        user="operator",
        sets=caches.add(POD_CLIQUE_SETS, type=PodCliqueSet),
        topologies=caches.add(TOPOLOGY_BINDINGS, type=ClusterTopologyBinding),
        clock=cluster.clock,
        rng=rng,
    )
    return made, caches


def test_our_own_certificate_has_the_names_of_the_service_and_of_the_url() -> None:
    async def scene(clock: VirtualClock) -> None:
        cluster = Cluster(clock)
        webhooks = {"secretName": "mine", "url": "https://10.0.0.7:9443"}
        made, _ = assembled(cluster, server={"webhooks": webhooks}, authorizer={"enabled": True})
        assert [one.name for one in made.runnables] == ["webhook-certificates", "webhooks", "webhook-registrar"]
        assert made.check() == "certificates are not ready yet"
        certificate, _, registrar = made.runnables
        async with running(certificate, registrar):
            await made.certificates.served.ready()
            secret = cluster.get_now(SECRETS, "mine", NAMESPACE)
            assert secret is not None
            names = certificates.names_in(bundle_of(secret).certificate)
            assert names == {*certificates.names_of_service(NAMESPACE, CLUSTER_DOMAIN), "10.0.0.7"}
            assert made.check() == "the webhook server does not listen yet"
            made.server.started.set()
            await until(clock, lambda: made.check() == "")
            found = cluster.get_now(registration.VALIDATING, "authorizer-webhook")
            assert found is not None
            url = found["webhooks"][0]["clientConfig"]["url"]
            assert url == "https://10.0.0.7:9443/webhooks/authorizer-webhook"

    run(scene)


def test_certificates_that_are_supplied_register_nothing(tmp_path: Path) -> None:
    async def scene(clock: VirtualClock) -> None:
        cluster = Cluster(clock)
        webhooks = {"certProvisionMode": "manual", "serverCertDir": str(tmp_path)}
        made, _ = assembled(cluster, server={"webhooks": webhooks})
        assert [one.name for one in made.runnables] == ["webhook-certificates", "webhooks"]
        bundle = certificates.issue(["a"], clock.wall())
        (tmp_path / "tls.crt").write_bytes(bundle.certificate)
        (tmp_path / "tls.key").write_bytes(bundle.key)
        async with running(made.runnables[0]):
            await made.certificates.served.ready()
            made.server.started.set()
            assert made.check() == ""
        assert cluster.writes == []

    run(scene)


def test_what_is_not_read_yet_is_named() -> None:
    async def scene(clock: VirtualClock) -> None:
        made, caches = assembled(Cluster(clock), authorizer={"enabled": True})
        judge = made.judges.by_path()["/webhooks/validate-podcliqueset"]
        answer = await judge(asked(workload()))
        assert "podcliquesets.grove.io and clustertopologybindings.grove.io are not read yet" in answer.message
        task = asyncio.ensure_future(caches.run())
        await caches.synced()
        assert "not read yet" not in (await judge(asked(workload()))).message
        task.cancel()
        await asyncio.wait({task})

    run(scene)


def test_requests_are_counted_for_the_metrics() -> None:
    async def scene(clock: VirtualClock) -> None:
        made, _ = assembled(Cluster(clock))
        assert [family.name for family in made.metrics()] == [
            "grove_operator_webhook_requests",
            "grove_operator_webhook_seconds",
        ]

    run(scene)
