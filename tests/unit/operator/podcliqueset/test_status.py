"""The status of a set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from grove.api import conditions, statuses
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus, ReplicaUpdate, UpdateProgress
from grove.api.kinds.podgang import PodGang
from grove.kube.resources import SERVICES
from grove.operator.failures import StepError
from grove.operator.podcliqueset import status, termination
from grove.operator.podcliqueset.status import Outcome
from grove.operator.writer import ForeignObjectError
from tests.unit.operator.podcliqueset.builders import JSON, Stage, at, clique, condition, group, pcs, read

COMPLETE = Outcome(is_complete=True)


def demo(replicas: int = 2, **rest: Any) -> Stage:
    cliques = [clique("a", 2), clique("b")]
    return Stage(pcs(*cliques, groups=[group("g", ["b"])], replicas=replicas, generation=3, **rest))


def told(
    stage: Stage,
    outcome: Outcome = COMPLETE,
    held: PodCliqueSetStatus | None = None,
    *,
    topology: bool = False,
    seconds: float = 0,
) -> PodCliqueSetStatus:
    snapshot, now = stage.snapshot(), at(seconds)
    held = PodCliqueSetStatus(current_generation_hash=stage.tree.generation_hash) if held is None else held
    decision = termination.decide(snapshot, now)
    return status.summary(snapshot, held, outcome, decision, topology_enabled=topology, now=now)


def said(found: PodCliqueSetStatus, type: str) -> tuple[str, str, str] | None:
    one = conditions.find(found.conditions, type)
    return None if one is None else (one.status, one.reason, one.message)


def failed(cause: Exception) -> StepError:
    error = StepError("ERR_SYNC_PODCLIQUESET_SERVICE", "could not write Service demo-0", cause=cause)
    error.__cause__ = cause
    return error


def gangs(*phases: str) -> list[PodGang]:
    found = []
    for number, phase in enumerate(phases):
        body: JSON = {"metadata": {"name": f"demo-{number:04}"}, "spec": {"podgroups": []}}
        if phase:
            body["status"] = {"phase": phase, "conditions": [condition("Initialized", "True", 1)]}
        found.append(read(body, PodGang))
    return found


def test_a_whole_set_is_available_and_updated() -> None:
    found = told(demo().whole())
    assert (found.replicas, found.available_replicas, found.updated_replicas) == (2, 2, 2)
    assert (found.phase, found.observed_generation) == ("Available", 3)
    assert found.hpa_pod_selector == "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=demo"
    assert said(found, "Available") == ("True", "AllReplicasAvailable", "All 2 replicas are available")
    assert said(found, "UpdateInProgress") == ("False", "NoActiveUpdate", "No update is running")
    assert said(found, "Degraded") == ("False", "AsExpected", "Nothing has lost its minimum")
    assert found.last_operation is not None
    assert (found.last_operation.state, found.last_operation.description) == ("Succeeded", "generation 3 is applied")


def test_a_set_that_comes_up_says_how_far_it_is() -> None:
    stage = demo()
    assert told(stage).phase == "Creating"
    stage.settle()
    found = told(stage)
    assert found.phase == "Scheduling"
    message = "0 of 2 replicas are available; unavailable: 0, 1"
    assert said(found, "Available") == ("False", "ReplicasUnavailable", message)


def test_a_set_without_replicas_says_so() -> None:
    assert said(told(demo(0)), "Available") == ("True", "NoReplicas", "spec.replicas is 0: nothing runs")


def test_a_replica_that_lost_its_minimum_degrades_the_set() -> None:
    stage = demo().whole()
    broken = [condition("PodCliqueScheduled", "True", 1), condition("MinAvailableBreached", "True", 5)]
    stage.tell("demo-1-a", ready=0, conditions=broken)
    found = told(stage)
    assert found.phase == "Degraded"
    assert said(found, "Degraded") == ("True", "MinAvailableBreached", "Replicas below their minimum: 1")


def test_a_foreign_object_is_an_error_that_names_it_and_what_to_do() -> None:
    error = failed(ForeignObjectError(SERVICES, "default", "demo-0", "demo"))
    found = told(demo().whole(), Outcome(errors=[error]))
    (known,) = found.last_errors
    assert known.code == "ERR_SYNC_PODCLIQUESET_SERVICE"
    assert "Service default/demo-0 exists and does not belong to demo: delete or rename it" in known.description
    assert said(found, "Degraded") == ("True", "ForeignObject", str(error))
    assert (found.phase, found.observed_generation) == ("Degraded", None)
    assert found.last_operation is not None
    assert found.last_operation.state == "Error"


def test_errors_while_nothing_runs_are_a_failure() -> None:
    assert told(demo(), Outcome(errors=[failed(ValueError("no"))])).phase == "Failed"


def test_errors_are_kept_while_a_reconcile_is_under_way_and_go_when_it_succeeds() -> None:
    stage = demo().whole()
    before = told(stage, Outcome(errors=[failed(ValueError("no"))]))
    during = told(stage, Outcome(errors=None), before)
    assert (during.last_errors, said(during, "Degraded")) == (before.last_errors, said(before, "Degraded"))
    after = told(stage, held=during)
    assert after.last_errors == ()
    assert said(after, "Degraded") == ("False", "AsExpected", "Nothing has lost its minimum")


def test_so_many_errors_are_listed_and_no_more() -> None:
    errors = [failed(ValueError(str(number))) for number in range(status.MOST_ERRORS + 5)]
    found = told(demo(), Outcome(errors=errors))
    assert len(found.last_errors) == status.MOST_ERRORS
    assert (said(found, "Degraded") or ("", "", ""))[2].endswith("(and 24 more)")


def test_the_topology_has_a_condition_where_it_is_enabled() -> None:
    stage = demo(topologyConstraint={"topologyName": "t", "pack": {"required": "rack"}})
    found = told(stage, topology=True)
    reason = ("Unknown", "ClusterTopologyNotFound", "ClusterTopologyBinding resource not found")
    assert said(found, "TopologyLevelsUnavailable") == reason
    assert said(told(demo()), "TopologyLevelsUnavailable") is None


def test_a_set_that_is_updated_counts_and_names_what_follows_the_template() -> None:
    stage = demo().whole()
    stage.pcs = pcs(clique("a", 2, image="main:v2"), clique("b"), groups=[group("g", ["b"])], replicas=2, generation=4)
    progress = UpdateProgress(
        update_started_at="2026-11-19T12:00:00Z", currently_updating=(ReplicaUpdate(replica_index=1),)
    )
    held = PodCliqueSetStatus(current_generation_hash=stage.tree.generation_hash, update_progress=progress)
    found = told(stage, held=held)
    assert found.phase == "Updating"
    assert (found.available_replicas, found.updated_replicas) == (2, 0)
    assert said(found, "UpdateInProgress") == ("True", "Progressing", "Replica 1 is updated")
    counted = found.update_progress
    assert counted is not None
    assert (counted.updated_pod_cliques_count, counted.total_pod_cliques_count) == (0, 2)
    assert (counted.updated_pod_clique_scaling_groups_count, counted.total_pod_clique_scaling_groups_count) == (2, 2)
    named = found.rolling_update_progress
    assert named is not None
    assert named.currently_updating is not None
    assert named.updated_pod_clique_scaling_groups == ("demo-0-g", "demo-1-g")
    assert (named.currently_updating.replica_index, named.currently_updating.pod_clique_name) == (1, "demo-1-a")


def test_an_update_that_is_stuck_says_where() -> None:
    stage = demo().whole()
    stage.tell(
        "demo-1-a", ready=2, conditions=[condition("UpdateInProgress", "Unknown", 1, "ProgressDeadlineExceeded")]
    )
    progress = UpdateProgress(currently_updating=(ReplicaUpdate(replica_index=1),))
    found = told(stage, held=PodCliqueSetStatus(update_progress=progress))
    message = "No progress within the deadline: demo-1-a"
    assert said(found, "UpdateInProgress") == ("Unknown", "ProgressDeadlineExceeded", message)


def test_gangs_are_listed_by_name_with_conditions_until_they_run() -> None:
    found = status.gang_summaries(gangs("Running", "Starting", "", "Sleeping"))
    assert [(one.name, one.phase, len(one.conditions)) for one in found] == [
        ("demo-0000", "Running", 0),
        ("demo-0001", "Starting", 1),
        ("demo-0002", "Pending", 0),
        ("demo-0003", "Pending", 1),
    ]


def test_of_too_many_gangs_those_that_do_not_run_are_listed_first() -> None:
    phases = ["Running"] * status.MOST_GANGS + ["Pending"] * 3
    found = status.gang_summaries(gangs(*phases))
    assert len(found) == status.MOST_GANGS
    assert [one.name for one in found if one.phase == "Pending"] == ["demo-0500", "demo-0501", "demo-0502"]


def test_the_same_situation_gives_the_same_status() -> None:
    stage = demo().whole()
    stage.gangs = gangs("Running")
    first = told(stage)
    later = told(stage, held=first, seconds=500)
    assert statuses.patch(first, later) is None


def urgent(held: PodCliqueSetStatus, **changed: Any) -> bool:
    return status.is_urgent(held, replace(held, **changed))


def with_condition(found: PodCliqueSetStatus, type: str, value: conditions.Status) -> dict[str, object]:
    return {"conditions": conditions.put(found.conditions, type, value, "Because", "", now=at(9))}


def test_what_somebody_waits_for_is_written_at_once_and_the_rest_may_wait() -> None:
    held = told(demo().whole())
    assert status.is_urgent(None, held)
    assert urgent(held, observed_generation=4)
    assert urgent(held, current_generation_hash="other")
    assert urgent(held, update_progress=UpdateProgress(update_started_at="2026-11-19T12:00:00Z"))
    assert urgent(held, **with_condition(held, "Available", "False"))
    assert urgent(held, **with_condition(held, "Degraded", "True"))
    unavailable = replace(held, **with_condition(held, "Available", "False"))
    assert not status.is_urgent(unavailable, held)
    assert not urgent(held, available_replicas=1)
    assert not urgent(held, pod_gang_statuses=status.gang_summaries(gangs("Pending")))


def test_progress_that_only_counts_may_wait() -> None:
    progress = UpdateProgress(update_started_at="2026-11-19T12:00:00Z", updated_pod_cliques_count=1)
    held = replace(told(demo().whole()), update_progress=progress)
    assert not urgent(held, update_progress=replace(progress, updated_pod_cliques_count=2))
    assert urgent(held, update_progress=replace(progress, currently_updating=(ReplicaUpdate(replica_index=1),)))


def test_long_lists_of_replicas_are_cut() -> None:
    found = said(told(demo(60)), "Available")
    assert found is not None
    assert found[2].endswith("49 and 10 more")


def test_every_status_passes_through_the_schema() -> None:
    found = told(demo().whole(), Outcome(errors=[failed(ValueError("no"))]))
    change = statuses.patch(None, found)
    assert change is not None
    assert msgspec.json.decode(msgspec.json.encode(change["status"]), type=PodCliqueSetStatus) == found


def test_an_incomplete_reconcile_leaves_the_generation_unobserved() -> None:
    errors: Sequence[StepError] = ()
    found = told(demo().whole(), Outcome(errors=errors))
    assert found.observed_generation is None
    assert found.last_operation is not None
    assert found.last_operation.state == "Processing"
