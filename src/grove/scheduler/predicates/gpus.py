"""Gpus: the memory and the model that a pod's annotations ask of the GPUs of its node. Pure."""

from __future__ import annotations

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Slots


class Gpus(Lenient):
    """What labels say of the GPUs of nodes."""

    name = "Gpus"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._memory: Counts = np.zeros(1, np.int64)
        """By code of the label."""

    def is_static(self, cls: PodClass) -> bool:
        return cls.wishes is not None and bool(cls.wishes.memory or cls.wishes.models)

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        wishes, awareness = cls.wishes, self._cluster.awareness
        assert wishes is not None
        found: Mask | None = None
        if wishes.memory:
            column = self._cluster.column(awareness.memory_label)
            if len(self._memory) < len(column.values):
                more = [awareness.memory(value) for value in column.values[len(self._memory) :]]
                self._memory = np.concatenate([self._memory, np.array(more, np.int64)])
            found = self._memory[column.codes[slots]] >= wishes.memory
        if wishes.models:
            column = self._cluster.column(awareness.model_label)
            right = np.isin(column.codes[slots], [code for one in wishes.models if (code := column.find(one)) > 0])
            found = right if found is None else found & right
        return found

    def explain(self, cls: PodClass, slot: int) -> str:
        wishes, view, awareness = cls.wishes, self._cluster.views[slot], self._cluster.awareness
        if wishes is None or view is None:
            return ""
        labels = view.metadata.labels or {}
        if wishes.models and labels.get(awareness.model_label) not in wishes.models:
            return f"GPUs are not {' or '.join(wishes.models)}, by the label {awareness.model_label}"
        if awareness.memory(labels.get(awareness.memory_label, "")) < wishes.memory:
            return f"GPUs have too little memory, or no label {awareness.memory_label}"
        return ""
