"""What users read in the events of a set: only what was really written, one event for many of a kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from grove.kube.events import EventType, Recorder, Regarding
from grove.operator.failures import StepError
from grove.operator.podcliqueset.steps import Done

MOST_NAMED: Final = 5

_FAILED: Final = {
    "ERR_SYNC_PODCLIQUE": "PodCliqueCreateOrUpdateFailed",
    "ERR_DELETE_PODCLIQUE": "PodCliqueDeleteFailed",
    "ERR_SYNC_PODCLIQUESCALINGGROUP": "PodCliqueScalingGroupCreateOrUpdateFailed",
    "ERR_DELETE_PODCLIQUESCALINGGROUP": "PodCliqueScalingGroupDeleteFailed",
    "ERR_DELETE_PCS_REPLICA": "PodCliqueSetReplicaDeleteFailed",
}
"""The reasons of kinds that have one of their own; the others are told as ReconcileError."""


class Happenings:
    """Records the events of one set."""

    def __init__(self, recorder: Recorder, about: Regarding) -> None:
        self._recorder = recorder
        self._about = about

    def reconciling(self, generation: int | None) -> None:
        self._say("Reconciling", f"applies generation {generation}")

    def reconciled(self, generation: int | None) -> None:
        self._say("Reconciled", f"generation {generation} is applied")

    def no_replicas(self) -> None:
        message = "spec.replicas is 0 or left out, so nothing runs: set it to 1 or more"
        self._say("NoReplicas", message, type="Warning")

    def update_started(self, hash: str) -> None:
        self._say("UpdateStarted", f"the template has changed: updates replicas to {hash}")

    def update_ended(self) -> None:
        self._say("UpdateEnded", "all replicas follow the template")

    def replica_selected(self, replica: int) -> None:
        self._say("ReplicaUpdateStarted", f"updates replica {replica}")

    def replica_deleted(self, replica: int, why: str) -> None:
        self._say("PodCliqueSetReplicaDeleteSuccessful", f"PodCliqueSet replica {replica} deleted: {why}")

    def cliques(self, done: Done) -> None:
        self._written("PodClique", "PodCliqueCreateOrUpdateSuccessful", "created", done.created)
        self._written("PodClique", "PodCliqueCreateOrUpdateSuccessful", "updated", done.patched)
        self.cliques_deleted(done.deleted)

    def cliques_deleted(self, names: Sequence[str]) -> None:
        self._written("PodClique", "PodCliqueDeleteSuccessful", "deleted", names)

    def groups(self, done: Done) -> None:
        self._written("PodCliqueScalingGroup", "PodCliqueScalingGroupCreateSuccessful", "created", done.created)
        self._written("PodCliqueScalingGroup", "PodCliqueScalingGroupDeleteSuccessful", "deleted", done.deleted)

    def failures(self, errors: Iterable[StepError], known: frozenset[str]) -> None:
        """What failed and has not been told; one event for each reason."""
        by_reason: dict[str, list[StepError]] = {}
        for error in errors:
            by_reason.setdefault(_FAILED.get(error.code, "ReconcileError"), []).append(error)
        for reason, found in by_reason.items():
            fresh = [one for one in found if str(one) not in known]
            if fresh:
                more = f" (and {len(fresh) - 1} more)" if len(fresh) > 1 else ""
                self._say(reason, f"{fresh[0]}{more}", type="Warning")

    def _written(self, kind: str, reason: str, verb: str, names: Sequence[str]) -> None:
        if not names:
            return
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        plural = kind if len(names) == 1 else f"{len(names)} {kind}s:"
        self._say(reason, f"{verb} {plural} {', '.join(names[:MOST_NAMED])}{more}")

    def _say(self, reason: str, message: str, *, type: EventType = "Normal") -> None:
        self._recorder.record(self._about, type, reason, message)
