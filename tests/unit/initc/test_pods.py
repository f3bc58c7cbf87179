from typing import Any

import msgspec
import pytest

from grove.initc.pods import Pod, ready_in

READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}


def pod(conditions: list[dict[str, Any]] | None, **metadata: Any) -> Pod:
    """As an API server sends it, with much that nobody here reads."""
    tree = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "x-0-a-b-7f9c2",
            "labels": {"grove.io/podclique": "x-0-a", "grove.io/podgang": "x-0"},
            "annotations": {"a": "b"},
            **metadata,
        },
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running", "conditions": conditions},
    }
    return msgspec.json.decode(msgspec.json.encode(tree), type=Pod)


@pytest.mark.parametrize(
    ("conditions", "metadata", "clique"),
    [
        ([READY], {}, "x-0-a"),
        ([{"type": "PodScheduled", "status": "True"}, READY], {}, "x-0-a"),
        ([{"type": "Ready", "status": "False"}], {}, ""),
        ([{"type": "Ready", "status": "Unknown"}], {}, ""),
        ([{"type": "ContainersReady", "status": "True"}], {}, ""),
        ([], {}, ""),
        (None, {}, ""),
        ([READY], {"deletionTimestamp": "2030-01-01T00:00:00Z"}, ""),
        ([READY], {"labels": {"grove.io/podgang": "x-0"}}, ""),
    ],
)
def test_a_pod_counts_for_the_clique_of_its_label_while_it_is_ready_and_stays(
    conditions: list[dict[str, Any]] | None, metadata: dict[str, Any], clique: str
) -> None:
    assert ready_in(pod(conditions, **metadata)) == clique


def test_a_pod_without_a_status_is_not_ready() -> None:
    assert ready_in(msgspec.json.decode(b'{"metadata": {"labels": {"grove.io/podclique": "a"}}}', type=Pod)) == ""


def test_only_the_readiness_of_a_pod_is_kept() -> None:
    assert pod([{"type": "PodScheduled", "status": "True"}, READY]).status == pod([READY]).status
    assert pod([{"type": "PodScheduled", "status": "True"}]).status.conditions == ()
