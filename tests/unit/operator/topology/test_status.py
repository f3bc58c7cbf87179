"""What a topology binding says of the schedulers that it names."""

import datetime
from typing import Any

from grove.api import codec
from grove.api.conditions import find
from grove.api.kinds.topology import ClusterTopologyBinding, ClusterTopologyBindingStatus
from grove.operator.topology import status

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
SCHEDULERS: Any = {"grove-scheduler": "grove", "default-scheduler": "kubernetes"}


def binding(*schedulers: str, held: ClusterTopologyBindingStatus | None = None) -> ClusterTopologyBinding:
    listed = [{"schedulerName": name, "topologyReference": f"{name}-topology"} for name in schedulers]
    tree: dict[str, Any] = {
        "metadata": {"name": "t", "generation": 3},
        "spec": {"levels": [{"domain": "zone", "key": "zone"}], "schedulerTopologyBindings": listed},
    }
    if held is not None:
        tree["status"] = codec.encode(held)
    return codec.decode(tree, ClusterTopologyBinding)


def wanted(*schedulers: str, held: ClusterTopologyBindingStatus | None = None) -> ClusterTopologyBindingStatus:
    return status.wanted(binding(*schedulers, held=held), SCHEDULERS, NOW)


def drift(found: ClusterTopologyBindingStatus) -> tuple[str, str, str] | None:
    one = find(found.conditions, "SchedulerTopologyDrift")
    return None if one is None else (one.status, one.reason, one.message)


def test_a_binding_that_names_no_scheduler_only_says_that_it_was_seen() -> None:
    assert wanted() == ClusterTopologyBindingStatus(observed_generation=3)


def test_groves_scheduler_always_agrees() -> None:
    found = wanted("grove-scheduler")
    assert drift(found) == ("False", "InSync", "All scheduler backend topologies are in sync")
    (one,) = found.scheduler_topology_statuses
    assert (one.in_sync, one.topology_reference, one.scheduler_backend_topology_observed_generation) == (
        True,
        "grove-scheduler-topology",
        3,
    )


def test_other_schedulers_and_unknown_ones_cannot_be_compared() -> None:
    found = wanted("grove-scheduler", "default-scheduler", "kai-scheduler")
    assert drift(found) == (
        "Unknown",
        "TopologyNotFound",
        "The topologies of these schedulers cannot be compared: default-scheduler, kai-scheduler",
    )
    assert [(one.in_sync, one.message) for one in found.scheduler_topology_statuses] == [
        (True, None),
        (False, 'scheduler backend "default-scheduler" is not available for topology management'),
        (False, 'scheduler backend "kai-scheduler" is not available for topology management'),
    ]


def test_the_condition_goes_with_the_last_scheduler() -> None:
    assert drift(wanted(held=wanted("grove-scheduler"))) is None


def test_what_is_stored_is_not_written_again() -> None:
    held = wanted("grove-scheduler", "kai-scheduler")
    later = NOW + datetime.timedelta(hours=1)
    again = binding("grove-scheduler", "kai-scheduler", held=held)
    assert status.wanted(again, SCHEDULERS, later) == held


def test_coming_into_sync_is_told_once() -> None:
    synced = wanted("grove-scheduler")
    assert status.came_into_sync(None, synced)
    assert status.came_into_sync(wanted("kai-scheduler"), synced)
    assert not status.came_into_sync(synced, synced)
    assert not status.came_into_sync(synced, wanted("kai-scheduler"))
    assert not status.came_into_sync(None, wanted())
