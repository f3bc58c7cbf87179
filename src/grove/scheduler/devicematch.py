"""Which devices the wishes of claims choose, and what else of a device matters to them. Pure.

A driver may give every device an attribute of its own, so that no two are alike. To some claims, most are: an
expression is evaluated once for all that it cannot tell apart, and devices with one profile are one to the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from grove.scheduler.cel import EvaluationError, Selector, Unsupported, compiled
from grove.scheduler.celsyntax import Read
from grove.scheduler.deviceneeds import ClaimNeed
from grove.scheduler.devicepools import Kind
from grove.scheduler.devices import Attribute, Capacity, DeviceClass, DeviceSelector, DeviceTaint, Request
from grove.scheduler.surroundings import Kept

WishKey: TypeAlias = tuple[str, tuple[DeviceSelector, ...]]
"""A device class, and selectors beside those of the class."""


class Profile(NamedTuple):
    """What of a device matters to certain claims."""

    chosen: tuple[bool | str, ...]
    """By wish whether it chooses the device, or why that cannot be said."""
    common: tuple[Attribute | Capacity | None, ...]
    """By constraint the attribute that devices are to have in common."""
    taints: tuple[DeviceTaint, ...]
    strange: str


class _Place(NamedTuple):
    """Where a device has an attribute or a capacity."""

    of_attributes: bool
    full: str
    domain: str
    own: str
    """Its name on devices of the driver that is the domain."""

    def find(self, kind: Kind) -> Attribute | Capacity | None:
        device = kind.device
        table: Mapping[str, Attribute | Capacity] = (device.attributes if self.of_attributes else device.capacity) or {}
        return table.get(self.full) or (table.get(self.own) if self.domain == kind.driver else None)


class Wish(NamedTuple):
    """The selectors of a request and its class."""

    selectors: tuple[Selector, ...]
    places: tuple[_Place, ...] | None
    """All that their answers depend on beside the driver; None: anything."""
    known: dict[object, bool | str]

    def chooses(self, number: int, kind: Kind) -> bool | str:
        """Whether it chooses devices of a kind, or why that cannot be said."""
        key = number if self.places is None else (kind.driver, *[place.find(kind) for place in self.places])
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = _judge(self.selectors, kind)
        return known


class Matches:
    """For all claims, while device classes stay."""

    def __init__(self, classes: Kept[DeviceClass]) -> None:
        self._classes = classes
        self._wishes: dict[WishKey, Wish | str] = {}

    def wish(self, wish: Request) -> Wish | str:
        """What it chooses by, or why no device can ever be given for it."""
        key = (wish.device_class_name, wish.selectors)
        found = self._wishes.get(key)
        if found is None:
            found = self._wishes[key] = self._compiled(wish)
        return found

    def _compiled(self, wish: Request) -> Wish | str:
        device_class = self._classes.get(wish.device_class_name)
        if device_class is None:
            return f"device class {wish.device_class_name} does not exist"
        selectors = (*device_class.spec.selectors, *wish.selectors)
        expressions = [one.cel.expression for one in selectors if one.cel is not None]
        if len(expressions) < len(selectors):
            return f"device class {wish.device_class_name} has a selector of a new kind, which Grove does not know"
        try:
            found = tuple(compiled(one) for one in expressions)
        except Unsupported as error:
            return str(error)
        reads: set[Read] = set()
        for one in found:
            if one.reads is None:
                return Wish(found, None, {})
            reads |= one.reads
        return Wish(found, tuple(_place(*one) for one in sorted(reads)), {})


class Profiles:
    """For the claims of one class of pods."""

    def __init__(self, claims: Sequence[ClaimNeed], kinds: Sequence[Kind], matches: Matches) -> None:
        self._kinds = kinds
        self.wishes: Final = {wish: at for at, wish in enumerate(dict.fromkeys(_wishes(claims)))}
        found = [matches.wish(wish) for wish in self.wishes]
        self.refusal: Final = next((one for one in found if isinstance(one, str)), "")
        """Why the claims can be had nowhere; empty: they may be."""
        self._wishes = [one for one in found if not isinstance(one, str)]
        names = dict.fromkeys(one.match_attribute for claim in claims for one in claim.constraints)
        self.attributes: Final = {name: at for at, name in enumerate(names)}
        self._common = [_place("attributes", *name.split("/", 1)) for name in names]
        self.list: Final[list[Profile]] = []
        self._numbers: dict[Profile, int] = {}
        self._of: dict[int, int] = {}

    def of(self, kind: int) -> int:
        """The number of the profile of a kind."""
        found = self._of.get(kind)
        if found is None:
            profile = self._profile(kind)
            found = self._numbers.get(profile)
            if found is None:
                found = self._numbers[profile] = len(self.list)
                self.list.append(profile)
            self._of[kind] = found
        return found

    def _profile(self, number: int) -> Profile:
        kind = self._kinds[number]
        chosen = tuple([wish.chooses(number, kind) for wish in self._wishes])
        if not any(chosen):
            return Profile(chosen, (), (), "")  # nothing else matters
        common = tuple([place.find(kind) for place in self._common])
        return Profile(chosen, common, kind.device.taints, kind.strange)


def _wishes(claims: Sequence[ClaimNeed]) -> Iterator[Request]:
    for claim in claims:
        for request in claim.requests:
            if request.exactly is not None:
                yield request.exactly
            yield from request.first_available


def _judge(selectors: Sequence[Selector], kind: Kind) -> bool | str:
    try:
        return all(one.chooses(kind.driver, kind.device) for one in selectors)
    except EvaluationError as error:
        return f"an expression fails for a device of {kind.driver}: {error}"


def _place(table: str, domain: str, own: str = "") -> _Place:
    return _Place(table == "attributes", f"{domain}/{own}", domain, own)
