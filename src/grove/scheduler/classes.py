"""Pods that are the same to a scheduler. Pure.

A gang of a thousand pods has a handful of classes: everything that is computed about where a pod may go is computed
once a class. Two pods are of one class when namespace, spec and the labels that any selector in the cluster speaks of
are equal, and what their volumes and device claims come down to is too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec

from grove.kube.objects import PodSpec, PodView
from grove.scheduler.awareness import Wishes
from grove.scheduler.resources import Resources, Vector, is_device, requested

Needs: TypeAlias = Hashable
"""What the volumes and claims of a pod come down to; made and read by their predicates. None: it has none."""


class PodClass:
    """Compared by identity: `Classes` makes one of each."""

    __slots__ = (
        "accelerators",
        "labels",
        "memory",
        "namespace",
        "needs",
        "number",
        "requests",
        "spec",
        "state",
        "wishes",
    )

    def __init__(
        self,
        number: int,
        namespace: str,
        spec: PodSpec,
        labels: Mapping[str, str],
        needs: Needs,
        requests: Vector,
        accelerators: Vector,
        wishes: Wishes | None = None,
    ) -> None:
        self.number: Final = number
        self.namespace: Final = namespace
        self.spec: Final = spec
        self.labels: Final = labels
        """Only those that a selector could ask for."""
        self.needs: Final = needs
        self.requests: Final = requests
        self.accelerators: Final = accelerators
        """The part of the requests that are devices."""
        self.wishes: Final = wishes
        """What its annotations ask of nodes; None: nothing."""
        self.state: object | None = None
        """What the cluster remembers of it."""
        self.memory: Final[dict[object, object]] = {}
        """What searches remember of it, by keys of their own."""

    @property
    def priority(self) -> int:
        return self.spec.priority

    @property
    def fault(self) -> str:
        """What of its annotations cannot be read; empty: nothing."""
        return "" if self.wishes is None else self.wishes.fault

    def __repr__(self) -> str:
        return f"PodClass({self.number})"


class Classes:
    """All classes of a cluster."""

    def __init__(
        self,
        resources: Resources,
        *,
        needs: Callable[[PodView], Needs] | None = None,
        wishes: Callable[[Mapping[str, str]], Wishes | None] | None = None,
    ) -> None:
        """`wishes` reads the annotations of a pod."""
        self._resources = resources
        self._wishes = wishes or (lambda _: None)
        self._needs = needs or (lambda _: None)
        self._classes: dict[tuple[str | None, int, tuple[tuple[str, str], ...], Needs, Wishes | None], PodClass] = {}
        self._specs: dict[int, _Known] = {}  # by identity; holds the spec, so that no other gets its id
        self._signatures: dict[bytes, _Known] = {}
        self._keys: set[str] = set()
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._classes)

    @property
    def label_keys(self) -> frozenset[str]:
        """Keys that a selector has asked for so far."""
        return frozenset(self._keys)

    def speak_of(self, keys: Iterable[str]) -> bool:
        """Pods that differ in these labels are of different classes from now on. Tells whether that is new: then
        the classes of all pods must be asked for again."""
        new = set(keys) - self._keys
        self._keys |= new
        return bool(new)

    def of(self, pod: PodView) -> PodClass:
        # Specs of one template are one object (kube.sharing), so that its identity is nearly always enough.
        known = self._specs.get(id(pod.spec))
        if known is None or known.spec is not pod.spec:
            known = self._remember(pod.spec)
        labels = pod.metadata.labels or {}
        shown = tuple(sorted((key, labels[key]) for key in self._keys if key in labels)) if self._keys else ()
        needs = self._needs(pod)
        annotations = pod.metadata.annotations
        wishes = self._wishes(annotations) if annotations else None
        key = (pod.metadata.namespace, known.number, shown, needs, wishes)
        found = self._classes.get(key)
        if found is None:
            self._numbers += 1
            found = self._classes[key] = PodClass(
                self._numbers,
                pod.metadata.namespace or "",
                known.spec,
                dict(shown),
                needs,
                known.requests if wishes is None else self.with_wishes(known.requests, wishes),
                known.accelerators,
                wishes,
            )
        return found

    def with_wishes(self, requests: Vector, wishes: Wishes) -> Vector:
        """What a pod uses with what it is counted for by its annotations."""
        return tuple(sorted({**dict(requests), **dict(self._resources.vector(wishes.amounts))}.items()))

    def _remember(self, spec: PodSpec) -> _Known:
        signature = _encode(spec)
        first = self._signatures.get(signature)
        if first is None:
            requests = self._resources.vector(requested(spec))
            devices = tuple((row, found) for row, found in requests if is_device(self._resources.names[row]))
            self._numbers += 1
            first = self._signatures[signature] = _Known(spec, self._numbers, requests, devices)
        if len(self._specs) > 4 * len(self._signatures) + 4096:
            self._specs.clear()
        known = self._specs[id(spec)] = _Known(spec, first.number, first.requests, first.accelerators)
        return known

    def keep(self, used: Iterable[PodClass]) -> None:
        """Forgets all classes but these."""
        kept = set(used)
        self._classes = {key: one for key, one in self._classes.items() if one in kept}
        signatures = {key[1] for key in self._classes}
        self._signatures = {text: one for text, one in self._signatures.items() if one.number in signatures}
        self._specs = {}


class _Known(NamedTuple):
    """A spec and what is computed of it."""

    spec: PodSpec
    number: int
    requests: Vector
    accelerators: Vector


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
