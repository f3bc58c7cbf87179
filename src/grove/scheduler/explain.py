"""Why a gang waits, in words: one plain sentence for conditions and events, and all that is known for who asks. Pure.

The sentence stands in the condition of the PodGang, in its event and in the conditions of its pods. It is written when
it says something else than before; while only numbers or the nearest domain change, it stays for a while (`steady`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from grove.scheduler.gangs import Gang
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.verdicts import NotFound, Reason, Shortfall

LONGEST: Final = 1000
"""Bytes of a sentence."""
STANDS: Final = 300.0
"""Seconds that a sentence stands while only its numbers change."""

_UNITS: Final = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20))
_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


class Said(NamedTuple):
    """A sentence, and what it is about."""

    reason: Reason
    sentence: str
    essence: tuple[str, ...] = ()
    """What makes it another sentence: its reason, scope, level, group and resource, but no number and no domain."""
    at: float = 0.0


class Nearest(msgspec.Struct, frozen=True, rename="camel"):
    """A domain that comes near."""

    domain: str
    group: str
    fits: int
    needs: int
    resource: str = ""
    lacks: str = ""


class Refusal(msgspec.Struct, frozen=True, rename="camel"):
    """What nodes have against the pods."""

    why: str
    nodes: int


class Suggestion(msgspec.Struct, frozen=True, rename="camel"):
    """A small change after which it would fit."""

    kind: str
    """`relax`, `fewer`, `nodes` or `evict`."""
    text: str
    is_tried: bool = False
    """Whether a placement was found with it; else it follows from what is missing."""


class Explanation(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All that is known about a wait: `grove why` and `/debug` show it."""

    gang: str
    reason: Reason
    sentence: str
    proven: bool = False
    scope: str = ""
    level: str = ""
    nearest: tuple[Nearest, ...] = ()
    reasons: tuple[Refusal, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    steps: int = 0
    queue: str = ""
    position: int = 0
    """Its place in the order of all that wait, from one; 0: unknown."""
    waits_since: float = 0.0
    held_for: tuple[str, ...] = ()
    """Gangs for which the room is held that would do for it."""


def refused(gang: Gang, verdict: NotFound, *, budget: str, levels: Mapping[str, str] | None = None) -> Said:
    """What the search says. `budget` is what was configured; `levels` are names of levels by label key."""
    nearest = verdict.shortfalls[0] if verdict.shortfalls else None
    level = level_name(verdict.key, levels)
    about = f" (for {verdict.scope})" if verdict.scope not in ("", gang.root.name) and _is_scope(verdict) else ""
    parts = [_nearest(nearest, level) + about, _proof(verdict, level, budget)]
    if verdict.reasons:
        parts.append("nodes refuse its pods because of: " + ", ".join(why for why, _ in verdict.reasons[:3]))
    reason: Reason = "Unschedulable" if verdict.proven else "SearchEnded"
    group, resource = (nearest.group, nearest.resource) if nearest else ("", "")
    whys = tuple(why for why, _ in verdict.reasons[:3])
    return Said(reason, cut("; ".join(parts)), (reason, verdict.scope, verdict.key, group, resource, *sorted(whys)))


def waits_for_pods(gang: Gang) -> Said:
    """Its pods do not all exist, or are held back by gates."""
    lacking = [one for one in gang.groups() if len(one.placed) + len(one.waiting) < one.minimum]
    named = ", ".join(f"{one.minimum} of {one.name}" for one in lacking)
    sentence = cut(f"it waits until these pods exist without scheduling gates: {named}")
    return Said("WaitingForPods", sentence, ("WaitingForPods", sentence))


def waits_for_base(base: str) -> Said:
    return _plain("WaitingForBase", f"it waits until the gang that it extends is placed: {base}")


def limited(why: str) -> Said:
    """`why` is what `Queues.may_start` gave."""
    return _plain("QueueLimit", why)


def not_bound(why: BindFailure) -> Said:
    """`why` is what became of the last try."""
    about = f": {why.message}" if why.message else ""
    sentence = cut(f"it has a place, but its pods could not be bound{about}; it is tried again in a while")
    return Said("BindConflict", sentence, ("BindConflict", why.reason))


def room_held(owner: str) -> Said:
    return _plain("RoomHeld", f"there is room for it, which is held for a gang that has waited longer: {owner}")


def room_kept(owner: str) -> Said:
    return _plain("RoomHeld", f"there is room for it, which is kept for a moment for pods of another gang: {owner}")


def node_distrusted(node: str) -> Said:
    return _plain("RoomHeld", f"there is room for it on {node}, which has just refused a pod: it is tried again soon")


def preempting(victims: int) -> Said:
    sentence = f"it waits until {_count(victims, 'pod')} that made room for it have ended"
    return Said("Preempting", sentence, ("Preempting",))


def ending() -> Said:
    return _plain("RoomHeld", "it waits until pods that are ending have left its place, which is kept for it")


def no_gang(key: str) -> Said:
    return _plain("WaitingForPods", f"its pods name PodGang {key}, which does not exist")


def not_initialized() -> Said:
    return _plain("WaitingForPods", "it waits until all of its pods have been created (condition Initialized)")


def no_more_room(gang: Gang) -> Said:
    """Of a gang that runs and would take more."""
    said = f"there is no room for more of its pods than its minimum and those that run: {_count(gang.waiting, 'pod')}"
    return Said("Unschedulable", f"{said} wait", ("Unschedulable", "extras"))


def unsupported(why: str) -> Said:
    return _plain("Unsupported", why)


def steady(held: Said | None, said: Said, now: float) -> Said:
    """What is to be said now: what is said already, unless it has become another matter or has stood long enough. The
    very same object where nothing is to be written."""
    if held is not None:
        if held.sentence == said.sentence and held.reason == said.reason:
            return held
        if held.essence == said.essence and now - held.at < STANDS:
            return held
    return said._replace(at=now)


def record(
    gang: Gang,
    said: Said,
    verdict: NotFound | None = None,
    *,
    suggestions: Iterable[Suggestion] = (),
    position: int = 0,
    held_for: tuple[str, ...] = (),
) -> Explanation:
    """All that is known about why a gang waits."""
    found = verdict or NotFound(proven=False, scope="", key="")
    return Explanation(
        gang=gang.key,
        reason=said.reason,
        sentence=said.sentence,
        proven=found.proven,
        scope=found.scope,
        level=found.key,
        nearest=tuple(
            Nearest(one.domain, one.group, one.fits, one.needs, one.resource, _amount(one.resource, one.lacks))
            for one in found.shortfalls
        ),
        reasons=tuple(Refusal(why, nodes) for why, nodes in found.reasons),
        suggestions=tuple(suggestions),
        steps=found.looked,
        queue=gang.queue,
        position=position,
        waits_since=gang.created,
        held_for=held_for,
    )


def level_name(key: str, levels: Mapping[str, str] | None = None) -> str:
    """A level as people call it: `rack` for `topology.kubernetes.io/rack`, `node` for host names."""
    if levels and key in levels:
        return levels[key]
    short = key.rsplit("/", 1)[-1]
    return "node" if short == "hostname" else short


def cut(sentence: str) -> str:
    """At most as long as a condition should be."""
    encoded = sentence.encode()
    if len(encoded) <= LONGEST:
        return sentence
    return encoded[: LONGEST - 3].decode(errors="ignore") + "…"


def _nearest(found: Shortfall | None, level: str) -> str:
    if found is None:
        return f"no node has the label of a {level}" if level else "there is no node that its pods may run on"
    where = f"{level} {found.domain}" if level and found.domain else "the cluster"
    pods = _count(found.needs, "pod", f"of {found.group}" if found.group else "")
    if found.fits >= found.needs:
        told = f"room for {pods}, but not with the rest beside them"
        return f"{where} comes nearest: it has {told}" if level else f"the cluster has {told}"
    lacks = f" and lacks {_amount(found.resource, found.lacks)} {found.resource}" if found.lacks else ""
    fits = f"fits {found.fits} of {pods}{lacks}"
    return f"{where} comes nearest: it {fits}" if level and found.domain else f"the cluster {fits}"


def _proof(verdict: NotFound, level: str, budget: str) -> str:
    if verdict.proven:
        return f"proven: no {level} can take them now" if level else "proven: there is no room for them now"
    return (
        f"not proven: the search ended when its budget of {budget} was spent; "
        "a greater placement.searchBudget lets it look longer"
    )


def _is_scope(verdict: NotFound) -> bool:
    """Whether the scope says more than the group that is named anyway."""
    return not verdict.shortfalls or verdict.shortfalls[0].group != verdict.scope


def _plain(reason: Reason, sentence: str) -> Said:
    return Said(reason, cut(sentence), (reason, sentence))


def _count(count: int, noun: str, more: str = "") -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}{' ' if more else ''}{more}"


def _amount(resource: str, amount: int) -> str:
    """An amount as people write it, rounded up."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource.startswith(_BYTES):
        for unit, size in _UNITS:
            if amount >= size:
                return f"{-(-amount // size)}{unit}"
    return str(amount)
