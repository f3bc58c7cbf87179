"""Which tolerations tolerate which taints."""

import pytest

from grove.kube.objects import Taint, Toleration
from grove.kube.taints import told, tolerates

TAINT = Taint(key="spot", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "does"),
    [
        (Toleration(key="spot", operator="Equal", value="yes", effect="NoSchedule"), True),
        (Toleration(key="spot", value="yes"), True),
        (Toleration(key="spot", operator="", value="yes"), True),
        (Toleration(key="spot", value="no"), False),
        (Toleration(key="spot", operator="Exists"), True),
        (Toleration(key="spot", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(operator="Exists"), True),
        (Toleration(operator="Exists", effect="NoSchedule"), True),
        (Toleration(key="spot", operator="Soon", value="yes"), False),
    ],
)
def test_a_toleration_tolerates_what_it_names(toleration: Toleration, does: bool) -> None:
    assert tolerates(toleration, TAINT) == does


@pytest.mark.parametrize(
    ("operator", "bound", "value", "does"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "4", True),
        ("Lt", "5", "-7", True),
        ("Lt", "5", "007", False),
        ("Lt", "five", "4", False),
        ("Lt", "5", "", False),
        ("Gt", "5", "9223372036854775807", True),
        ("Gt", "5", "9223372036854775808", False),
    ],
)
def test_numbers_are_compared_only_where_that_is_switched_on(operator: str, bound: str, value: str, does: bool) -> None:
    toleration = Toleration(key="price", operator=operator, value=bound)
    taint = Taint(key="price", value=value, effect="NoSchedule")
    assert tolerates(toleration, taint, compares=True) == does
    assert not tolerates(toleration, taint)


def test_a_taint_is_told_as_kubectl_writes_it() -> None:
    assert told(TAINT) == "spot=yes:NoSchedule"
    assert told(Taint(key="spot", effect="NoExecute")) == "spot:NoExecute"
