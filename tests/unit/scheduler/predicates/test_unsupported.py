"""Pods that are refused whatever the node."""

from grove.scheduler.predicates.unsupported import unsupported
from tests.unit.scheduler.fleets import spec


def test_pods_of_kube_schedulers_own_groups_are_left_alone() -> None:
    assert not unsupported(spec(gpus=1))
    assert "spec.schedulingGroup (podGroupName g)" in unsupported(spec(schedulingGroup={"podGroupName": "g"}))
