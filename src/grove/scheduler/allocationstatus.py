"""The status of a device claim that was given devices, as its driver and its consumers read it. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, TypeAlias

from grove.api import codec
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.scheduler.devices import Configuration, ResourceClaim
from grove.scheduler.promises import DevicePromise
from grove.scheduler.surroundings import Surroundings

JSON: TypeAlias = dict[str, Any]


def allocated(claim: ResourceClaim, promise: DevicePromise, surroundings: Surroundings, now: float) -> JSON:
    """`status.allocation`. The time is not for us: without it kube-scheduler can reserve it for no pod."""
    devices: JSON = {"results": [codec.encode(one) for one in promise.results]}
    chosen = list(dict.fromkeys(one.request for one in promise.results))
    config = [*_of_classes(claim, chosen, surroundings), *_of_claim(claim, chosen)]
    if config:
        devices["config"] = config
    time = datetime.datetime.fromtimestamp(int(now), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found: JSON = {"devices": devices, "allocationTimestamp": time}
    if promise.reach is not None:
        found["nodeSelector"] = codec.encode(promise.reach)
    return found


def consumer(pod: PodView) -> JSON:
    """An entry of `status.reservedFor`."""
    return {"resource": PODS.plural, "name": pod.metadata.name, "uid": pod.metadata.uid}


def _of_classes(claim: ResourceClaim, chosen: list[str], surroundings: Surroundings) -> Iterator[JSON]:
    """What each class says, once, for all requests that got devices of it."""
    requests: dict[str, list[str]] = {}
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            requests.setdefault(request.exactly.device_class_name, []).append(request.name)
        for one in request.first_available:
            if f"{request.name}/{one.name}" in chosen:
                requests.setdefault(one.device_class_name, []).append(f"{request.name}/{one.name}")
    for name, asked in requests.items():
        found = surroundings.device_classes.get(name)
        for config in found.spec.config if found is not None else ():
            yield _entry("FromClass", asked, config)


def _of_claim(claim: ResourceClaim, chosen: list[str]) -> Iterator[JSON]:
    """What the claim says of requests that got devices."""
    asked = {*chosen, *(name.partition("/")[0] for name in chosen)}
    for one in claim.spec.devices.config:
        if not one.requests or not asked.isdisjoint(one.requests):
            yield _entry("FromClaim", list(one.requests), one)


def _entry(source: str, requests: list[str], one: Configuration) -> JSON:
    found: JSON = {"source": source}
    if requests:
        found["requests"] = requests
    if one.opaque is not None:
        found["opaque"] = one.opaque
    return found
