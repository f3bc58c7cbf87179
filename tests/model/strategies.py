"""Generated manifests: PodCliqueSets that are valid by construction, and trees that are anything."""

from __future__ import annotations

import copy
import functools
import typing
from collections.abc import Sequence
from typing import Any, Final, Literal

from hypothesis import strategies as st

from grove.api.fields import Field, Struct, fields_of, is_struct, unwrap
from grove.api.policy import Policy

JSON = dict[str, Any]
Place = tuple[str | int, ...]

TOPOLOGY: Final = "gpus"
DOMAINS: Final = ("zone", "block", "rack", "host")
POLICY: Final = Policy(topologies={TOPOLOGY: DOMAINS})
"""Under which the generated PodCliqueSets are valid."""

STARTUP_TYPES: Final = ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit")

# Only letters: a word that is a number could be taken for an index, and "all" stands in the names of claims.
words = st.text("bcdefg", min_size=1, max_size=6)
names = st.lists(words, min_size=1, max_size=3).map("-".join)
long_names = st.text("abcdefghij", min_size=40, max_size=63)
labels = st.dictionaries(
    st.sampled_from(["app", "example.com/team", "tier", "protocol", "limits"]),
    st.sampled_from(["", "a", "TCP", "v1.2", "Always"]),
    max_size=3,
)
notes = st.dictionaries(st.sampled_from(["note", "example.com/owner", "env"]), st.text(max_size=8), max_size=3)
counts = st.integers(1, 6)
durations = st.sampled_from(["30s", "4h", "1h30m", "1.5h", "250ms"])


def chance(numerator: int = 1, denominator: int = 2) -> st.SearchStrategy[bool]:
    """True that often."""
    return st.integers(0, denominator - 1).map(lambda drawn: drawn < numerator)


@st.composite
def pod_specs(draw: st.DrawFn) -> JSON:
    """Pod specs that Kubernetes accepts."""
    container: JSON = {"name": "main", "image": draw(st.sampled_from(["busybox", "server:v1", "example.com/a@b"]))}
    if draw(chance()):
        container["command"] = draw(st.lists(st.text(max_size=5), max_size=3))
    if draw(chance()):
        container["env"] = [{"name": name, "value": draw(st.text(max_size=5))} for name in ("MODE", "LEVEL")]
    if draw(chance()):
        container["ports"] = [
            {"containerPort": port} for port in draw(st.lists(st.integers(1, 65535), max_size=3, unique=True))
        ]
    if draw(chance()):
        container["resources"] = {"limits": {"nvidia.com/gpu": draw(st.integers(1, 8)), "cpu": "500m"}}
    spec: JSON = {"containers": [container]}
    if draw(chance()):
        sidecar = {"name": "first", "image": "busybox"} | draw(st.sampled_from([{}, {"restartPolicy": "Always"}]))
        spec["initContainers"] = [sidecar]
    if draw(chance()):
        spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    if draw(chance()):
        spec["nodeSelector"] = draw(labels)
    if draw(chance()):
        spec["terminationGracePeriodSeconds"] = draw(st.sampled_from([0, 30, 60]))
    if draw(chance()):
        spec["restartPolicy"] = draw(st.sampled_from(["Always", "OnFailure", "Never"]))
    return spec


@st.composite
def podcliquesets(draw: st.DrawFn) -> JSON:
    """PodCliqueSets that are accepted as new ones in lenient mode."""
    all_names = draw(st.lists(names, min_size=1, max_size=7, unique=True))
    number = draw(st.integers(1, len(all_names)))
    clique_names, group_names = all_names[:number], all_names[number:]
    owner = _owners(draw, clique_names, group_names)
    group_names = [name for name in group_names if name in owner.values()]
    template: JSON = {"cliques": [_clique(draw, name, name in owner) for name in clique_names]}
    if group_names:
        template["podCliqueScalingGroups"] = [
            _group(draw, name, [clique for clique in clique_names if owner.get(clique) == name]) for name in group_names
        ]
    _start(draw, template)
    _place(draw, template, owner)
    _share(draw, template)
    if draw(chance(1, 4)):
        spelling = draw(st.sampled_from(["networkPackGroups", "networkPackGroupConfigs"]))
        template["schedulingPolicyConfig"] = {spelling: [{"cliqueNames": clique_names}]}
    if draw(chance()):
        template["terminationDelay"] = draw(durations)
    if draw(chance()):
        template["priorityClassName"] = draw(words)
    if draw(chance()):
        template["headlessServiceConfig"] = draw(
            st.sampled_from([{}, {"enabled": False}, {"publishNotReadyAddresses": False}])
        )
    metadata: JSON = {"name": draw(st.one_of(names, long_names))}
    if draw(chance()):
        metadata |= {"labels": draw(labels), "annotations": draw(notes)}
    spec: JSON = {"replicas": draw(st.integers(0, 3)), "template": template}
    _roll(draw, spec, owner)
    if draw(chance()):
        spec["replicaSpreadConstraints"] = [
            {"maxSkew": draw(counts), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
            for key in draw(st.lists(st.sampled_from(["topology.kubernetes.io/zone", "example.com/rack"]), unique=True))
        ]
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": metadata, "spec": spec}


def _owners(draw: st.DrawFn, cliques: Sequence[str], groups: Sequence[str]) -> dict[str, str]:
    """The scaling group of each clique that is in one."""
    drawn: dict[str, str] = {name: draw(st.sampled_from(["", *groups])) for name in cliques}
    return {name: group for name, group in drawn.items() if group}


def _clique(draw: st.DrawFn, name: str, is_member: bool) -> JSON:
    replicas = draw(counts)
    spec: JSON = {"replicas": replicas, "podSpec": draw(pod_specs())}
    if draw(chance()):
        spec["minAvailable"] = draw(st.integers(1, replicas))
    if draw(chance(1, 4)):
        spec["roleName"] = f"role-of-{name}"
    if not is_member and draw(chance()):
        spec[draw(st.sampled_from(["autoScalingConfig", "scaleConfig"]))] = _autoscaling(draw, replicas)
    clique: JSON = {"name": name, "spec": spec}
    if draw(chance()):
        clique |= {"labels": draw(labels), "annotations": draw(notes)}
    return clique


def _autoscaling(draw: st.DrawFn, replicas: int) -> JSON:
    least = draw(st.one_of(st.none(), st.integers(1, 8)))
    most = max(replicas, least or 0) + draw(st.integers(0, 4))
    return {"maxReplicas": most} if least is None else {"minReplicas": least, "maxReplicas": most}


def _group(draw: st.DrawFn, name: str, members: list[str]) -> JSON:
    replicas = draw(counts)
    group: JSON = {"name": name, "cliqueNames": members, "replicas": replicas}
    if draw(chance()):
        group["minAvailable"] = draw(st.integers(1, replicas))
    if draw(chance()):
        group[draw(st.sampled_from(["autoScalingConfig", "scaleConfig"]))] = _autoscaling(draw, replicas)
    return group


def _start(draw: st.DrawFn, template: JSON) -> None:
    kind = draw(st.sampled_from(STARTUP_TYPES))
    spelling = draw(st.sampled_from([kind, kind.removeprefix("CliqueStartupType")]))
    if draw(chance()):
        template[draw(st.sampled_from(["cliqueStartupType", "startupType"]))] = spelling
    before: list[str] = []
    for clique in template["cliques"]:
        if len(before) > 0 and draw(chance()):
            clique["spec"]["startsAfter"] = draw(st.lists(st.sampled_from(before), unique=True, max_size=3))
        before.append(clique["name"])


def _place(draw: st.DrawFn, template: JSON, owner: dict[str, str]) -> None:
    """Constraints that never widen from the outside to the inside."""
    if draw(chance()):
        return
    outer = draw(st.integers(0, len(DOMAINS) - 1))
    template["topologyConstraint"] = _constraint(draw, outer) | {"topologyName": TOPOLOGY}
    level_of = {}
    for group in template.get("podCliqueScalingGroups", ()):
        level_of[group["name"]] = draw(st.integers(outer, len(DOMAINS) - 1))
        if draw(chance()):
            group["topologyConstraint"] = _constraint(draw, level_of[group["name"]])
    for clique in template["cliques"]:
        least = level_of.get(owner.get(clique["name"], ""), outer)
        if draw(chance()):
            clique["topologyConstraint"] = _constraint(draw, draw(st.integers(least, len(DOMAINS) - 1)))


def _constraint(draw: st.DrawFn, level: int) -> JSON:
    domain = DOMAINS[level]
    return copy.deepcopy(
        draw(
            st.sampled_from(
                [
                    {"pack": {"required": domain, "preferred": domain}},
                    {"packDomain": domain, "pack": {"preferred": domain}},
                ]
            )
        )
    )


def _share(draw: st.DrawFn, template: JSON) -> None:
    if draw(chance(2, 3)):
        return
    shared = draw(st.lists(words, min_size=1, max_size=3, unique=True))
    template["resourceClaimTemplates"] = [
        {
            "name": name,
            "templateSpec": {
                "spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "a.b"}}]}}
            },
        }
        for name in shared
    ]
    scopes = st.sampled_from(["AllReplicas", "PerReplica"])
    for place in (template, *template["cliques"], *template.get("podCliqueScalingGroups", ())):
        if draw(chance()):
            place["resourceSharing"] = [
                {"name": name, "scope": draw(scopes)}
                for name in draw(st.lists(st.sampled_from(shared), unique=True, max_size=2))
            ]


def _roll(draw: st.DrawFn, spec: JSON, owner: dict[str, str]) -> None:
    if draw(chance()):
        return
    spec["updateStrategy"] = {"type": draw(st.sampled_from(["RollingRecreate", "OnDelete", "Coherent"]))}
    if spec["updateStrategy"]["type"] == "OnDelete":
        return
    for clique in spec["template"]["cliques"]:
        if clique["name"] not in owner and draw(chance()):
            clique["rollingUpdate"] = {"maxUnavailable": clique["spec"]["replicas"], "progressDeadline": "10m"}
    for group in spec["template"].get("podCliqueScalingGroups", ()):
        if draw(chance()):
            group["rollingUpdate"] = {"maxUnavailable": group["replicas"]}


@st.composite
def podcliquesets_of_risky_names(draw: st.DrawFn) -> JSON:
    """PodCliqueSets whose generated names may meet; the rules decide which are accepted."""
    risky = st.lists(st.sampled_from(["a", "b", "0", "1", "10", "all"]), min_size=1, max_size=4).map("-".join)
    cliques = draw(st.lists(risky, min_size=1, max_size=5, unique=True))
    groups: list[str] = draw(st.lists(risky, max_size=3, unique=True))
    owner = _owners(draw, cliques, groups)
    scopes = st.sampled_from(["AllReplicas", "PerReplica"])

    def shared() -> list[JSON]:
        return [{"name": name, "scope": draw(scopes)} for name in draw(st.lists(risky, max_size=2, unique=True))]

    template: JSON = {
        "resourceSharing": shared(),
        "cliques": [
            {
                "name": name,
                "resourceSharing": shared(),
                "spec": {"replicas": 2, "podSpec": {"containers": [{"name": "main", "image": "a"}]}}
                | ({"autoScalingConfig": {"maxReplicas": 3}} if name not in owner and draw(chance()) else {}),
            }
            for name in cliques
        ],
        "podCliqueScalingGroups": [
            {
                "name": name,
                "cliqueNames": [clique for clique in cliques if owner.get(clique) == name],
                "replicas": 3,
                "resourceSharing": shared(),
            }
            | ({"scaleConfig": {"maxReplicas": 3}} if draw(chance()) else {})
            for name in groups
            if name in owner.values()
        ],
    }
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": draw(st.sampled_from(["a", "a-0", "b"]))},
        "spec": {"replicas": 2, "template": template},
    }


texts = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(categories=["Cs", "Nd", "Ll"]), max_size=6),
    st.sampled_from(
        ["", "1h0", "soon", "-1s", "9" * 5000 + "h", "1" * 5000, "a-²", "٣", "1e999999999", "a" * 300, "\x00"]
    ),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from([2**31, -(2**63), 2**70, 0, -1, 2.0]), texts
)
plain = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=5))
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)


def places(value: Any, here: Place = ()) -> list[Place]:
    """Where something stands in a tree, the root left out."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[Place] = []
    for step, below in inside:
        found += [(*here, step), *places(below, (*here, step))]
    return found


def at(tree: Any, place: Place) -> Any:
    """What stands at a place."""
    for step in place:
        tree = tree[step]
    return tree


def put(tree: Any, place: Place, value: Any) -> Any:
    """A copy of the tree with another value at a place."""
    changed = copy.deepcopy(tree)
    at(changed, place[:-1])[place[-1]] = value
    return changed


@st.composite
def mutated(draw: st.DrawFn, valid: st.SearchStrategy[JSON]) -> JSON:
    """A valid tree in which some parts are anything."""
    tree = draw(valid)
    for _ in range(draw(st.integers(1, 3))):
        found = places(tree)
        if found:
            place = draw(st.sampled_from(found))
            tree = put(tree, place, draw(st.one_of(trees, _like(at(tree, place)))))
    return tree


def _like(value: Any) -> st.SearchStrategy[Any]:
    """Anything of the same type, which gets past the schema."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.integers(-(2**31), 2**31 - 1)
    return texts if isinstance(value, str) else trees


@functools.cache
def structs(struct: type[Struct]) -> st.SearchStrategy[JSON]:
    """Trees of a struct with any of its declared fields, whatever their values mean."""
    fields = [
        (info.json_name, info.required or info.json_name in ("apiVersion", "kind"), _values(info.type, info.declared))
        for info in fields_of(struct)
    ]

    @st.composite
    def tree(draw: st.DrawFn) -> JSON:
        return {name: draw(value) for name, needed, value in fields if needed or draw(chance(1, 3))}

    return tree()


def _values(bare: Any, declared: Field) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if is_struct(bare):
        return structs(bare)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(_values(*unwrap(arguments[0])), max_size=2)
    if origin is dict:
        return st.dictionaries(words, plain if arguments[1] is Any else _values(*unwrap(arguments[1])), max_size=2)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: st.text(max_size=5),
        int: st.integers(-(2**31), 2**31 - 1),
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
    }
    return simple[str] if bare not in simple else simple[bare]
