"""Which pods go first when a PodClique is scaled in."""

from grove.kube.objects import PodView
from grove.operator.podclique import order
from tests.unit.operator.builders import NEW, OLD, at, pod


def sorted_names(*pods: PodView) -> list[str]:
    return [one.metadata.name for one in order.first_to_go(pods, NEW)]


def cost(number: str) -> dict[str, str]:
    return {order.DELETION_COST: number}


def test_each_difference_counts_more_than_those_below_it() -> None:
    from_first_to_last = [
        pod(0, name="unplaced"),
        pod(0, name="placed", node="n"),
        pod(0, name="unknown", node="n", phase="Unknown"),
        pod(0, name="running", node="n", phase="Running"),
        pod(0, name="old", ready=True, hash=OLD),
        pod(0, name="cheap", ready=True, annotations=cost("-5")),
        pod(0, name="young", ready=True, created=at(60)),
        pod(7, name="higher", ready=True),
        pod(1, name="lower", ready=True),
        pod(0, name="dear", ready=True, created=at(120), annotations=cost("5")),
    ]
    expected = [one.metadata.name for one in from_first_to_last]
    assert sorted_names(*from_first_to_last) == expected
    assert sorted_names(*reversed(from_first_to_last)) == expected


def test_a_cost_that_is_no_number_is_none() -> None:
    assert order.deletion_cost(pod(0, annotations=cost("much"))) == 0
    assert order.deletion_cost(pod(0)) == 0
