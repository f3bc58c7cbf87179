from __future__ import annotations

import datetime
import random
from collections.abc import Awaitable, Callable

from grove.api.names import CLUSTER_DOMAIN
from grove.kube.resources import SECRETS
from grove.operator.admission import certificates, certificatesecret
from grove.operator.admission.certificates import Bundle
from grove.operator.admission.certificatestore import SETTLE, SecretCertificates
from grove.testing.certificates import Authority
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.nodes.apiserver import JSON
from tests.unit.operator.admission.cluster import NAMESPACE, Cluster, running, until

SECRET = "grove-webhook-server-cert"
NAMES = certificates.names_of_service(NAMESPACE, CLUSTER_DOMAIN)
DAY = 24 * 3600.0

Scene = Callable[[Cluster], Awaitable[None]]


def play(scene: Scene) -> None:
    async def on(clock: VirtualClock) -> None:
        await scene(Cluster(clock))

    run(on)


def store(cluster: Cluster, seed: int = 1, names: tuple[str, ...] = NAMES) -> SecretCertificates:
    return SecretCertificates(
        cluster.client,
        namespace=NAMESPACE,
        secret_name=SECRET,
        names=names,
        clock=cluster.clock,
        rng=random.Random(seed),
    )


def held(cluster: Cluster) -> Bundle:
    secret = cluster.get_now(SECRETS, SECRET, NAMESPACE)
    assert secret is not None
    return certificatesecret.bundle_of(secret)


def put(cluster: Cluster, **body: object) -> None:
    tree: JSON = {"metadata": {"name": SECRET, "namespace": NAMESPACE}, "type": "kubernetes.io/tls"} | body
    cluster._put("secrets", NAMESPACE, SECRET, tree)


def put_aged(cluster: Cluster, seconds_left: float) -> Bundle:
    """A Secret with a certificate that is due in so many seconds."""
    now = cluster.clock.wall()
    age = certificates.renewal(certificates.issue(NAMES, now).certificate) - now
    bundle = certificates.issue(NAMES, now - age + datetime.timedelta(seconds=seconds_left))
    put(cluster, data=certificatesecret.secret(SECRET, bundle)["data"])
    return bundle


def test_a_certificate_is_issued_and_kept_in_a_secret() -> None:
    async def scene(cluster: Cluster) -> None:
        one = store(cluster)
        assert one.served.check() == "certificates are not ready yet"
        async with running(one):
            await one.served.ready()
            assert one.served.check() == ""
            secret = cluster.get_now(SECRETS, SECRET, NAMESPACE)
            assert secret is not None
            assert secret["type"] == "kubernetes.io/tls"
            assert secret["data"].keys() == {"tls.crt", "tls.key", "ca.crt"}
            assert secret["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "grove-operator"
            assert one.served.pair == held(cluster)
            assert one.served.authorities == held(cluster).authorities
            assert certificates.names_in(held(cluster).certificate) == {*NAMES}
            await cluster.clock.sleep(10 * DAY)
        assert cluster.count(resource="secrets") == 1

    play(scene)


def test_what_is_there_is_served_and_not_written() -> None:
    async def scene(cluster: Cluster) -> None:
        there = certificates.issue(NAMES, cluster.clock.wall())
        put(cluster, **certificatesecret.secret(SECRET, there) | {"metadata": {"name": SECRET, "namespace": NAMESPACE}})
        one = store(cluster)
        async with running(one):
            await one.served.ready()
            assert one.served.pair == there
        assert cluster.writes == []

    play(scene)


def test_it_is_renewed_when_due_and_the_old_one_is_served_until_the_new_authority_is_known() -> None:
    async def scene(cluster: Cluster) -> None:
        clock = cluster.clock
        first = put_aged(cluster, 2 * DAY)
        one = store(cluster)
        async with running(one):
            await one.served.ready()
            await clock.sleep(2 * DAY - 1)
            assert held(cluster) == first == one.served.pair
            await until(clock, lambda: held(cluster) != first, within=2)
            second = held(cluster)
            assert second.authorities.endswith(first.authorities)
            await until(clock, lambda: one.served.authorities == second.authorities, within=1)
            assert one.served.pair == first
            took = await until(clock, lambda: one.served.pair == second, within=2 * SETTLE)
            assert SETTLE - 2 <= took <= SETTLE + 1

    play(scene)


def test_replicas_agree_on_one_certificate_also_when_it_is_renewed() -> None:
    async def scene(cluster: Cluster) -> None:
        clock = cluster.clock
        several = [store(cluster, seed) for seed in range(3)]
        async with running(*several):
            for one in several:
                await one.served.ready()
            assert {one.served.pair for one in several} == {held(cluster)}
            first = put_aged(cluster, 100.0)
            await clock.sleep(100.0 + 3 * SETTLE)
            assert held(cluster) != first
            assert {one.served.pair for one in several} == {held(cluster)}
            assert held(cluster).authorities.count(b"BEGIN") == 2
        assert cluster._revision - 100 == 3  # one creation, ours, and one renewal

    play(scene)


def test_replicas_that_want_different_names_get_a_certificate_with_all_of_them() -> None:
    async def scene(cluster: Cluster) -> None:
        one, other = store(cluster, 1, ("a", "b")), store(cluster, 2, ("b", "c"))
        async with running(one, other):
            await one.served.ready()
            await other.served.ready()
            await cluster.clock.sleep(DAY)
            assert certificates.names_in(held(cluster).certificate) == {"a", "b", "c"}
            assert cluster._revision - 100 == 2

    play(scene)


def test_what_cannot_be_served_is_replaced_at_once() -> None:
    async def scene(cluster: Cluster) -> None:
        put(cluster, data={"tls.crt": "", "tls.key": "", "extra": "a2VwdA=="})
        one = store(cluster)
        async with running(one):
            await one.served.ready()
            secret = cluster.get_now(SECRETS, SECRET, NAMESPACE)
            assert secret is not None
            assert secret["data"]["extra"] == "a2VwdA=="
            cluster.edit(SECRETS, SECRET, {"data": {"tls.key": "!"}}, NAMESPACE)
            await until(
                cluster.clock, lambda: certificates.needs_rotation(held(cluster), NAMES, cluster.clock.wall()) == ""
            )
            cluster.remove(SECRETS, SECRET, NAMESPACE)
            await until(cluster.clock, lambda: cluster.get_now(SECRETS, SECRET, NAMESPACE))

    play(scene)


def test_the_secret_of_another_is_left_alone_until_it_is_gone() -> None:
    async def scene(cluster: Cluster) -> None:
        put(cluster, type="Opaque")
        one = store(cluster)
        async with running(one):
            await cluster.clock.sleep(DAY)
            assert one.served.check() == (
                f"certificates are not ready yet: secret {NAMESPACE}/{SECRET} is of type Opaque, not "
                "kubernetes.io/tls: delete it, or name another in server.webhooks.secretName"
            )
            assert cluster.writes == []
            cluster.remove(SECRETS, SECRET, NAMESPACE)
            await until(cluster.clock, lambda: one.served.check() == "")

    play(scene)


def test_a_certificate_that_grove_did_not_issue_is_not_overwritten() -> None:
    async def scene(cluster: Cluster) -> None:
        theirs = Authority.create("Somebody", cluster.clock.wall()).serving(NAMES)
        put(cluster, data=certificatesecret.secret(SECRET, Bundle(theirs.certificate, theirs.key))["data"])
        one = store(cluster)
        async with running(one):
            await until(cluster.clock, lambda: "holds a certificate that Grove did not issue" in one.served.check())
            assert "certProvisionMode" in one.served.check()
        assert cluster.writes == []

    play(scene)


def test_without_an_answer_it_is_tried_again() -> None:
    async def scene(cluster: Cluster) -> None:
        one = store(cluster)
        async with running(one):
            await cluster.clock.sleep(0)
            cluster.is_away = True
            await cluster.clock.sleep(100.0)
            assert one.served.pair is None
            cluster.is_away = False
            await until(cluster.clock, lambda: one.served.pair)

    play(scene)


def test_a_secret_that_may_not_be_written_is_told() -> None:
    async def scene(cluster: Cluster) -> None:
        from grove.kube.errors import Forbidden

        async def refuse(*_: object, **__: object) -> None:
            raise Forbidden("you may not", code=403)

        cluster.create = refuse  # type: ignore[method-assign]
        one = store(cluster)
        async with running(one):
            await until(cluster.clock, lambda: "cannot be written: you may not" in one.served.check())
            del cluster.create
            await until(cluster.clock, lambda: one.served.check() == "")

    play(scene)


def test_an_expired_certificate_is_replaced_without_waiting() -> None:
    async def scene(cluster: Cluster) -> None:
        old = certificates.issue(NAMES, cluster.clock.wall() - datetime.timedelta(days=400))
        put(cluster, data=certificatesecret.secret(SECRET, old)["data"])
        one = store(cluster)
        async with running(one):
            await one.served.ready()
            assert one.served.pair != old
            assert one.served.authorities.count(b"BEGIN") == 1

    play(scene)
