"""An operator whose answers get lost, on the way from the API server: nothing is made twice, and nothing is missing."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.faults import FaultProxy, ResetAfter, Seen
from grove.testing.kubeconfig import token_user, write_kubeconfig
from tests.cluster.audit import NAMESPACE
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.operator.manifests import pods_of, served
from tests.cluster.operator.operator import ACCOUNT, Operator
from tests.cluster.operator.test_restart import no_index_twice
from tests.cluster.operator.watcher import Watcher
from tests.cluster.operator.workloads import Workloads, name_of

EVERY = 4
"""Of so many answers to a write, one is lost."""


@pytest.fixture
def careless(
    cluster: ControlPlane, operator: Operator, kubeconfig: Path, proxy: FaultProxy, tmp_path: Path
) -> Iterator[Operator]:
    """The operator of the session stands back for one whose answers get lost."""
    operator.kill()
    user = token_user(cluster.token_for(NAMESPACE, ACCOUNT))
    by_proxy = write_kubeconfig(tmp_path / "by-proxy", url=proxy.url, ca=proxy.ca, user=user, namespace=NAMESPACE)
    running = Operator(by_proxy, tmp_path)
    yield running.started()
    running.kill()
    operator.started()


def test_lost_answers_make_nothing_twice(
    workloads: Workloads, careless: Operator, proxy: FaultProxy, fleet: Fleet
) -> None:
    turn = itertools.count(1)

    def unlucky(request: Seen) -> bool:
        is_write = request.method in ("POST", "PATCH", "DELETE") and workloads.namespace in request.path
        return is_write and next(turn) % EVERY == 0

    proxy.inject(ResetAfter(), when=unlucky, times=200)
    with Watcher(workloads.cluster, workloads.namespace, no_index_twice) as seen:
        workloads.apply(*(served(name, copies=3) for name in ("one", "two")))
        for name in ("one", "two"):
            workloads.ready(name, pods_of(name, copies=3))
    assert len(seen.names) == 2 * sum(pods_of("x", copies=3).values())  # no pod was made in vain
    workloads.scale("pcsg", "one-0-model", 1)
    workloads.ready("one", pods_of("one", copies=1))
    before = {name_of(pod) for pod in workloads.pods("two")}
    workloads.delete("one")
    assert {name_of(pod) for pod in workloads.pods("two")} == before
