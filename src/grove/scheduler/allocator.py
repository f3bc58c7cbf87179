"""Gives devices to the claims of a pod: the first ones that fit together, as kube-scheduler does. Pure.

All choices are tried, in order, until one holds; devices of one kind that failed in a place are not tried there again.
A search that takes too many steps is given up, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from grove.scheduler.cel import EvaluationError, Unsupported, compiled
from grove.scheduler.deviceneeds import ClaimNeed
from grove.scheduler.devicepools import Kind
from grove.scheduler.devices import (
    ALL,
    MOST_DEVICES,
    Attribute,
    Constraint,
    Device,
    DeviceClass,
    DeviceSelector,
    DeviceTaint,
    DeviceToleration,
    Request,
)
from grove.scheduler.surroundings import Kept

MOST_STEPS: Final = 20_000
NO_DEVICES: Final = "not enough devices are free for claim {}"


class Given(NamedTuple):
    """A device for a request."""

    claim: int
    request: str
    """`request`, or `request/alternative`."""
    device: int
    """Its place among those that were offered."""
    tolerations: tuple[DeviceToleration, ...]


class Impossible(Exception):
    """The claims cannot be had from what was offered; says why."""


class Matches:
    """Which kinds of devices requests choose; asked of each kind once."""

    def __init__(self, kinds: Sequence[Kind], classes: Kept[DeviceClass]) -> None:
        self._kinds = kinds
        self._classes = classes
        self._known: dict[tuple[str, tuple[DeviceSelector, ...], int], bool | str] = {}

    def check(self, wish: Request) -> None:
        """Raises Impossible where no device could ever be given."""
        found = self._classes.get(wish.device_class_name)
        if found is None:
            raise Impossible(f"device class {wish.device_class_name} does not exist")
        try:
            for one in (*found.spec.selectors, *wish.selectors):
                if one.cel is None:
                    raise Unsupported(f"device class {wish.device_class_name} has a selector of a new kind")
                compiled(one.cel.expression)
        except Unsupported as error:
            raise Impossible(str(error)) from error

    def matches(self, wish: Request, kind: int) -> bool:
        """Whether the wish chooses devices of a kind. Raises Impossible where that cannot be said."""
        key = (wish.device_class_name, wish.selectors, kind)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._judge(wish, self._kinds[kind])
        if isinstance(found, str):
            raise Impossible(found)
        return found

    def _judge(self, wish: Request, kind: Kind) -> bool | str:
        device_class = self._classes.get(wish.device_class_name)
        if device_class is None:
            return f"device class {wish.device_class_name} does not exist"
        try:
            return all(
                one.cel is not None and compiled(one.cel.expression).chooses(kind.driver, kind.device)
                for one in (*device_class.spec.selectors, *wish.selectors)
            )
        except EvaluationError as error:
            return f"an expression fails for a device of {kind.driver}: {error}"
        except Unsupported as error:
            return str(error)


class Search:
    """One search, among the devices that can be used on one node."""

    def __init__(
        self,
        claims: Sequence[ClaimNeed],
        kinds: Sequence[Kind],
        matches: Matches,
        *,
        offered: Sequence[int],
        taken: Sequence[bool],
        flaws: Sequence[str],
    ) -> None:
        """`offered` are the kinds of the devices, in their order, `taken` tells which of them others have."""
        self._claims = claims
        self._kinds = kinds
        self._matches = matches
        self._offered = offered
        self._taken = [*taken]
        self._flaws = flaws
        self._given: list[Given] = []
        self._strange = ""
        self._steps = 0
        self._stages = [(at, number) for at, claim in enumerate(claims) for number in range(len(claim.requests))]

    def run(self) -> tuple[Given, ...]:
        """Raises Impossible."""
        for claim in self._claims:
            for request in claim.requests:
                for wish in (request.exactly, *request.first_available):
                    if wish is not None:
                        self._matches.check(wish)
        if self._stage(0):
            return tuple(self._given)
        if self._strange:
            raise Impossible(f"what fits are {self._strange}, which Grove does not know")
        raise Impossible(self._flaws[0] if self._flaws else NO_DEVICES.format(_named(self._claims)))

    def _stage(self, stage: int) -> bool:
        if stage == len(self._stages):
            return True
        claim, number = self._stages[stage]
        request = self._claims[claim].requests[number]
        if request.exactly is not None:
            return self._wish(stage, request.name, request.exactly)
        return any(self._wish(stage, f"{request.name}/{one.name}", one) for one in request.first_available)

    def _wish(self, stage: int, name: str, wish: Request) -> bool:
        claim, _ = self._stages[stage]
        if wish.allocation_mode == ALL:
            return self._everything(stage, name, wish)
        so_far = sum(one.claim == claim for one in self._given)
        return so_far + wish.count <= MOST_DEVICES and self._some(stage, name, wish, wish.count, 0)

    def _everything(self, stage: int, name: str, wish: Request) -> bool:
        """All devices that fit, or none."""
        if self._flaws:
            raise Impossible(self._flaws[0])
        wanted = [at for at, kind in enumerate(self._offered) if self._matches.matches(wish, kind)]
        claim, before = self._stages[stage][0], len(self._given)
        so_far = sum(one.claim == claim for one in self._given)
        if (
            0 < len(wanted) <= MOST_DEVICES - so_far
            and all(self._give(stage, name, wish, at) for at in wanted)
            and self._stage(stage + 1)
        ):
            return True
        self._take_back(before)
        return False

    def _some(self, stage: int, name: str, wish: Request, count: int, start: int) -> bool:
        """So many more devices, none before `start`; then all that follows."""
        if not count:
            return self._stage(stage + 1)
        failed: set[int] = set()
        for at in range(start, len(self._offered)):
            kind = self._offered[at]
            if kind in failed or self._taken[at] or not self._matches.matches(wish, kind):
                continue
            before = len(self._given)
            if self._give(stage, name, wish, at) and self._some(stage, name, wish, count - 1, at + 1):
                return True
            self._take_back(before)
            failed.add(kind)
        return False

    def _give(self, stage: int, name: str, wish: Request, at: int) -> bool:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Impossible(f"the search for devices for claim {_named(self._claims)} was given up")
        claim, kind = self._stages[stage][0], self._kinds[self._offered[at]]
        if kind.strange:
            self._strange = kind.strange
            return False
        if self._taken[at] or any(_repels(taint, wish.tolerations) for taint in kind.device.taints):
            return False
        self._taken[at] = True
        self._given.append(Given(claim, name, at, wish.tolerations))
        return all(self._holds(one, claim) for one in self._claims[claim].constraints)

    def _take_back(self, length: int) -> None:
        while len(self._given) > length:
            self._taken[self._given.pop().device] = False

    def _holds(self, constraint: Constraint, claim: int) -> bool:
        """Whether all devices that a claim got for certain requests have one attribute in common."""
        found = [self._attribute(one, constraint.match_attribute) for one in self._concerned(constraint, claim)]
        return all(one is not None and one == found[0] for one in found)

    def _concerned(self, constraint: Constraint, claim: int) -> Iterator[Given]:
        for one in self._given:
            names = {one.request, one.request.partition("/")[0]}
            if one.claim == claim and (not constraint.requests or not names.isdisjoint(constraint.requests)):
                yield one

    def _attribute(self, given: Given, name: str) -> Attribute | None:
        kind = self._kinds[self._offered[given.device]]
        found: Mapping[str, Attribute] = kind.device.attributes or {}
        domain, _, own = name.partition("/")
        return found.get(name) or (found.get(own) if domain == kind.driver else None)


def tolerated(device: Device, tolerations: Sequence[DeviceToleration]) -> bool:
    """Whether nothing keeps pods off a device that they do not tolerate."""
    return not any(_repels(taint, tolerations) for taint in device.taints)


def _repels(taint: DeviceTaint, tolerations: Sequence[DeviceToleration]) -> bool:
    return taint.effect in ("NoSchedule", "NoExecute") and not any(_tolerates(one, taint) for one in tolerations)


def _tolerates(one: DeviceToleration, taint: DeviceTaint) -> bool:
    if one.effect not in ("", taint.effect) or one.key not in ("", taint.key):
        return False
    return one.operator == "Exists" or (one.operator in ("", "Equal") and one.value == taint.value)


def _named(claims: Sequence[ClaimNeed]) -> str:
    return ", ".join(f'"{one.use}"' for one in claims)
