"""The webhooks behind a real API server: what users are told, what is stored, and who may change what."""

from __future__ import annotations

import base64
import json
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.names import CLUSTER_DOMAIN
from grove.operator.admission.certificates import names_in, names_of_service
from grove.operator.permissions import CLUSTER_ROLE
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually
from tests.cluster.objects import MERGE, smallest
from tests.cluster.operator.webhooks import NAMESPACE, OPERATOR, SECRET, Webhooks, configurations, free_port, install
from tests.cluster.test_manifests import SERVED, dry_run, stored
from tests.manifests.cases import Case

EXAMPLES = Path(__file__).parents[3] / "examples"
SECRET_PATH = f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}"


@pytest.fixture(scope="module")
def own() -> Iterator[ControlPlane]:
    """A cluster of the module's own: webhooks are asked about everything in a cluster."""
    with ControlPlane.start(controller_manager=False) as started:
        install(started)
        yield started


@pytest.fixture(scope="module")
def webhooks(own: ControlPlane) -> Iterator[Webhooks]:
    with Webhooks(own, authorizes=True) as running:
        yield running


@pytest.fixture
def kubectl(own: ControlPlane, webhooks: Webhooks) -> Kubectl:
    """kubectl in a namespace of the test's own."""
    return own.kubectl(own.create_namespace(f"test-{secrets.token_hex(4)}"))


def workload(name: str = "simple", **template: Any) -> JSON:
    tree = smallest(catalog.POD_CLIQUE_SET, name)
    tree["spec"]["template"] |= template
    return tree


def apply(kubectl: Kubectl, tree: JSON, *options: str, check: bool = True) -> Any:
    return kubectl.run("apply", "-f", "-", *options, stdin=json.dumps(tree), check=check)


def get(kubectl: Kubectl, *arguments: str) -> Any:
    return kubectl.run("get", *arguments, "-o", "json").json()


# Verdicts


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in SERVED])
def test_with_the_webhooks_the_api_server_gives_the_verdict_of_the_table(
    own: ControlPlane, webhooks: Webhooks, case: Case
) -> None:
    with webhooks.judged_by(None), stored(own, case) as version, webhooks.judged_by(case.policy):
        status, answer = dry_run(own, case, version)
    assert (status in (200, 201)) is case.accepted, answer
    if case.accepted or case.judged_by == "schema":
        return
    assert (answer["code"], answer["reason"]) == (422, "Invalid")
    causes = answer["details"]["causes"]
    assert {cause["field"] for cause in causes} == {error.path for error in case.errors}
    for error in case.errors:
        assert any(error.detail in cause["message"] for cause in causes if cause["field"] == error.path)


def test_what_was_left_out_is_filled_in(kubectl: Kubectl) -> None:
    apply(kubectl, workload())
    template = get(kubectl, "pcs", "simple")["spec"]["template"]
    assert template["terminationDelay"] == "4h0m0s"
    assert template["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
    clique = template["cliques"][0]["spec"]
    assert (clique["roleName"], clique["minAvailable"]) == ("worker", 2)
    assert (clique["podSpec"]["restartPolicy"], clique["podSpec"]["terminationGracePeriodSeconds"]) == ("Always", 30)


@pytest.mark.parametrize("options", [(), ("--server-side",)], ids=("client-side", "server-side"))
def test_a_second_application_changes_nothing(kubectl: Kubectl, options: tuple[str, ...]) -> None:
    tree = workload(startupType="InOrder")
    apply(kubectl, tree, *options)
    first = get(kubectl, "pcs", "simple")["metadata"]
    apply(kubectl, tree, *options)
    second = get(kubectl, "pcs", "simple")["metadata"]
    assert (second["generation"], second["resourceVersion"]) == (1, first["resourceVersion"])


def test_kubectl_names_every_field_and_what_would_help(kubectl: Kubectl) -> None:
    tree = workload(terminationDelay="0s")
    tree["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = 3
    refused = apply(kubectl, tree, check=False)
    assert refused.code == 1
    assert refused.stderr.startswith('The PodCliqueSet "simple" is invalid: \n')
    assert (
        "* spec.template.cliques[0].spec.minAvailable: Invalid value: 3: minAvailable must not be greater than "
        "replicas; " in refused.stderr
    )
    assert "* spec.template.terminationDelay: Invalid value: " in refused.stderr
    assert get(kubectl, "pcs")["items"] == []


def test_a_warning_is_shown_once(kubectl: Kubectl) -> None:
    tree = workload(startupType="InOrder")
    tree["spec"]["template"]["cliques"][0]["spec"]["startsAfter"] = []
    shown = apply(kubectl, tree).stderr.splitlines()
    assert len(shown) == len(set(shown))
    assert [line for line in shown if line.startswith("Warning: spec.template.startupType: ")]


def test_what_cannot_change_is_refused_and_what_can_is_not(kubectl: Kubectl) -> None:
    apply(kubectl, workload())
    tree = workload()
    tree["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = 1
    assert "minAvailable: Invalid value: 1: field is immutable" in apply(kubectl, tree, check=False).stderr
    tree = workload()
    tree["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 7
    apply(kubectl, tree)
    assert get(kubectl, "pcs", "simple")["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] == 2


def test_a_name_may_be_left_to_the_server(kubectl: Kubectl) -> None:
    tree = workload()
    tree["metadata"] = {"generateName": "simple-"}
    assert kubectl.run("create", "-f", "-", stdin=json.dumps(tree)).stdout.startswith("podcliqueset.grove.io/simple-")


def test_a_topology_and_the_workload_that_names_it_may_come_together(kubectl: Kubectl) -> None:
    for number in range(10):  # kubectl is quicker than a watch, not every time
        topology = smallest(catalog.TOPOLOGY_BINDING, f"{kubectl.namespace}-{number}")
        constraint = {"topologyName": topology["metadata"]["name"], "pack": {"required": "host"}}
        both = {
            "apiVersion": "v1",
            "kind": "List",
            "items": [topology, workload(f"w{number}", topologyConstraint=constraint)],
        }
        apply(kubectl, both)
    unknown = workload("other", topologyConstraint={"topologyName": "nowhere", "pack": {"required": "host"}})
    assert 'ClusterTopologyBinding "nowhere" not found' in apply(kubectl, unknown, check=False).stderr


def test_a_topology_with_a_level_twice_is_refused(kubectl: Kubectl) -> None:
    tree = smallest(catalog.TOPOLOGY_BINDING, "twice")
    tree["spec"]["schedulerTopologyBindings"] = [{"schedulerName": "nobody", "topologyReference": "x"}]
    refused = apply(kubectl, tree, check=False)
    assert "scheduler backend is not enabled in Grove" in refused.stderr


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_every_example_is_admitted(kubectl: Kubectl, path: Path) -> None:
    if path.parent.name == "configuration":  # read by the programs
        return
    text = path.read_text().replace("\n  namespace: default\n", f"\n  namespace: {kubectl.namespace}\n")
    kubectl.run("apply", "-f", "-", stdin=text)
    kubectl.run("apply", "-f", "-", stdin=text)


def test_scaling_and_deleting_are_not_judged(kubectl: Kubectl) -> None:
    apply(kubectl, workload())
    kubectl.run("scale", "pcs/simple", "--replicas=4")
    assert get(kubectl, "pcs", "simple")["spec"]["replicas"] == 4
    kubectl.run("delete", "pcs", "simple", "--wait=false")


def test_an_object_from_before_the_rules_can_be_let_go(own: ControlPlane, webhooks: Webhooks, kubectl: Kubectl) -> None:
    tree = workload(terminationDelay="0s")
    tree["metadata"]["finalizers"] = ["grove.io/podcliqueset.grove.io"]
    collection = f"/apis/grove.io/v1alpha1/namespaces/{kubectl.namespace}/podcliquesets"
    with webhooks.judged_by(None):
        own.create(collection, tree)
    kubectl.run("delete", "pcs", "simple", "--wait=false")
    change = {"metadata": {"finalizers": None}}
    assert own.request("PATCH", f"{collection}/simple", change, content_type=MERGE)[0] == 200
    assert get(kubectl, "pcs")["items"] == []


# Who may change what the operator manages


def child(name: str = "simple-0-worker", **metadata: Any) -> JSON:
    tree = smallest(catalog.POD_CLIQUE, name)
    tree["metadata"] |= {
        "labels": {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "simple"}
    } | metadata
    return tree


@pytest.fixture
def managed(own: ControlPlane, kubectl: Kubectl, webhooks: Webhooks) -> Kubectl:
    """A workload and a child that the operator has made."""
    apply(kubectl, workload())
    apply(kubectl, child(), "--as", OPERATOR, "--as-group", "system:masters")
    return kubectl


def test_a_child_cannot_be_edited_or_deleted_but_scaled(managed: Kubectl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/main:v1/main:v2/")
    edited = managed.run("edit", "pclq", "simple-0-worker", check=False)
    assert edited.code == 1
    assert "admission denied, creation/updation of resource: " in edited.stderr
    assert f"{managed.namespace}/simple-0-worker is not allowed" in edited.stderr
    deleted = managed.run("delete", "pclq", "simple-0-worker", check=False)
    assert "admission denied, deletion of resource: " in deleted.stderr
    made = apply(managed, child("another"), check=False)
    assert "admission denied, creation/updation" in made.stderr
    managed.run("scale", "pclq/simple-0-worker", "--replicas=3")
    assert get(managed, "pclq", "simple-0-worker")["spec"]["replicas"] == 3


def test_labels_cannot_be_used_to_slip_out(managed: Kubectl) -> None:
    stolen = managed.run("label", "pclq", "simple-0-worker", "app.kubernetes.io/managed-by-", check=False)
    assert "admission denied" in stolen.stderr


def test_a_set_may_give_up_the_protection_of_its_children(managed: Kubectl) -> None:
    managed.run("annotate", "pcs", "simple", "grove.io/disable-managed-resource-protection=true")
    eventually(
        lambda: managed.run("label", "pclq", "simple-0-worker", "mine=yes", check=False), lambda done: done.code == 0
    )


def test_what_has_lost_its_set_is_let_through_with_a_warning(managed: Kubectl) -> None:
    managed.run("delete", "pcs", "simple")
    done = eventually(
        lambda: managed.run("delete", "pclq", "simple-0-worker", check=False), lambda done: done.code == 0
    )
    assert f"Warning: parent PodCliqueSet {managed.namespace}/simple not found" in done.stderr


def test_pods_and_services_of_others_are_not_asked_about(
    managed: Kubectl, own: ControlPlane, webhooks: Webhooks
) -> None:
    before = webhooks.admission.server.statistics().requests
    managed.run("create", "service", "clusterip", "mine", "--tcp=80")
    managed.run("label", "service", "mine", "a=b")
    managed.run("delete", "service", "mine")
    path = "/webhooks/authorizer-webhook"
    after = webhooks.admission.server.statistics().requests
    assert [before.get((path, one)) for one in ("allowed", "denied")] == [
        after.get((path, one)) for one in ("allowed", "denied")
    ]


# Certificates


def bundle(own: ControlPlane) -> dict[str, bytes]:
    status, secret = own.request("GET", SECRET_PATH)
    assert (status, secret["type"]) == (200, "kubernetes.io/tls")
    assert secret["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/component": "webhook",
        "app.kubernetes.io/part-of": "grove",
    }
    return {key: base64.b64decode(value) for key, value in secret["data"].items()}


def test_the_certificate_is_in_the_secret_and_its_authority_in_every_configuration(
    own: ControlPlane, webhooks: Webhooks
) -> None:
    held = bundle(own)
    assert held.keys() == {"tls.crt", "tls.key", "ca.crt"}
    assert names_in(held["tls.crt"]) == {*names_of_service(NAMESPACE, CLUSTER_DOMAIN), "127.0.0.1"}
    registered = configurations(own)
    assert registered.keys() >= {
        "podcliqueset-defaulting-webhook",
        "podcliqueset-validating-webhook",
        "clustertopology-validating-webhook",
        "authorizer-webhook",
    }
    for one in registered.values():
        assert base64.b64decode(one["webhooks"][0]["clientConfig"]["caBundle"]) == held["ca.crt"]


def test_a_new_certificate_takes_over_while_requests_go_on(
    own: ControlPlane, webhooks: Webhooks, kubectl: Kubectl
) -> None:
    before = bundle(own)
    collection = f"/apis/grove.io/v1alpha1/namespaces/{kubectl.namespace}/podcliquesets?dryRun=All"
    answers: list[int] = []
    ended = threading.Event()

    def keep_asking() -> None:
        while not ended.is_set():
            answers.append(own.request("POST", collection, workload())[0])

    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        eventually(lambda: len(answers), lambda count: count > 10)
        # Without its key the certificate cannot be served: all replicas need another at once.
        own.request("PATCH", SECRET_PATH, {"data": {"tls.key": ""}}, content_type=MERGE)
        after = eventually(lambda: bundle(own), lambda found: found["tls.key"] != b"")
        assert after["ca.crt"].endswith(before["ca.crt"])
        assert after["ca.crt"].count(b"BEGIN") == before["ca.crt"].count(b"BEGIN") + 1
        eventually(webhooks.certificate, lambda served: served == after["tls.crt"], timeout=20.0)
        count = len(answers)
        eventually(lambda: len(answers), lambda number: number > count + 20)
    finally:
        ended.set()
        asking.join()
    assert set(answers) == {201}


@pytest.fixture(scope="module")
def bare() -> Iterator[ControlPlane]:
    """A cluster whose webhooks begin and end with a test."""
    with ControlPlane.start(controller_manager=False) as started:
        install(started)
        yield started


def test_the_secret_of_somebody_else_is_not_touched(bare: ControlPlane) -> None:
    bare.request("DELETE", SECRET_PATH)
    foreign = {"metadata": {"name": SECRET}, "type": "Opaque", "stringData": {"tls.crt": "mine"}}
    version = bare.create(SECRET_PATH.removesuffix(f"/{SECRET}"), foreign)["metadata"]["resourceVersion"]
    before = configurations(bare)
    waiting = Webhooks(bare)
    waiting.start()
    try:
        problem = eventually(waiting.problem, lambda text: "of type Opaque" in text)
        assert problem == (
            f"certificates are not ready yet: secret {NAMESPACE}/{SECRET} is of type Opaque, not "
            "kubernetes.io/tls: delete it, or name another in server.webhooks.secretName"
        )
        assert bare.request("GET", SECRET_PATH)[1]["metadata"]["resourceVersion"] == version
        assert configurations(bare) == before
        bare.request("DELETE", SECRET_PATH)
        eventually(waiting.problem, lambda text: not text, timeout=30.0)
    finally:
        waiting.close()


def test_an_empty_secret_is_filled(bare: ControlPlane) -> None:
    """As charts render it."""
    bare.request("DELETE", SECRET_PATH)
    empty = {"metadata": {"name": SECRET}, "type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}}
    bare.create(SECRET_PATH.removesuffix(f"/{SECRET}"), empty)
    with Webhooks(bare) as running:
        assert bundle(bare)["tls.crt"] == running.certificate()


def test_replicas_share_one_certificate(bare: ControlPlane) -> None:
    bare.request("DELETE", SECRET_PATH)
    first, second = Webhooks(bare), Webhooks(bare)
    first.start()  # both find no Secret
    try:
        with second:
            eventually(first.problem, lambda text: not text, timeout=30.0)
            assert bundle(bare)["tls.crt"] == first.certificate() == second.certificate()
            bare.request("DELETE", SECRET_PATH)
            eventually(
                lambda: (bare.request("GET", SECRET_PATH)[0] == 200 and bundle(bare)["tls.crt"], first.certificate()),
                lambda seen: seen[0] == seen[1] == second.certificate(),
            )
    finally:
        first.close()


def test_after_a_restart_nothing_is_issued_or_written_again(bare: ControlPlane) -> None:
    port = free_port()
    with Webhooks(bare, port=port) as running:
        certificate, registered = running.certificate(), configurations(bare)
    with Webhooks(bare, port=port) as running:
        assert running.certificate() == certificate
    assert configurations(bare) == registered


# Registration


def test_what_is_deleted_comes_back(bare: ControlPlane) -> None:
    with Webhooks(bare, authorizes=True) as running:
        first = configurations(bare)
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/podcliqueset-validating-webhook"
        bare.request("DELETE", path)
        back = eventually(lambda: bare.request("GET", path), lambda answer: answer[0] == 200)[1]
        assert f":{running.port}/" in back["webhooks"][0]["clientConfig"]["url"]
        others = {name: one for name, one in configurations(bare).items() if name != "podcliqueset-validating-webhook"}
        assert others == {name: one for name, one in first.items() if name in others}


def test_an_authorizer_that_is_turned_off_is_taken_away(bare: ControlPlane) -> None:
    with Webhooks(bare, authorizes=True):
        assert "authorizer-webhook" in configurations(bare)
    with Webhooks(bare):
        assert "authorizer-webhook" not in configurations(bare)


def test_the_webhooks_go_with_the_operators_role() -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    owner = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": CLUSTER_ROLE}
    with ControlPlane.start() as cluster:
        install(cluster)
        role = cluster.create(roles, {"metadata": {"name": CLUSTER_ROLE}, "rules": []})
        with Webhooks(cluster):
            held = configurations(cluster)
            assert held
            for one in held.values():
                assert one["metadata"]["ownerReferences"] == [{**owner, "uid": role["metadata"]["uid"]}]
        cluster.request("DELETE", f"{roles}/{CLUSTER_ROLE}")
        eventually(lambda: configurations(cluster), lambda left: not left, timeout=90.0)
