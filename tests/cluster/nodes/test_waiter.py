"""Grove's init container in simulated pods: it really waits, with the rights of its pod and no others."""

from typing import Any

import pytest

from grove.api import labels
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually
from tests.cluster.nodes.conftest import Start
from tests.cluster.nodes.fleet import PATIENCE, Fleet, Pods, condition, container, status_of

JSON = dict[str, Any]

GANG = "x-0"
PARENT = "x-0-router"
POD_INFO: JSON = {
    "name": "pod-info",
    "downwardAPI": {
        "items": [
            {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}},
            {"path": "podgangname", "fieldRef": {"fieldPath": f"metadata.labels['{labels.POD_GANG}']"}},
        ]
    },
}
ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture(scope="module")
def fleet(start: Start) -> Fleet:
    return start("waiting", "--count", "2").started()


@pytest.fixture
def account(cluster: ControlPlane, namespace: str) -> str:
    """A service account that may watch pods."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    cluster.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "waiter"}})
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    cluster.create(f"{rbac}/roles", {"metadata": {"name": "waiter"}, "rules": rules})
    binding = {
        "metadata": {"name": "waiter"},
        "subjects": [{"kind": "ServiceAccount", "name": "waiter", "namespace": namespace}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "waiter"},
    }
    cluster.create(f"{rbac}/rolebindings", binding)
    return "waiter"


def create(pods: Pods, name: str, clique: str, **rest: Any) -> None:
    """A pod of the gang."""
    pods.create(name, labels={labels.POD_GANG: GANG, labels.POD_CLIQUE: clique}, **rest)


def waiter(count: int, mounts: tuple[JSON, ...] = ()) -> JSON:
    pod_info = {"name": "pod-info", "mountPath": "/var/grove/pod-info"}
    return container("grove-initc", args=[f"--podcliques={PARENT}:{count}"], volumeMounts=[pod_info, *mounts])


def test_a_pod_starts_when_its_parents_are_ready_and_not_before(kubectl: Kubectl, pods: Pods, account: str) -> None:
    create(pods, "router-0", PARENT)
    create(pods, "router-1", PARENT, annotations={"simulate.grove.io/never-ready": "true"})
    create(pods, "worker", "x-0-worker", serviceAccountName=account, initContainers=[waiter(2)], volumes=[POD_INFO])
    pods.ready("router-0")
    found = pods.when("worker", lambda pod: "running" in status_of(pod, "grove-initc")["state"])
    assert found["status"]["phase"] == "Pending"
    assert "waiting" in status_of(found, "main")["state"]
    kubectl.run("annotate", "pod", "router-1", "simulate.grove.io/never-ready-")
    router, worker = pods.ready("router-1"), pods.ready("worker")
    ended = status_of(worker, "grove-initc")["state"]["terminated"]
    assert ended["exitCode"] == 0
    since = next(one for one in router["status"]["conditions"] if one["type"] == "Ready")["lastTransitionTime"]
    assert ended["finishedAt"] >= since


def test_a_waiter_without_rights_waits_until_it_has_them(
    cluster: ControlPlane, namespace: str, pods: Pods, account: str
) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    binding = cluster.request("GET", f"{path}/waiter")[1]
    assert cluster.request("DELETE", f"{path}/waiter")[0] == 200
    create(pods, "router-0", PARENT)
    create(pods, "worker", "x-0-worker", serviceAccountName=account, initContainers=[waiter(1)], volumes=[POD_INFO])
    pods.ready("router-0")
    found = pods.when("worker", lambda pod: "running" in status_of(pod, "grove-initc")["state"])
    assert condition(found, "Ready") == "False"
    cluster.create(path, {key: binding[key] for key in ("subjects", "roleRef")} | {"metadata": {"name": "waiter"}})
    pods.ready("worker")


def test_a_waiter_may_have_its_token_from_a_secret_that_comes_late(
    cluster: ControlPlane, kubectl: Kubectl, namespace: str, pods: Pods, account: str
) -> None:
    mount = {"name": "token", "mountPath": ACCOUNT_PATH}
    token = {"name": "token", "secret": {"secretName": "waiter-token"}}
    create(pods, "router-0", PARENT)
    create(
        pods,
        "worker",
        "x-0-worker",
        serviceAccountName=account,
        automountServiceAccountToken=False,
        initContainers=[waiter(1, (mount,))],
        volumes=[POD_INFO, token],
    )
    eventually(
        lambda: kubectl.run("get", "events", "--field-selector", "reason=FailedMount").stdout,
        lambda text: "waiter-token" in text,
        timeout=PATIENCE,
    )
    secret = {
        "metadata": {"name": "waiter-token", "annotations": {"kubernetes.io/service-account.name": account}},
        "type": "kubernetes.io/service-account-token",
    }
    cluster.create(f"/api/v1/namespaces/{namespace}/secrets", secret)
    pods.ready("worker")


def test_a_waiter_that_cannot_wait_fails_and_says_why(pods: Pods, account: str) -> None:
    broken = container("grove-initc", args=["--podcliques=nonsense"])
    pods.create("broken", serviceAccountName=account, initContainers=[broken], restartPolicy="Never")
    found = pods.when("broken", lambda pod: pod["status"]["phase"] == "Failed")
    ended = status_of(found, "grove-initc")["state"]["terminated"]
    assert ended["exitCode"] == 1
    assert "ERR_INVALID_INPUT" in ended["message"]
