"""Live objects find their places by their labels."""

import pytest

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.operator import places
from grove.operator.tree import CliquePlace, GangPlace, GroupPlace, Tree
from tests.unit.operator.podgang.builders import clique, pcs

TREE = Tree(pcs([clique("a"), clique("b")], [{"name": "g", "cliqueNames": ["b"], "replicas": 3}], replicas=2), {})
INDEX, GROUP, COPY = (
    labels.POD_CLIQUE_SET_REPLICA_INDEX,
    labels.SCALING_GROUP,
    labels.SCALING_GROUP_REPLICA_INDEX,
)


@pytest.mark.parametrize(
    ("name", "found", "place"),
    [
        ("set-1", {INDEX: "1"}, GangPlace(1)),
        ("set-7", {INDEX: "7"}, GangPlace(7)),
        ("set-1-g-1", {INDEX: "1", GROUP: "set-1-g", COPY: "2"}, GangPlace(1, "g", 2)),
        ("set-1", {}, None),
        ("set-1", {INDEX: "x"}, None),
        ("set-1", {INDEX: "0"}, None),
        ("set-1-g-1", {INDEX: "1", GROUP: "set-1-g"}, None),
        ("set-1-g-1", {INDEX: "1", GROUP: "set-1-h", COPY: "2"}, None),
        ("set-1-g-1", {INDEX: "1", GROUP: "set-1-g", COPY: "1"}, None),
    ],
)
def test_labels_lead_to_a_gangs_place_if_they_agree_with_its_name(
    name: str, found: dict[str, str], place: GangPlace | None
) -> None:
    assert places.gang_of(TREE, ObjectMeta(name=name, labels=found)) == place


@pytest.mark.parametrize("place", [CliquePlace(1, "a"), CliquePlace(0, "b", "g", 2), CliquePlace(9, "b", "g", 7)])
def test_a_podclique_is_found_where_the_tree_puts_it_also_beyond_the_counts(place: CliquePlace) -> None:
    metadata = ObjectMeta(name=TREE.clique_name(place), labels=TREE.clique_labels(place))
    assert places.clique_of(TREE, metadata) == place
    assert places.replica_index(metadata) == place.replica


@pytest.mark.parametrize(
    "changed",
    [
        {labels.CLIQUE: "other"},
        {labels.CLIQUE: None},
        {INDEX: None},
        {INDEX: "2"},
        {COPY: None},
        {COPY: "x"},
        {COPY: "1"},
    ],
)
def test_a_podclique_whose_labels_say_something_else_has_no_place(changed: dict[str, str | None]) -> None:
    place = CliquePlace(0, "b", "g", 2)
    found = {key: text for key, text in (TREE.clique_labels(place) | changed).items() if text is not None}
    assert places.clique_of(TREE, ObjectMeta(name=TREE.clique_name(place), labels=found)) is None


def test_a_scaling_group_is_found_by_its_replica_and_name() -> None:
    place = GroupPlace(1, "g")
    found = TREE.group_labels(place)
    assert places.group_of(TREE, ObjectMeta(name="set-1-g", labels=found)) == place
    assert places.group_of(TREE, ObjectMeta(name="set-0-g", labels=found)) is None
    assert places.group_of(TREE, ObjectMeta(name="set-1-g")) is None
