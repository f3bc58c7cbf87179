"""A gang finds its place by its labels."""

import pytest

from grove.api import labels
from grove.api.kinds.meta import ObjectMeta
from grove.operator import places
from grove.operator.tree import GangPlace, Tree
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
