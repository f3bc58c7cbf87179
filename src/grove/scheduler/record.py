"""Decisions as they are written on PodGangs, so that another leader can carry on where one was killed. Pure.

A record is written before the first of several pods is bound, and stays until the next decision: it says what was
decided. It is unfinished while some of its pods wait, all of them are still the same, and its time is not up.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import zlib
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from grove.api.conditions import moment, timestamp
from grove.kube.objects import PodView

MAX_BYTES: Final = 200_000
"""Of one annotation; an object has 256 kB for all."""
_LEVEL: Final = 6
_LARGEST: Final = 16 << 20
"""Of what is read, so that nobody makes us unpack more."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was decided. Times as the API server writes them."""

    term: int
    """Of the leader."""
    decided: str
    until: str
    """By then all is done, or taken back."""
    uids: str
    """A hash of those of the pods."""
    score: float = 1.0
    pods: str = ""
    """Nodes and the names of the pods that go there, compressed; empty where that is too much to write down."""
    domains: tuple[str, ...] = ()
    """Where the gang is, as far as it is in one domain: `key=name`."""
    victims: tuple[str, ...] = ()
    """Pods that were evicted for it: `namespace/name`."""


class Target(msgspec.Struct, frozen=True):
    """A pod and where it is to go."""

    namespace: str
    name: str
    uid: str
    node: str


def make(
    targets: Iterable[Target],
    *,
    term: int,
    now: datetime.datetime,
    until: datetime.datetime,
    score: float = 1.0,
    domains: Iterable[str] = (),
    victims: Iterable[str] = (),
) -> Record:
    wanted = list(targets)
    pods = _packed(wanted)
    return Record(
        term=term,
        decided=timestamp(now),
        until=timestamp(until),
        uids=_hash(one.uid for one in wanted),
        score=round(score, 4),
        pods=pods if len(pods) <= MAX_BYTES else "",
        domains=tuple(domains),
        victims=tuple(victims),
    )


def text(record: Record) -> str:
    """The annotation."""
    return msgspec.json.encode(record).decode()


def read(annotation: str | None) -> Record | None:
    """None where there is none, or nothing that we have written."""
    if not annotation:
        return None
    try:
        return msgspec.json.decode(annotation, type=Record)
    except (msgspec.DecodeError, ValueError):
        return None


def until(record: Record) -> datetime.datetime:
    return moment(record.until)


def unfinished(
    record: Record, find: Callable[[str, str], PodView | None], now: datetime.datetime
) -> tuple[Target, ...]:
    """The pods that wait for what was decided; none where all is done, or the decision is not good any more."""
    if now >= until(record):
        return ()
    found: list[Target] = []
    for namespace, name, node in _unpacked(record.pods):
        pod = find(namespace, name)
        if pod is None:
            return ()
        if pod.node_name and pod.node_name != node:
            return ()
        found.append(Target(namespace, name, pod.metadata.uid or "", "" if pod.node_name else node))
    if _hash(one.uid for one in found) != record.uids:
        return ()
    return tuple(one for one in found if one.node)


def _hash(uids: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(uids)).encode()).hexdigest()[:16]


def _packed(targets: Iterable[Target]) -> str:
    by_node: dict[str, dict[str, list[str]]] = {}
    for one in targets:
        by_node.setdefault(one.node, {}).setdefault(one.namespace, []).append(one.name)
    return base64.b64encode(zlib.compress(msgspec.json.encode(by_node), _LEVEL)).decode()


def _unpacked(pods: str) -> list[tuple[str, str, str]]:
    """Namespace, name and node; nothing where it is not what `_packed` made."""
    if not pods:
        return []
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(pods), _LARGEST)
        by_node = msgspec.json.decode(raw, type=dict[str, dict[str, list[str]]])
    except (ValueError, zlib.error):
        return []
    return [
        (namespace, name, node)
        for node, namespaces in by_node.items()
        for namespace, names in namespaces.items()
        for name in names
    ]
