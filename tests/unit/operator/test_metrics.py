"""What the operator tells Prometheus beside what all programs do."""

import pytest

from grove.api import codec
from grove.api.fields import JSON
from grove.kube.objects import PodView
from grove.operator import metrics


def pod(*, node: str = "", phase: str = "Running", ready: bool = False, **more: JSON) -> PodView:
    spec: JSON = {"nodeName": node, "restartPolicy": "OnFailure", **more.get("spec", {})}
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    metadata: JSON = {"name": "a", **more.get("metadata", {})}
    return codec.decode(
        {"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": conditions}}, PodView
    )


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("gated", pod(phase="Pending", spec={"schedulingGates": [{"name": "g"}]})),
        ("unscheduled", pod(phase="Pending")),
        ("starting", pod(node="n")),
        ("ready", pod(node="n", ready=True)),
        ("done", pod(node="n", phase="Succeeded")),
        ("lost", pod(node="n", phase="Failed")),
        ("terminating", pod(node="n", metadata={"deletionTimestamp": "2026-11-19T20:00:00Z"})),
    ],
)
def test_every_pod_is_in_one_state(state: str, found: PodView) -> None:
    assert metrics.state_of(found) == state
    assert state in metrics.STATES
