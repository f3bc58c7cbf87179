"""Gives devices to the claims of a pod: the first ones that fit together, as kube-scheduler does. Pure.

All choices are tried, in order, until one holds; of devices with one profile that failed in a place, no other is tried
there.
A search that takes too many steps is given up, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from grove.scheduler.devicematch import Profiles
from grove.scheduler.deviceneeds import ClaimNeed
from grove.scheduler.devices import ALL, MOST_DEVICES, Constraint, DeviceTaint, DeviceToleration, Request

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


class Search:
    """One search, among the devices that can be used on one node."""

    def __init__(
        self,
        claims: Sequence[ClaimNeed],
        profiles: Profiles,
        *,
        offered: Sequence[int],
        taken: Sequence[bool],
        flaws: Sequence[str],
    ) -> None:
        """`offered` are the profiles of the devices, in their order, `taken` tells which of them others have."""
        self._claims = claims
        self._profiles = profiles
        self._offered = offered
        self._taken = [*taken]
        self._flaws = flaws
        self._given: list[Given] = []
        self._strange = ""
        self._steps = 0
        self._stages = [(at, number) for at, claim in enumerate(claims) for number in range(len(claim.requests))]

    def run(self) -> tuple[Given, ...]:
        """Raises Impossible."""
        if self._profiles.refusal:
            raise Impossible(self._profiles.refusal)
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
        wanted = [at for at, one in enumerate(self._offered) if self._chooses(wish, one)]
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
            profile = self._offered[at]
            if profile in failed or self._taken[at] or not self._chooses(wish, profile):
                continue
            before = len(self._given)
            if self._give(stage, name, wish, at) and self._some(stage, name, wish, count - 1, at + 1):
                return True
            self._take_back(before)
            failed.add(profile)
        return False

    def _give(self, stage: int, name: str, wish: Request, at: int) -> bool:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Impossible(f"the search for devices for claim {_named(self._claims)} was given up")
        claim, profile = self._stages[stage][0], self._profiles.list[self._offered[at]]
        if profile.strange:
            self._strange = profile.strange
            return False
        if self._taken[at] or any(_repels(taint, wish.tolerations) for taint in profile.taints):
            return False
        self._taken[at] = True
        self._given.append(Given(claim, name, at, wish.tolerations))
        return all(self._holds(one, claim) for one in self._claims[claim].constraints)

    def _chooses(self, wish: Request, profile: int) -> bool:
        found = self._profiles.list[profile].chosen[self._profiles.wishes[wish]]
        if isinstance(found, str):
            raise Impossible(found)
        return found

    def _take_back(self, length: int) -> None:
        while len(self._given) > length:
            self._taken[self._given.pop().device] = False

    def _holds(self, constraint: Constraint, claim: int) -> bool:
        """Whether all devices that a claim got for certain requests have one attribute in common."""
        at = self._profiles.attributes[constraint.match_attribute]
        found = [
            self._profiles.list[self._offered[one.device]].common[at] for one in self._concerned(constraint, claim)
        ]
        return all(one is not None and one == found[0] for one in found)

    def _concerned(self, constraint: Constraint, claim: int) -> Iterator[Given]:
        for one in self._given:
            names = {one.request, one.request.partition("/")[0]}
            if one.claim == claim and (not constraint.requests or not names.isdisjoint(constraint.requests)):
                yield one


def _repels(taint: DeviceTaint, tolerations: Sequence[DeviceToleration]) -> bool:
    return taint.effect in ("NoSchedule", "NoExecute") and not any(_tolerates(one, taint) for one in tolerations)


def _tolerates(one: DeviceToleration, taint: DeviceTaint) -> bool:
    if one.effect not in ("", taint.effect) or one.key not in ("", taint.key):
        return False
    return one.operator == "Exists" or (one.operator in ("", "Equal") and one.value == taint.value)


def _named(claims: Sequence[ClaimNeed]) -> str:
    return ", ".join(f'"{one.use}"' for one in claims)
