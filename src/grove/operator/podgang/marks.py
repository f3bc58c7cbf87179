"""Labels and annotations of a PodGang: those mirrored from its PodCliqueSet, and what others have put there. Pure.

What is taken off the set must go from its gangs too, and what a scheduler or user has put on a gang must stay. So each
gang records which keys were mirrored; no other foreign key is ever removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from grove.api import labels
from grove.api.fields import JSON

RECORD: Final = "grove.io/mirrored"
"""Annotation of PodGangs: the keys that were mirrored, as JSON."""

_TOOLS: Final = "kubectl.kubernetes.io/"
"""Annotations about how the set itself was applied; the last one applied holds all of the set."""


_FOR_THE_SCHEDULER: Final = frozenset({labels.QUEUE, labels.PREEMPTION, labels.RESTART_COST, labels.EXPECTED_DURATION})


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The mirrored keys."""

    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()


_NOTHING: Final = Record()


def mirrored(found: Mapping[str, str] | None) -> dict[str, str]:
    """What of the set's labels or annotations its gangs carry too; of Grove's own only what the scheduler reads."""
    return {
        key: value
        for key, value in (found or {}).items()
        if key in _FOR_THE_SCHEDULER or not (labels.is_groves(key) or key.startswith(_TOOLS))
    }


def record(label_keys: Iterable[str], annotation_keys: Iterable[str]) -> dict[str, str]:
    """The annotation that names the mirrored keys; none where there are none."""
    found = Record(tuple(sorted(label_keys)), tuple(sorted(annotation_keys)))
    return {} if found == _NOTHING else {RECORD: msgspec.json.encode(found).decode()}


def recorded(annotations: Mapping[str, str] | None) -> Record:
    """The keys that were mirrored; nothing where somebody has spoilt the record."""
    try:
        return msgspec.json.decode((annotations or {}).get(RECORD, "{}"), type=Record)
    except msgspec.DecodeError:
        return _NOTHING


def difference(held: Mapping[str, str] | None, wanted: Mapping[str, str], gone: Iterable[str]) -> JSON:
    """The merge patch of labels or annotations: what is wanted, and without those of `gone` that no longer are."""
    stored = held or {}
    changed: JSON = {key: None for key in gone if key in stored and key not in wanted}
    return changed | {key: value for key, value in wanted.items() if stored.get(key) != value}
