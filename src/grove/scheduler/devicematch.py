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
    common: tuple[Attribute | None, ...]
    """By constraint the attribute that devices are to have in common."""
    taints: tuple[DeviceTaint, ...]
    strange: str


class Judged(NamedTuple):
    """The selectors of a wish."""

    selectors: tuple[Selector, ...]
    reads: tuple[Read, ...] | None
    """All that their answers depend on beside the driver; None: anything."""
    known: dict[object, bool | str]


class Matches:
    """For all claims, while device classes stay."""

    def __init__(self, kinds: Sequence[Kind], classes: Kept[DeviceClass]) -> None:
        self._kinds = kinds
        self._classes = classes
        self._wishes: dict[WishKey, Judged | str] = {}

    def refuses(self, wish: Request) -> str:
        """Why no device can ever be given for a wish; empty: one may be."""
        found = self._wish(wish)
        return found if isinstance(found, str) else ""

    def chooses(self, wish: Request, kind: int) -> bool | str:
        """Whether a wish chooses devices of a kind, or why that cannot be said."""
        judged = self._wish(wish)
        if isinstance(judged, str):
            return judged
        found = self._kinds[kind]
        key = kind if judged.reads is None else (found.driver, *(_read(found, one) for one in judged.reads))
        known = judged.known.get(key)
        if known is None:
            known = judged.known[key] = _judge(judged.selectors, found)
        return known

    def _wish(self, wish: Request) -> Judged | str:
        key = (wish.device_class_name, wish.selectors)
        found = self._wishes.get(key)
        if found is None:
            found = self._wishes[key] = self._compiled(wish)
        return found

    def _compiled(self, wish: Request) -> Judged | str:
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
                return Judged(found, None, {})
            reads |= one.reads
        return Judged(found, tuple(sorted(reads)), {})


class Profiles:
    """For the claims of one class of pods."""

    def __init__(self, claims: Sequence[ClaimNeed], kinds: Sequence[Kind], matches: Matches) -> None:
        self._kinds = kinds
        self._matches = matches
        self.wishes: Final = {wish: at for at, wish in enumerate(dict.fromkeys(_wishes(claims)))}
        self._attributes = list(dict.fromkeys(one.match_attribute for claim in claims for one in claim.constraints))
        self.attributes: Final = {name: at for at, name in enumerate(self._attributes)}
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

    def refusal(self) -> str:
        """Why the claims can be had nowhere; empty: they may be."""
        return next((reason for wish in self.wishes if (reason := self._matches.refuses(wish))), "")

    def _profile(self, kind: int) -> Profile:
        found = self._kinds[kind]
        chosen = tuple([self._matches.chooses(wish, kind) for wish in self.wishes])
        if not any(chosen):
            return Profile(chosen, (), (), "")  # nothing else matters
        common = tuple([_attribute(found, name) for name in self._attributes])
        return Profile(chosen, common, found.device.taints, found.strange)


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


def _attribute(kind: Kind, name: str) -> Attribute | None:
    domain, _, own = name.partition("/")
    return _named(kind.device.attributes or {}, kind.driver, domain, own)


def _read(kind: Kind, read: Read) -> Attribute | Capacity | None:
    if read.table == "attributes":
        return _named(kind.device.attributes or {}, kind.driver, read.domain, read.name)
    found: Mapping[str, Capacity] = kind.device.capacity or {}
    return found.get(f"{read.domain}/{read.name}") or (found.get(read.name) if read.domain == kind.driver else None)


def _named(found: Mapping[str, Attribute], driver: str, domain: str, own: str) -> Attribute | None:
    return found.get(f"{domain}/{own}") or (found.get(own) if domain == driver else None)
