"""The names of everything that Grove makes."""

from __future__ import annotations

import pytest

from grove.api import names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (names.standalone_clique("simple1", 0, "pca"), "simple1-0-pca"),
        (names.scaling_group("simple1", 0, "sga"), "simple1-0-sga"),
        (names.member_clique("simple1", 0, "sga", 1, "pcb"), "simple1-0-sga-1-pcb"),
        (names.scaling_group_replica("simple1", 0, "sga", 1), "simple1-0-sga-1"),
        (names.base_gang("simple1", 1), "simple1-1"),
        (names.scaled_gang("simple1", 0, "sga", 0), "simple1-0-sga-0"),
        (names.headless_service("simple1", 0), "simple1-0"),
        (names.service_address("simple1", 0, "default"), "simple1-0.default.svc.cluster.local"),
        (names.service_address("simple1", 0, "default", "example.com"), "simple1-0.default.svc.example.com"),
        (names.hostname("simple1-0-pca", 2), "simple1-0-pca-2"),
        (names.pod_generate_name("simple1-0-pca"), "simple1-0-pca-"),
        (names.autoscaler("simple1-0-sga"), "simple1-0-sga"),
        (names.service_account("simple1"), "simple1"),
        (names.role("simple1"), "grove.io:pcs:simple1"),
        (names.role_label("simple1"), "grove.io-pcs-simple1"),
        (names.token_secret("simple1"), "simple1-ic-sat"),
        (names.legacy_token_secret("simple1"), "simple1-initc-sa-token-secret"),
        (names.shared_claim("simple1-0-sga", "nic"), "simple1-0-sga-all-nic"),
        (names.replica_claim("simple1", 0, "nic"), "simple1-0-nic"),
        (names.compute_domain("simple1", 0, "training"), "simple1-0-training"),
    ],
)
def test_names_are_those_of_go_grove(name: str, expected: str) -> None:
    assert name == expected


def test_the_name_of_a_clique_is_kept_up_to_59_characters() -> None:
    assert names.standalone_clique("a" * 50, 0, "worker") == f"{'a' * 50}-0-worker"
    assert names.standalone_clique("a" * 51, 0, "worker") == f"{'a' * 46}-9c42eec1"


def test_shortened_names_never_change() -> None:
    """Objects are found by name again after an upgrade."""
    made = names.member_clique("distributed-training", 0, "training-infrastructure", 0, "parameter-server")
    assert made == "distributed-training-0-training-infrastructure-18a5bd1f"


def test_the_host_of_a_clique_with_the_longest_name_has_room_for_three_digits() -> None:
    clique = "a" * names.CLIQUE_LIMIT
    assert names.hostname(clique, 999) == f"{clique}-999"
    assert len(names.hostname(clique, 1000)) <= names.LABEL_LIMIT
    assert names.hostname(clique, 1000).endswith("-1000")


def test_the_api_server_names_pods_up_to_57_characters() -> None:
    assert names.pod_generate_name("a" * 57) == "a" * 57 + "-"
    assert names.pod_generate_name("a" * 58) is None
    assert names.pod_name("a" * 58, "x2x4z") == "a" * 57 + "-x2x4z"


def test_claims_are_dns_labels_because_pods_name_them_so() -> None:
    owner = "a" * names.CLIQUE_LIMIT
    assert len(names.shared_claim(owner, "network-card")) <= names.LABEL_LIMIT
    assert names.replica_claim(owner, 0, "network-card") != names.replica_claim(owner, 1, "network-card")
    assert names.shared_claim(owner, "network-card") != names.shared_claim(owner, "network-card-2")
