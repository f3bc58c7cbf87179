import pytest

from grove.api import names


def test_names_are_those_of_the_specification() -> None:
    assert names.standalone_clique("simple1", 0, "pca") == "simple1-0-pca"
    assert names.scaling_group("simple1", 0, "sga") == "simple1-0-sga"
    assert names.member_clique("simple1", 0, "sga", 1, "pcb") == "simple1-0-sga-1-pcb"
    assert names.base_gang("simple1", 0) == names.headless_service("simple1", 0) == "simple1-0"
    assert names.scaled_gang("simple1", 0, "sga", 0) == "simple1-0-sga-0"
    assert names.scaling_group_replica("p", 0, "sg", 1) == "p-0-sg-1"
    assert names.hostname("simple1-0-pca", 2) == "simple1-0-pca-2"
    assert names.pod_generate_name("simple1-0-pca") == "simple1-0-pca-"
    assert names.service_address("simple1", 0, "ml") == "simple1-0.ml.svc.cluster.local"
    assert names.service_address("simple1", 0, "ml", "example.org") == "simple1-0.ml.svc.example.org"
    assert names.autoscaler("simple1-0-sga") == "simple1-0-sga"
    assert names.service_account("simple1") == "simple1"
    assert names.role("simple1") == "grove.io:pcs:simple1"
    assert names.role_label("simple1") == "grove.io-pcs-simple1"
    assert names.token_secret("simple1") == "simple1-ic-sat"
    assert names.legacy_token_secret("simple1") == "simple1-initc-sa-token-secret"
    assert names.shared_claim("simple1-0-sga", "fabric") == "simple1-0-sga-all-fabric"
    assert names.replica_claim("simple1-0-sga", 3, "fabric") == "simple1-0-sga-3-fabric"
    assert names.compute_domain("simple1", 0, "nvl") == "simple1-0-nvl"


def test_the_example_with_a_name_of_58_characters_keeps_it_and_its_pods_get_names_from_grove() -> None:
    name = names.member_clique("distributed-training", 0, "training-workers", 0, "parameter-server")
    assert name == "distributed-training-0-training-workers-0-parameter-server"
    assert len(name) == 58
    assert names.pod_generate_name(name) is None
    assert names.pod_name(name, "x7k2p") == "distributed-training-0-training-workers-0-parameter-serve-x7k2p"
    assert names.hostname(name, 999) == f"{name}-999"


def test_the_example_with_a_name_of_65_characters_gets_a_shorter_one_that_never_changes() -> None:
    """Pinned: another way to shorten would rename, and so recreate, the pods of users."""
    name = names.member_clique("distributed-training", 0, "training-infrastructure", 0, "parameter-server")
    assert name == "distributed-training-0-training-infrastructure-18a5bd1f"
    assert names.hostname(name, 12) == f"{name}-12"


@pytest.mark.parametrize("length", [58, 59])
def test_the_longest_names_are_kept(length: int) -> None:
    clique = "c" * (length - len("pcs-0-"))
    assert names.standalone_clique("pcs", 0, clique) == f"pcs-0-{clique}"


def test_a_name_of_one_more_character_is_shortened() -> None:
    clique = "c" * (60 - len("pcs-0-"))
    name = names.standalone_clique("pcs", 0, clique)
    assert len(name) == 55
    assert name.startswith(f"pcs-0-{clique}"[:46])


def test_names_that_begin_alike_stay_apart() -> None:
    stem = "c" * 60
    assert names.standalone_clique("pcs", 0, f"{stem}a") != names.standalone_clique("pcs", 0, f"{stem}b")


def test_the_host_of_a_clique_with_the_longest_name_has_room_for_three_digits() -> None:
    clique = "a" * names.CLIQUE_LIMIT
    assert names.hostname(clique, 999) == f"{clique}-999"
    assert len(names.hostname(clique, 1000)) <= names.LABEL_LIMIT
    assert names.hostname(clique, 1000).endswith("-1000")


def test_claims_are_dns_labels_because_pods_name_them_so() -> None:
    owner = "a" * names.CLIQUE_LIMIT
    assert len(names.shared_claim(owner, "network-card")) <= names.LABEL_LIMIT
    assert names.replica_claim(owner, 0, "network-card") != names.replica_claim(owner, 1, "network-card")
    assert names.shared_claim(owner, "network-card") != names.shared_claim(owner, "network-card-2")
