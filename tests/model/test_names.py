"""Names of what is made from a PodCliqueSet, and how much of it there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grove.api import admission, codec, grammar, names, outline
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scaling import ResourceSharing
from tests.model.strategies import JSON, POLICY, podcliquesets, podcliquesets_of_risky_names

parts = st.text("abc-01", min_size=1, max_size=63).filter(grammar.is_label)
indices = st.integers(0, 12000)


def made(pcs: str, i: int, group: str, j: int, clique: str) -> dict[str, str]:
    """A name of every kind."""
    standalone, member = names.standalone_clique(pcs, i, clique), names.member_clique(pcs, i, group, j, clique)
    return {
        "clique": standalone,
        "member": member,
        "group": names.scaling_group(pcs, i, group),
        "copy": names.scaling_group_replica(pcs, i, group, j),
        "base gang": names.base_gang(pcs, i),
        "scaled gang": names.scaled_gang(pcs, i, group, j),
        "service": names.headless_service(pcs, i),
        "host": names.hostname(standalone, j),
        "pod": names.pod_name(member, "x2x4z"),
        "account": names.service_account(pcs),
        "secret": names.token_secret(pcs),
        "claim": names.shared_claim(member, group),
        "claim of a replica": names.replica_claim(names.scaling_group(pcs, i, group), j, clique),
        "domain": names.compute_domain(pcs, i, group),
    }


WITHOUT_REPLICA = {"account", "secret"}
WITHOUT_COPY = {"clique", "group", "base gang", "service", "domain"} | WITHOUT_REPLICA


@settings(max_examples=200)
@given(parts, indices, parts, indices, parts)
def test_every_name_is_a_dns_label_and_the_same_every_time(pcs: str, i: int, group: str, j: int, clique: str) -> None:
    for what, name in made(pcs, i, group, j, clique).items():
        assert grammar.is_label(name), what
    assert made(pcs, i, group, j, clique) == made(pcs, i, group, j, clique)
    assert len(names.member_clique(pcs, i, group, j, clique)) <= names.CLIQUE_LIMIT
    assert grammar.is_label_value(names.role_label(pcs))


@settings(max_examples=200)
@given(parts, parts, parts, st.integers(0, 999), st.integers(0, 999))
def test_different_indices_give_different_names(pcs: str, group: str, clique: str, one: int, other: int) -> None:
    assume(one != other)
    first, by_replica, by_copy = (
        made(pcs, *at) for at in ((one, group, 0, clique), (other, group, 0, clique), (one, group, 1, clique))
    )
    assert {what for what in first if first[what] == by_replica[what]} == WITHOUT_REPLICA
    assert {what for what in first if first[what] == by_copy[what]} == WITHOUT_COPY


@given(st.text("ab-", min_size=1, max_size=80), st.integers(20, 63))
def test_what_fits_is_kept_and_what_does_not_fit_fills_no_more_than_its_room(name: str, limit: int) -> None:
    short = names.shorten(name, limit)
    assert (short == name) is (len(name) <= limit)
    assert len(short) <= limit


@given(parts, st.integers(0, 9), parts)
def test_the_api_server_names_pods_wherever_it_keeps_the_dash(pcs: str, replica: int, clique: str) -> None:
    name = names.standalone_clique(pcs, replica, clique)
    assert names.pod_generate_name(name) == (f"{name}-" if len(name) <= 57 else None)


@given(parts, st.integers(0, 9), parts, st.integers(0, 999))
def test_peers_can_compose_the_host_name_up_to_a_thousand_pods(pcs: str, replica: int, clique: str, pod: int) -> None:
    """Programs address each other as $GROVE_PCLQ_NAME-<index>: what is added may never change what stands before."""
    name = names.standalone_clique(pcs, replica, clique)
    assert names.hostname(name, pod) == f"{name}-{pod}"


@given(podcliquesets())
def test_no_two_things_of_a_set_have_one_name(tree: JSON) -> None:
    verdict = admission.review(tree, POLICY)
    assert verdict.errors == ()
    _check_distinct(codec.decode(verdict.admitted, PodCliqueSet))


@settings(max_examples=400)
@given(podcliquesets_of_risky_names())
def test_no_two_things_of_an_accepted_set_have_one_name(tree: JSON) -> None:
    verdict = admission.review(tree, POLICY)
    if verdict.allowed:
        _check_distinct(codec.decode(verdict.admitted, PodCliqueSet))
    else:
        assert {error.path.steps[-1] for error in verdict.errors} == {"name"}


def _check_distinct(pcs: PodCliqueSet) -> None:
    for kind in (_cliques, _hosts, _gangs, _autoscalers, _claims):
        assert [name for name, count in Counter(kind(pcs)).items() if count > 1] == []


def _copies(pcs: PodCliqueSet) -> Iterator[tuple[int, str, int, str]]:
    """Replica, group, copy and clique of every member, with as many copies as names can tell apart by chance."""
    for replica in (0, 1, 10):
        for group in pcs.spec.template.pod_clique_scaling_groups:
            for copy in (0, 1, 2, 10):
                for clique in group.clique_names:
                    yield replica, group.name, copy, clique


def _standalone(pcs: PodCliqueSet) -> list[str]:
    members = {name for group in pcs.spec.template.pod_clique_scaling_groups for name in group.clique_names}
    return [clique.name for clique in pcs.spec.template.cliques if clique.name not in members]


def _cliques(pcs: PodCliqueSet) -> Iterator[str]:
    name = pcs.metadata.name
    for replica in (0, 1, 10):
        for clique in _standalone(pcs):
            yield names.standalone_clique(name, replica, clique)
    for replica, group, copy, clique in _copies(pcs):
        yield names.member_clique(name, replica, group, copy, clique)


def _hosts(pcs: PodCliqueSet) -> Iterator[str]:
    for name in _cliques(pcs):
        yield from (names.hostname(name, index) for index in (0, 1, 10))


def _gangs(pcs: PodCliqueSet) -> Iterator[str]:
    for replica in (0, 1, 10):
        yield names.base_gang(pcs.metadata.name, replica)
        for group in pcs.spec.template.pod_clique_scaling_groups:
            for number in (0, 1, 2, 10):
                yield names.scaled_gang(pcs.metadata.name, replica, group.name, number)


def _autoscalers(pcs: PodCliqueSet) -> Iterator[str]:
    template, name = pcs.spec.template, pcs.metadata.name
    standalone = _standalone(pcs)
    for replica in (0, 1, 10):
        for clique in template.cliques:
            if clique.spec.auto_scaling_config and clique.name in standalone:
                yield names.standalone_clique(name, replica, clique.name)
        for group in template.pod_clique_scaling_groups:
            if group.scale_config:
                yield names.scaling_group(name, replica, group.name)


def _claims(pcs: PodCliqueSet) -> Iterator[str]:
    template, name = pcs.spec.template, pcs.metadata.name
    sharing = {clique.name: clique.resource_sharing for clique in template.cliques}
    yield from _claims_of(name, template.resource_sharing)
    for replica in (0, 1, 10):
        for group in template.pod_clique_scaling_groups:
            yield from _claims_of(names.scaling_group(name, replica, group.name), group.resource_sharing)
        for clique in _standalone(pcs):
            yield from _claims_of(names.standalone_clique(name, replica, clique), sharing[clique])
    for replica, group_name, copy, clique in _copies(pcs):
        yield from _claims_of(names.member_clique(name, replica, group_name, copy, clique), sharing[clique])


def _claims_of(owner: str, entries: tuple[ResourceSharing, ...]) -> Iterator[str]:
    for entry in entries:
        if entry.scope == "AllReplicas":
            yield names.shared_claim(owner, entry.name)
        else:
            yield from (names.replica_claim(owner, index, entry.name) for index in (0, 1, 10))


@given(podcliquesets())
def test_the_outline_counts_what_the_manifest_says(tree: JSON) -> None:
    admitted = admission.review(tree, POLICY).admitted
    template, replicas = admitted["spec"]["template"], admitted["spec"]["replicas"]
    pods_of = {clique["name"]: clique["spec"]["replicas"] for clique in template["cliques"]}
    copies = dict.fromkeys(pods_of, 1)
    scaled = 0
    for group in template.get("podCliqueScalingGroups", ()):
        copies |= dict.fromkeys(group["cliqueNames"], group["replicas"])
        scaled += group["replicas"] - group["minAvailable"]
    pods = replicas * sum(pods_of[name] * copies[name] for name in pods_of)

    pcs = codec.decode(admitted, PodCliqueSet)
    gangs = outline.gangs_of(pcs)
    assert sum(gang.pods for gang in gangs) == pods
    assert sum(gang.scaled for gang in gangs) == replicas * scaled
    assert len(gangs) == replicas * (1 + scaled)
    assert outline.totals(pcs) == outline.Totals(replicas, replicas * scaled, pods)
    assert all(clique.least <= clique.pods for gang in gangs for clique in gang.cliques)
    assert outline.sentence(admitted).startswith(f"{pods} pod")
