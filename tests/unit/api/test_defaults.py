"""What defaulting fills in, and what it takes from the stored object."""

from typing import Any

from msgspec.structs import replace

from grove.api import admission
from grove.api.kinds.operatorconfig import PodDefaults
from grove.api.policy import Policy


def manifest(**clique: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "main:v1", **clique.pop("container", {})}
    spec = {"replicas": 2, "podSpec": {"containers": [container]}, **clique}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "x"},
        "spec": {"replicas": 1, "template": {"cliques": [{"name": "main", "spec": spec}]}},
    }


def admitted(document: dict[str, Any], policy: Policy | None = None, old: dict[str, Any] | None = None) -> Any:
    verdict = admission.review(document, policy or Policy(), old)
    assert verdict.allowed, [str(error) for error in verdict.errors]
    return verdict.admitted


def clique_of(document: dict[str, Any]) -> Any:
    return document["spec"]["template"]["cliques"][0]["spec"]


def test_everything_that_was_left_out_is_filled_in() -> None:
    whole = admitted(manifest(autoScalingConfig={"maxReplicas": 5}))
    assert whole["metadata"] == {"name": "x", "namespace": "default"}
    template = whole["spec"]["template"]
    assert template["terminationDelay"] == "4h0m0s"
    assert template["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
    assert template["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"
    clique = clique_of(whole)
    assert (clique["roleName"], clique["minAvailable"]) == ("main", 2)
    assert clique["autoScalingConfig"] == {"minReplicas": 2, "maxReplicas": 5}
    assert clique["podSpec"]["restartPolicy"] == "Always"
    assert clique["podSpec"]["terminationGracePeriodSeconds"] == 30


def test_zero_replicas_of_a_clique_become_one_before_anything_is_derived_from_them() -> None:
    clique = clique_of(admitted(manifest(replicas=0, autoScalingConfig={"maxReplicas": 2})))
    assert (clique["replicas"], clique["minAvailable"], clique["autoScalingConfig"]["minReplicas"]) == (1, 1, 1)


def test_a_manifest_that_never_stated_min_available_may_change_replicas() -> None:
    """Server-side apply leaves out what the user did not state; the old default must not become an error."""
    stored = admitted(manifest(replicas=2))
    assert clique_of(admitted(manifest(replicas=4), old=stored))["minAvailable"] == 2


def test_a_role_name_that_was_stated_once_stays_when_it_is_left_out() -> None:
    stored = admitted(manifest(roleName="leader"))
    assert clique_of(admitted(manifest(), old=stored))["roleName"] == "leader"


def test_pods_are_left_alone_unless_the_configuration_states_pod_defaults() -> None:
    container = clique_of(admitted(manifest()))["podSpec"]["containers"][0]
    assert container == {"name": "main", "image": "main:v1"}


def test_pod_defaults_fill_in_requests_and_a_port_where_none_are_stated() -> None:
    policy = replace(Policy(), pod_defaults=PodDefaults(requests={"cpu": "100m"}, port_name="rpc", port=8080))
    container = clique_of(admitted(manifest(), policy))["podSpec"]["containers"][0]
    assert container["resources"] == {"requests": {"cpu": "100m"}}
    assert container["ports"] == [{"name": "rpc", "containerPort": 8080, "protocol": "TCP"}]


def test_pod_defaults_never_override_what_is_stated() -> None:
    stated = {"resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}
    policy = replace(Policy(), pod_defaults=PodDefaults(requests={"cpu": "100m"}, port=8080))
    container = clique_of(admitted(manifest(container=stated), policy))["podSpec"]["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert [port["containerPort"] for port in container["ports"]] == [80]


def test_devices_with_only_a_request_get_the_limit_that_kubernetes_demands() -> None:
    document = manifest(container={"resources": {"requests": {"nvidia.com/gpu": 1, "cpu": "2"}}})
    verdict = admission.review(document, Policy())
    resources = clique_of(verdict.admitted)["podSpec"]["containers"][0]["resources"]
    assert resources == {"requests": {"nvidia.com/gpu": 1, "cpu": "2"}, "limits": {"nvidia.com/gpu": 1}}
    (warning,) = verdict.warnings
    assert str(warning.path).endswith("containers[0].resources.limits[nvidia.com/gpu]")


def test_in_strict_mode_a_device_without_a_limit_is_refused() -> None:
    document = manifest(roleName="main", container={"resources": {"requests": {"nvidia.com/gpu": 1}}})
    assert not admission.review(document, Policy(mode="strict")).allowed


def test_the_given_document_is_not_changed() -> None:
    document = manifest(container={"resources": {"requests": {"nvidia.com/gpu": 1}}})
    admitted(document)
    assert document == manifest(container={"resources": {"requests": {"nvidia.com/gpu": 1}}})


def test_a_pod_gang_set_is_a_gang_of_all_its_pods_unless_it_says_otherwise() -> None:
    document = {
        "apiVersion": "grove.dynamo.ai/v1",
        "kind": "PodGangSet",
        "metadata": {"name": "x"},
        "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}},
    }
    assert admitted(document)["spec"]["minAvailable"] == 3
