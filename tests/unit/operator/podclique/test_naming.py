"""Names and indices of new pods."""

from itertools import islice

from grove.api import names
from grove.operator.podclique import naming


def test_free_indices_are_the_lowest() -> None:
    assert list(islice(naming.free_indices({0, 2, 5}), 4)) == [1, 3, 4, 6]


def test_a_name_follows_from_what_the_pod_is_to_be() -> None:
    first = naming.pod_name("demo-0-worker", "uid", 0, "hash", ())
    assert naming.pod_name("demo-0-worker", "uid", 0, "hash", ()) == first
    others = {
        naming.pod_name("demo-0-worker", "other", 0, "hash", ()),
        naming.pod_name("demo-0-worker", "uid", 1, "hash", ()),
        naming.pod_name("demo-0-worker", "uid", 0, "other", ()),
        naming.pod_name("demo-0-worker", "uid", 0, "hash", {first}),
    }
    assert len(others | {first}) == 5


def test_the_name_of_a_long_podclique_is_no_longer_than_the_api_server_would_make_it() -> None:
    assert len(naming.pod_name("x" * names.CLIQUE_LIMIT, "uid", 0, "hash", ())) == names.LABEL_LIMIT
