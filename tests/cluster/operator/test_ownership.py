"""Objects of others that have our names: they are told of, and never adopted, overwritten or deleted."""

from typing import Any

import pytest

from tests.cluster.operator.manifests import pods_of, served
from tests.cluster.operator.workloads import CLIQUES, GANGS, GROUPS, PATHS, SETS, Workloads

JSON = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
POD_SPEC = {"containers": [{"name": "main", "image": "theirs:v1"}]}
FOREIGN: dict[str, tuple[str, JSON]] = {
    "services": ("mine-0", {"spec": {"clusterIP": "None", "selector": {"app": "theirs"}}}),
    CLIQUES: ("mine-0-router", {"spec": {"roleName": "theirs", "replicas": 1, "minAvailable": 1, "podSpec": POD_SPEC}}),
    GROUPS: ("mine-0-model", {"spec": {"replicas": 1, "minAvailable": 1, "cliqueNames": ["theirs"]}}),
    "roles": ("grove.io:pcs:mine", {"rules": []}),
    "rolebindings": ("grove.io:pcs:mine", {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "theirs"}}),
    "horizontalpodautoscalers": (
        "mine-0-router",
        {
            "spec": {
                "maxReplicas": 2,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs"},
            }
        },
    ),
    GANGS: (
        "mine-0",
        {"spec": {"podgroups": [{"name": "theirs", "minReplicas": 1, "podReferences": []}]}},
    ),
}
KINDS: dict[str, JSON] = {
    CLIQUES: {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique"},
    GROUPS: {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueScalingGroup"},
    GANGS: {"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang"},
}


def with_everything() -> JSON:
    """A set with children of all kinds."""
    pcs = served("mine", copies=1, template={"cliqueStartupType": "CliqueStartupTypeInOrder"})
    pcs["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"] = {"minReplicas": 2, "maxReplicas": 3}
    return pcs


@pytest.mark.parametrize("kind", sorted(FOREIGN))
def test_a_foreign_object_is_told_of_and_left_alone(workloads: Workloads, kind: str) -> None:
    name, body = FOREIGN[kind]
    body = {"metadata": {"name": name, "labels": {"app": "theirs"}}, **KINDS.get(kind, {}), **body}
    path = f"{PATHS[kind]}/namespaces/{workloads.namespace}/{kind}"
    theirs = workloads.cluster.create(path, body)
    workloads.apply(with_everything())
    told = workloads.when(
        SETS,
        "mine",
        lambda one: any(name in error["description"] for error in one.get("status", {}).get("lastErrors", ())),
        "the set does not tell of the foreign object",
    )
    [error] = [one for one in told["status"]["lastErrors"] if name in one["description"]]
    assert "does not belong to" in error["description"]
    left = workloads.get(kind, name)
    assert left is not None
    assert left["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert all(left[field] == theirs[field] for field in ("spec", "rules", "roleRef") if field in theirs)
    assert "ownerReferences" not in left["metadata"]
    # Once it is gone, everything comes by itself, and the error goes.
    workloads.kubectl.run("delete", kind, name, "--wait=false")
    workloads.ready("mine", pods_of("mine", copies=1))
    workloads.when(SETS, "mine", lambda one: not one["status"].get("lastErrors"), "the error stays")


def test_deleting_a_set_leaves_foreign_objects_alone(workloads: Workloads) -> None:
    path = f"{PATHS['services']}/namespaces/{workloads.namespace}/services"
    workloads.cluster.create(path, {"metadata": {"name": "mine-0"}, "spec": {"clusterIP": "None"}})
    workloads.apply(served("mine", copies=1))
    workloads.when(SETS, "mine", lambda one: one.get("status", {}).get("lastErrors"))
    workloads.delete("mine")
    assert workloads.names("services") == ["mine-0"]
