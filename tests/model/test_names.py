"""Generated names: labels and host names every one, the same each time, and told apart."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grove.api import admission, codec, grammar, names, outline
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from tests.model import strategies

POLICY = Policy(topologies=strategies.TOPOLOGIES)
PART = st.from_regex(r"[a-z]([a-z0-9-]{0,40}[a-z0-9])?", fullmatch=True)
INDEX = st.integers(0, 10**6)


def made_of(document: dict[str, Any]) -> PodCliqueSet:
    verdict = admission.review(document, POLICY)
    assert verdict.allowed, [str(error) for error in verdict.errors]
    return codec.decode(verdict.admitted, PodCliqueSet)


def cliques_of(pcs: PodCliqueSet) -> Iterator[tuple[str, int]]:
    for gang in outline.gangs_of(pcs):
        for clique in gang.cliques:
            yield clique.name, clique.pods


@given(PART, INDEX, PART, INDEX, PART)
def test_every_name_is_a_label(pcs: str, replica: int, group: str, copy: int, clique: str) -> None:
    for name in (
        names.standalone_clique(pcs, replica, clique),
        names.member_clique(pcs, replica, group, copy, clique),
        names.scaling_group(pcs, replica, group),
        names.scaling_group_replica(pcs, replica, group, copy),
        names.base_gang(pcs, replica),
        names.scaled_gang(pcs, replica, group, copy),
        names.headless_service(pcs, replica),
        names.compute_domain(pcs, replica, group),
        names.token_secret(pcs),
        names.shared_claim(names.scaling_group(pcs, replica, group), clique),
    ):
        assert grammar.is_label(name), name


@given(PART, INDEX, PART, INDEX)
def test_host_names_and_pod_names_fit(pcs: str, replica: int, clique: str, pod: int) -> None:
    fqn = names.standalone_clique(pcs, replica, clique)
    assert grammar.is_label(names.hostname(fqn, pod))
    assert names.hostname(fqn, pod).endswith(f"-{pod}")
    assert names.pod_generate_name(fqn) or grammar.is_label(names.pod_name(fqn, "x7k2p"))


@given(PART, INDEX, PART, st.integers(0, 999))
def test_peers_can_compose_the_host_name_up_to_a_thousand_pods(pcs: str, replica: int, clique: str, pod: int) -> None:
    """Programs address each other as $GROVE_PCLQ_NAME-<index>: what is added may never change what stands before."""
    fqn = names.standalone_clique(pcs, replica, clique)
    assert names.hostname(fqn, pod) == f"{fqn}-{pod}"


@given(strategies.podcliquesets())
def test_no_two_objects_of_an_accepted_set_have_the_same_name(document: dict[str, Any]) -> None:
    pcs = made_of(document)
    gangs = [gang.name for gang in outline.gangs_of(pcs)]
    cliques = [name for name, _ in cliques_of(pcs)]
    hosts = [names.hostname(name, pod) for name, pods in cliques_of(pcs) for pod in range(pods)]
    for made in (gangs, cliques, hosts):
        assert len(made) == len(set(made))
        assert all(map(grammar.is_label, made))
