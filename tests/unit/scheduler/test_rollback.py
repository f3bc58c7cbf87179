"""Which gangs are taken back, and when."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from grove.api.conditions import timestamp
from grove.api.kinds.podgang import PodGang
from grove.kube.objects import PodView
from grove.scheduler import record, rollback
from grove.scheduler.record import Record, Target
from grove.scheduler.rollback import TakeBack, Until, Verdict

NOW = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
PATIENCE = datetime.timedelta(seconds=60)


def ago(seconds: float) -> datetime.datetime:
    return NOW - datetime.timedelta(seconds=seconds)


def pod(
    name: str, *, bound: float | None = None, created: float = 100, ready: bool = False, going: bool = False
) -> PodView:
    """Times are seconds ago."""
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "creationTimestamp": timestamp(ago(created))}
    if going:
        metadata["deletionTimestamp"] = timestamp(NOW)
    told: list[dict[str, str]] = [{"type": "Ready", "status": "True"}] if ready else []
    if bound is not None:
        told.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": timestamp(ago(bound))})
    spec = {"nodeName": "" if bound is None else "n"}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"conditions": told}}, PodView)


def gang(*, placed: float | None = None, lost: float | None = None) -> PodGang:
    body: dict[str, Any] = {"metadata": {"name": "g"}, "spec": {"podgroups": []}}
    if placed is not None:
        scheduled = {
            "type": "Scheduled",
            "status": "True" if lost is None else "False",
            "reason": "R",
            "message": "",
            "lastTransitionTime": timestamp(ago(placed if lost is None else lost)),
        }
        body["status"] = {"phase": "Running", "conditions": [scheduled], "lastScheduled": timestamp(ago(placed))}
    return msgspec.convert(body, PodGang)


def decided(seconds: float) -> Record:
    return record.make([Target("", "a", "uid-a", "n")], term=1, now=ago(seconds), until=NOW)


def judged(
    view: PodGang, *pods: PodView, minimum: int = 2, hopeless: bool = False, by: Record | None = None
) -> Verdict:
    return rollback.judge(view, [("g", minimum, pods)], by, hopeless=hopeless, patience=PATIENCE, now=NOW)


def test_a_gang_that_is_whole_or_nowhere_is_left_alone() -> None:
    assert judged(gang(), pod("a", bound=90), pod("b", bound=90)) is None
    assert judged(gang(), pod("a"), pod("b")) is None
    assert judged(gang(), pod("a", bound=90, going=True), pod("b")) is None


def test_a_gang_that_is_half_bound_is_taken_back_after_its_time() -> None:
    found = judged(gang(), pod("a", bound=61), pod("b"))
    assert isinstance(found, TakeBack)
    assert [one.metadata.name for one in found.pods] == ["a"]
    assert judged(gang(), pod("a", bound=20), pod("b")) == Until(ago(20) + PATIENCE)


def test_time_counts_from_the_first_pod_that_was_bound() -> None:
    assert isinstance(judged(gang(), pod("a", bound=61), pod("b", bound=1), pod("c"), minimum=3), TakeBack)


def test_where_there_is_proof_it_is_taken_back_soon() -> None:
    assert judged(gang(), pod("a", bound=1), hopeless=True) == Until(ago(1) + rollback.PROVEN)
    assert isinstance(judged(gang(), pod("a", bound=6), hopeless=True), TakeBack)


@pytest.mark.parametrize("lost", [None, 70])
def test_a_gang_that_was_whole_keeps_what_it_has(lost: float | None) -> None:
    assert judged(gang(placed=90, lost=lost), pod("a", bound=95, created=96), pod("b"), hopeless=True) is None


def test_a_gang_that_was_extended_after_it_was_whole_keeps_what_it_has() -> None:
    held = gang(placed=900, lost=70)
    assert judged(held, pod("a", bound=300, created=301), pod("b"), hopeless=True) is None


def test_a_gang_made_anew_after_it_was_whole_is_one_that_never_was() -> None:
    held = gang(placed=900, lost=80)
    assert isinstance(judged(held, pod("a", bound=70, created=75), pod("b")), TakeBack)


def test_ready_pods_are_taken_back_only_where_we_put_them_there() -> None:
    assert judged(gang(), pod("a", bound=90, ready=True), pod("b")) is None
    assert judged(gang(), pod("a", bound=90, ready=True, created=95), pod("b"), by=decided(99)) is None
    assert isinstance(judged(gang(), pod("a", bound=90, ready=True, created=95), pod("b"), by=decided(91)), TakeBack)
