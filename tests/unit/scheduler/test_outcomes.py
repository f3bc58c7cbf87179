"""What became of a binding, by the pod as the API server has it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grove.kube.objects import PodView
from grove.scheduler.outcomes import Again, BindFailure, Bound, Outcome, judge
from grove.scheduler.rejections import is_rejected


def pod(**more: Any) -> PodView:
    body = {
        "metadata": {"name": "p", "uid": more.pop("uid", "u")} | more.pop("metadata", {}),
        "spec": more.pop("spec", {}),
        "status": more,
    }
    return msgspec.convert(body, PodView)


@pytest.mark.parametrize(
    ("live", "refused", "outcome"),
    [
        (None, True, BindFailure("Gone")),
        (pod(uid="other"), True, BindFailure("Gone")),
        (pod(spec={"nodeName": "n"}), True, Bound()),
        (pod(spec={"nodeName": "n"}), False, Bound()),
        (pod(spec={"nodeName": "m"}), True, BindFailure("Foreign", "it is on m")),
        (pod(metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"}), True, BindFailure("Gone")),
        (pod(phase="Failed"), True, BindFailure("Gone")),
        (pod(spec={"schedulingGates": [{"name": "wait"}]}), True, BindFailure("Gated", "wait")),
        (pod(), True, BindFailure("Refused")),
        (pod(), False, Again()),
    ],
)
def test_what_became_of_a_binding(live: PodView | None, refused: bool, outcome: Outcome) -> None:
    assert judge(live, "u", "n", refused=refused) == outcome


@pytest.mark.parametrize(
    ("phase", "reason", "rejected"),
    [
        ("Failed", "OutOfcpu", True),
        ("Failed", "OutOfnvidia.com/gpu", True),
        ("Failed", "UnexpectedAdmissionError", True),
        ("Failed", "TopologyAffinityError", True),
        ("Failed", "Evicted", False),
        ("Failed", "", False),
        ("Running", "OutOfcpu", False),
    ],
)
def test_which_pods_their_node_has_refused(phase: str, reason: str, rejected: bool) -> None:
    assert is_rejected(pod(phase=phase, reason=reason)) == rejected
