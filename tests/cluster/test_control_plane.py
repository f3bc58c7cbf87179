"""What the other tests on a cluster take for granted: that it is a real one, and that it goes away."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grove.testing.binaries import parse_version
from grove.testing.components import APISERVER, CONTROLLER_MANAGER, ETCD
from grove.testing.controlplane import ControlPlane, StartError
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually


def config_map(name: str, **metadata: object) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}}


def status_of(cluster: ControlPlane, path: str) -> int:
    return cluster.request("GET", path)[0]


@pytest.fixture
def node(cluster: ControlPlane, namespace: str) -> Iterator[str]:
    """An empty node named after the test's namespace."""
    body = {
        "metadata": {"name": namespace, "labels": {"kubernetes.io/hostname": namespace}},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    cluster.create("/api/v1/nodes", body)
    yield namespace
    cluster.request("DELETE", f"/api/v1/nodes/{namespace}")


def test_it_is_kubernetes_1_36_or_newer(cluster: ControlPlane) -> None:
    version = parse_version(cluster.request("GET", "/version")[1]["gitVersion"])
    assert version is not None
    assert version >= (1, 36, 0)


def test_kubectl_is_of_the_version_of_the_server_and_has_its_own_home(cluster: ControlPlane, kubectl: Kubectl) -> None:
    versions = kubectl.run("version", "-o", "json").json()
    assert versions["serverVersion"] == cluster.request("GET", "/version")[1]
    assert versions["clientVersion"]["minor"] == versions["serverVersion"]["minor"]
    assert Path(kubectl.environment()["HOME"]).is_relative_to(cluster.kubeconfig.parent)


def test_kubectl_speaks_of_the_namespace_of_the_test(cluster: ControlPlane, kubectl: Kubectl, namespace: str) -> None:
    kubectl.run("create", "configmap", "here")
    assert status_of(cluster, f"/api/v1/namespaces/{namespace}/configmaps/here") == 200
    assert kubectl.run("get", "configmap", "here", "-n", "default", check=False).code == 1


def test_a_service_account_may_do_nothing_until_a_role_is_bound_to_it(cluster: ControlPlane, namespace: str) -> None:
    token = cluster.token_for(namespace, "reader")
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    status, refusal = cluster.request("GET", secrets, token=token)
    assert status == 403
    assert f"system:serviceaccount:{namespace}:reader" in refusal["message"]

    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]
    cluster.create(f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }
    cluster.create(f"{rbac}/rolebindings", binding)
    # The authorizer hears of it through a watch.
    eventually(lambda: cluster.request("GET", secrets, token=token)[0], lambda status: status == 200)


def test_a_kubeconfig_speaks_for_its_service_account(cluster: ControlPlane, namespace: str) -> None:
    kubeconfig = cluster.kubeconfig_for(namespace, "someone")
    review = cluster.kubectl(namespace, kubeconfig).run("auth", "whoami", "-o", "json").json()
    assert review["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:someone"
    assert kubeconfig.stat().st_mode & 0o077 == 0


def test_a_kubeconfig_speaks_for_a_user_and_groups_by_certificate(cluster: ControlPlane) -> None:
    kubeconfig = cluster.kubeconfig_as("alice", ["research", "ops"])
    review = cluster.kubectl(kubeconfig=kubeconfig).run("auth", "whoami", "-o", "json").json()
    assert review["status"]["userInfo"]["username"] == "alice"
    assert {"research", "ops"} <= set(review["status"]["userInfo"]["groups"])


def test_an_unknown_token_is_turned_away(cluster: ControlPlane) -> None:
    assert cluster.request("GET", "/api/v1/pods", token="nobody")[0] == 401


def test_garbage_collection_deletes_what_its_owner_leaves_behind(cluster: ControlPlane, namespace: str) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    owner = cluster.create(maps, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    cluster.create(maps, config_map("dependent", ownerReferences=[reference]))
    cluster.request("DELETE", f"{maps}/owner")
    eventually(lambda: status_of(cluster, f"{maps}/dependent"), lambda status: status == 404, timeout=30)


def test_a_new_node_is_not_tainted(cluster: ControlPlane, node: str) -> None:
    assert "taints" not in cluster.request("GET", f"/api/v1/nodes/{node}")[1]["spec"]


def test_the_scheduler_of_kubernetes_places_a_pod(cluster: ControlPlane, namespace: str, node: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {
        "containers": [{"name": "main", "image": "none"}],
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 0,
    }
    cluster.create(pods, {"metadata": {"name": "pod"}, "spec": spec})
    eventually(
        lambda: cluster.request("GET", f"{pods}/pod")[1]["spec"].get("nodeName"), lambda name: name == node, timeout=30
    )


def test_a_watch_begins_with_what_is_there_and_a_bookmark(cluster: ControlPlane, namespace: str) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    made = cluster.create(maps, config_map("there"))
    # A write elsewhere, of which a watch of these config maps would learn only by etcd's notice of progress.
    other = cluster.create(f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": "elsewhere"}})
    events = []
    parameters = {
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "fieldSelector": "metadata.name=there",
    }
    for event in cluster.watch(maps, seconds=30, **parameters):
        events.append(event)
        if event["type"] == "BOOKMARK":
            break
    added, bookmark = events
    assert added["object"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) >= int(other["metadata"]["resourceVersion"])


def test_a_deleted_namespace_takes_its_objects_along(cluster: ControlPlane, namespace: str) -> None:
    other = cluster.create_namespace(f"{namespace}-2")
    for name in (namespace, other):
        cluster.create(f"/api/v1/namespaces/{name}/configmaps", config_map("same-name"))
    cluster.delete_namespace(other)
    eventually(lambda: status_of(cluster, f"/api/v1/namespaces/{other}"), lambda status: status == 404, timeout=30)
    assert status_of(cluster, f"/api/v1/namespaces/{other}/configmaps/same-name") == 404
    assert status_of(cluster, f"/api/v1/namespaces/{namespace}/configmaps/same-name") == 200


def test_what_was_written_outlives_a_killed_etcd_and_api_server() -> None:
    with ControlPlane.start(controller_manager=False) as own:
        own.create("/api/v1/namespaces/default/configmaps", config_map("kept"))
        own.restart(ETCD, APISERVER)
        assert status_of(own, "/api/v1/namespaces/default/configmaps/kept") == 200


def test_a_component_that_has_ended_ends_the_wait_for_it(tmp_path: Path) -> None:
    with ControlPlane.start(logs=tmp_path) as own:
        own.kill(CONTROLLER_MANAGER)
        with pytest.raises(StartError, match=f"{CONTROLLER_MANAGER} ended with code -9"):
            own.create_namespace("never-ready")
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.log" for name in own.processes}


def test_a_start_that_fails_shows_the_log_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(StartError, match=r"(?s)kube-apiserver ended with code 1.*unknown flag: --of-fancy"):
        ControlPlane.start(apiserver_flags=["--of-fancy"])
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_someone_else_takes_first_is_given_up_for_another() -> None:
    class Unlucky(ControlPlane):
        taken: socket.socket | None = None

        def _choose_port(self) -> None:
            super()._choose_port()
            if self.taken is None:
                self.taken = socket.socket()
                self.taken.bind(("127.0.0.1", self._port))

    with Unlucky.start(controller_manager=False) as own:
        assert own.taken is not None
        with own.taken:
            assert own.url != f"https://127.0.0.1:{own.taken.getsockname()[1]}"
            assert status_of(own, "/readyz") == 200


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux kills children with their parent")
def test_nothing_outlives_a_killed_test_run(tmp_path: Path) -> None:
    program = (
        "from grove.testing.controlplane import ControlPlane\n"
        "with ControlPlane.start() as cluster:\n"
        "    print(*cluster.processes.values(), flush=True)\n"
        "    input()\n"
    )
    # Its directory is in ours: nobody is left to remove it.
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as run:
        assert run.stdout is not None
        children = [int(pid) for pid in run.stdout.readline().split()]
        assert len(children) == 3
        assert all(is_running(pid) for pid in children)
        run.send_signal(signal.SIGKILL)
    eventually(lambda: [pid for pid in children if is_running(pid)], lambda left: not left)


def is_running(pid: int) -> bool:
    """Whether a process is more than a corpse that its new parent has not buried yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
