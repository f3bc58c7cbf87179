"""Generated PodCliqueSets: valid as users could write them, valid ones with a part broken, and trees of any shape."""

from __future__ import annotations

import copy
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

JSON = dict[str, Any]

TOPOLOGY: Final = ("zone", "block", "rack", "host")
TOPOLOGIES: Final = {"gpus": TOPOLOGY}

FIELDS: Final = ("name", "spec", "replicas", "template", "cliques", "podSpec")

names: SearchStrategy[str] = st.from_regex(r"[a-z]([a-z0-9]{0,6}[a-z0-9])?(-[a-z0-9]{1,4}){0,2}", fullmatch=True)
long_names: SearchStrategy[str] = st.from_regex(r"[a-z][a-z0-9]{12,24}", fullmatch=True)
label_maps: SearchStrategy[dict[str, str]] = st.dictionaries(
    st.sampled_from(["app", "tier", "example.com/team"]), st.sampled_from(["", "a", "b-1"]), max_size=2
)
durations: SearchStrategy[str] = st.sampled_from(["30s", "4h", "1h30m", "250ms", "90m0s"])
quantities: SearchStrategy[str | int] = st.sampled_from(["1", "500m", "2", 4, "1.5"])


@st.composite
def containers(draw: st.DrawFn, name: str) -> JSON:
    container: JSON = {"name": name, "image": draw(st.sampled_from(["a:v1", "b:v2"]))}
    if draw(st.booleans()):
        container["resources"] = {"requests": {"cpu": draw(quantities)}}
    if draw(st.booleans()):
        container["resources"] = {"limits": {"nvidia.com/gpu": draw(st.integers(1, 8))}}
    if draw(st.booleans()):
        container["env"] = [{"name": "A", "value": draw(st.sampled_from(["", "x"]))}]
    if draw(st.booleans()):
        container["ports"] = [{"containerPort": draw(st.integers(1, 65535))}]
    return container


@st.composite
def pod_specs(draw: st.DrawFn) -> JSON:
    count = draw(st.integers(1, 2))
    spec: JSON = {"containers": [draw(containers(f"c{number}")) for number in range(count)]}
    if draw(st.booleans()):
        spec["tolerations"] = [{"key": "fake-node", "operator": "Exists", "effect": "NoSchedule"}]
    if draw(st.booleans()):
        spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    if draw(st.booleans()):
        spec["restartPolicy"] = draw(st.sampled_from(["Always", "OnFailure", "Never"]))
    if draw(st.booleans()):
        spec["nodeSelector"] = draw(label_maps)
    return spec


def constraints(coarsest: int) -> SearchStrategy[JSON]:
    """A topology constraint no wider than a level."""

    def build(required: int, preferred: int | None, deprecated: bool) -> JSON:
        if deprecated:
            return {"topologyName": "gpus", "packDomain": TOPOLOGY[required]}
        pack = {"required": TOPOLOGY[required]}
        if preferred is not None:
            pack["preferred"] = TOPOLOGY[max(required, preferred)]
        return {"topologyName": "gpus", "pack": pack}

    level = st.integers(coarsest, len(TOPOLOGY) - 1)
    return st.builds(build, level, st.one_of(st.none(), level), st.booleans())


@st.composite
def autoscaling(draw: st.DrawFn, replicas: int) -> JSON:
    config: JSON = {"maxReplicas": replicas + draw(st.integers(0, 4))}
    if draw(st.booleans()):
        config["minReplicas"] = draw(st.integers(1, replicas))
    return config


@st.composite
def clique_templates(draw: st.DrawFn, name: str, *, member: bool, after: list[str], with_topology: bool) -> JSON:
    replicas = draw(st.integers(1, 5))
    spec: JSON = {"replicas": replicas, "podSpec": draw(pod_specs())}
    clique: JSON = {"name": name, "spec": spec}
    if draw(st.booleans()):
        spec["minAvailable"] = draw(st.integers(1, replicas))
    if draw(st.booleans()):
        spec["roleName"] = name
    if draw(st.booleans()) and after:
        dependencies: list[str] = draw(st.lists(st.sampled_from(after), unique=True, max_size=2))
        spec["startsAfter"] = dependencies
    if not member and draw(st.booleans()):
        spec[draw(st.sampled_from(["autoScalingConfig", "scaleConfig"]))] = draw(autoscaling(replicas))
    if not member and draw(st.booleans()):
        clique["rollingUpdate"] = {"maxUnavailable": draw(st.integers(1, replicas)), "progressDeadline": "10m"}
    if draw(st.booleans()):
        clique["labels"] = draw(label_maps)
    if draw(st.booleans()):
        clique["annotations"] = draw(label_maps)
    if with_topology and draw(st.booleans()):
        clique["topologyConstraint"] = draw(constraints(2))
    return clique


@st.composite
def scaling_groups(draw: st.DrawFn, name: str, members: list[str], with_topology: bool) -> JSON:
    replicas = draw(st.integers(1, 4))
    group: JSON = {"name": name, "cliqueNames": members, "replicas": replicas}
    if draw(st.booleans()):
        group["minAvailable"] = draw(st.integers(1, replicas))
    if draw(st.booleans()):
        group[draw(st.sampled_from(["scaleConfig", "autoScalingConfig"]))] = draw(autoscaling(replicas))
    if with_topology and draw(st.booleans()):
        group["topologyConstraint"] = {"pack": {"required": draw(st.sampled_from(TOPOLOGY[:3]))}}
    if draw(st.booleans()):
        group["resourceSharing"] = [{"name": "fabric", "scope": "PerReplica", "filter": {"childCliqueNames": members}}]
    return group


@st.composite
def podcliquesets(draw: st.DrawFn) -> JSON:
    """A PodCliqueSet that the lenient mode accepts."""
    every_name: list[str] = draw(st.lists(names | long_names, min_size=1, max_size=5, unique=True))
    # Words of digits are left to the table: only there do they collide with indices on purpose.
    cliques = [f"{name}x" for name in every_name]
    split = draw(st.integers(0, len(cliques)))
    members, groups = cliques[:split], []
    topology = draw(st.booleans())
    if members:
        groups.append(draw(scaling_groups("group", members, topology)))
    template: JSON = {
        "cliques": [
            draw(
                clique_templates(
                    name, member=name in members, after=cliques[:position], with_topology=topology and name in members
                )
            )
            for position, name in enumerate(cliques)
        ]
    }
    if groups:
        template["podCliqueScalingGroups"] = groups
        template["resourceClaimTemplates"] = [
            {
                "name": "fabric",
                "templateSpec": {
                    "spec": {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": "nic.example"}}]}}
                },
            }
        ]
    if topology:
        template["topologyConstraint"] = {"topologyName": "gpus", "pack": {"required": "zone"}}
    startup = draw(st.sampled_from([None, "AnyOrder", "CliqueStartupTypeInOrder", "Explicit"]))
    if startup:
        template[draw(st.sampled_from(["startupType", "cliqueStartupType"]))] = startup
    if draw(st.booleans()):
        template["terminationDelay"] = draw(durations)
    if draw(st.booleans()):
        template["priorityClassName"] = "high"
    if draw(st.booleans()):
        key = draw(st.sampled_from(["networkPackGroups", "networkPackGroupConfigs"]))
        template["schedulingPolicyConfig"] = {key: [{"cliqueNames": cliques[:2]}]}
    spec: JSON = {"replicas": draw(st.integers(0, 3)), "template": template}
    if draw(st.booleans()):
        spec["updateStrategy"] = {"type": "RollingRecreate"}
    if draw(st.booleans()):
        spec["replicaSpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ]
    metadata: JSON = {"name": draw(st.one_of(names, long_names)), "namespace": draw(names)}
    if draw(st.booleans()):
        metadata["labels"] = draw(label_maps)
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": metadata, "spec": spec}


trees: SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False),
        st.text(max_size=8),
        st.sampled_from(["a", "PodCliqueSet", "grove.io/v1alpha1", "4Gi", "30s", "\ud800"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from(["name", "spec", "replicas", "template", "cliques", "podSpec"]), st.text(max_size=5)
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
"""Trees of any shape that JSON can say."""


def paths_of(node: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values in a tree."""
    inside: Any = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = [before] if before else []
    for step, value in inside:
        found += paths_of(value, (*before, step))
    return found


@st.composite
def broken(draw: st.DrawFn) -> JSON:
    """A valid PodCliqueSet with some values replaced by others of any shape."""
    tree: JSON = copy.deepcopy(draw(podcliquesets()))
    for _ in range(draw(st.integers(1, 3))):
        *steps, last = draw(st.sampled_from(paths_of(tree)))
        node: Any = tree
        for step in steps:
            node = node[step]
        node[last] = draw(trees)
    return tree
