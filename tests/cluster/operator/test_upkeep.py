"""What people change or leave behind beside the operator is put right."""

import json
from typing import Any

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.audit import NAMESPACE
from tests.cluster.operator.conftest import StartOperator
from tests.cluster.operator.manifests import clique, workload
from tests.cluster.operator.operator import PATIENCE, Operator
from tests.cluster.operator.workloads import Workloads, changed

JSON = dict[str, Any]


def waiting(name: str) -> JSON:
    cliques = [clique("first", 1), clique("second", 1)]
    return workload(name, cliques, template={"cliqueStartupType": "CliqueStartupTypeInOrder"})


def test_services_and_rights_that_somebody_changed_are_mended(workloads: Workloads) -> None:
    workloads.apply(waiting("mended"))
    workloads.ready("mended", {"mended-0-first": 1, "mended-0-second": 1})
    [service] = workloads.all("services", "mended")
    workloads.patch("services", "mended-0", {"spec": {"selector": {"app": "theirs"}}})
    workloads.when("services", "mended-0", lambda one: one["spec"]["selector"] == service["spec"]["selector"])
    [role] = workloads.names("roles", "mended")
    workloads.patch("roles", role, {"rules": []})
    workloads.when("roles", role, lambda one: one["rules"])
    [binding] = workloads.names("rolebindings", "mended")
    subjects = [{"kind": "ServiceAccount", "name": "theirs", "namespace": workloads.namespace}]
    workloads.patch("rolebindings", binding, {"subjects": subjects})
    workloads.when("rolebindings", binding, lambda one: one["subjects"] != subjects)


def test_an_autoscaler_follows_its_template_and_goes_with_it(workloads: Workloads) -> None:
    pcs = workload("auto", [clique("worker", 2, least=1)])
    pcs["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"] = {"minReplicas": 2, "maxReplicas": 5}
    workloads.apply(pcs)
    workloads.when("horizontalpodautoscalers", "auto-0-worker", lambda one: one["spec"]["maxReplicas"] == 5)

    def wider(tree: JSON) -> None:
        tree["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"]["maxReplicas"] = 7

    workloads.apply(changed(pcs, wider))
    workloads.when("horizontalpodautoscalers", "auto-0-worker", lambda one: one["spec"]["maxReplicas"] == 7)
    workloads.scale("pcs", "auto", 2)
    workloads.when("horizontalpodautoscalers", "auto-1-worker", lambda one: one["spec"]["maxReplicas"] == 7)
    workloads.scale("pcs", "auto", 1)
    workloads.gone("horizontalpodautoscalers", "auto-1-worker")


def test_a_topology_says_that_it_was_seen(workloads: Workloads) -> None:
    path = "/apis/grove.io/v1alpha1/clustertopologybindings"
    body = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": workloads.namespace},
        "spec": {"levels": [{"domain": "rack", "key": "topology.kubernetes.io/rack"}]},
    }
    workloads.cluster.create(path, body)
    try:
        eventually(
            lambda: workloads.cluster.request("GET", f"{path}/{workloads.namespace}")[1].get("status", {}),
            lambda status: status.get("observedGeneration") == 1,
            timeout=PATIENCE,
        )
    finally:
        workloads.cluster.request("DELETE", f"{path}/{workloads.namespace}")


def test_a_certificate_that_somebody_emptied_is_issued_anew(cluster: ControlPlane, workloads: Workloads) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/grove-webhook-server-cert"
    emptied: JSON = {"data": {"tls.crt": "", "tls.key": "", "ca.crt": ""}}
    status, answer = cluster.request("PATCH", path, emptied, content_type="application/merge-patch+json")
    assert status == 200, answer
    eventually(lambda: cluster.request("GET", path)[1]["data"]["tls.crt"], timeout=PATIENCE)
    # With the Secret the old authority is lost: until the API server knows the new one, it refuses.
    text = json.dumps(workload("after", [clique("worker", 1)]))
    eventually(lambda: workloads.kubectl.run("apply", "-f", "-", stdin=text, check=False).code == 0, timeout=PATIENCE)
    workloads.ready("after", {"after-0-worker": 1})


def test_the_authorizer_is_registered_only_while_it_is_wanted(
    cluster: ControlPlane, operator: Operator, start_operator: StartOperator
) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/authorizer-webhook"
    other = start_operator(webhooks="127.0.0.1", configuration={"authorizer": {"enabled": True}}).started()
    eventually(lambda: cluster.request("GET", path)[0] == 200, timeout=PATIENCE)
    assert other.terminate() == 0
    # Whoever starts registers its own address.
    operator.kill()
    operator.started()
    eventually(lambda: cluster.request("GET", path)[0] == 404, timeout=PATIENCE)
