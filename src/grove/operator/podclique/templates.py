"""The template hashes of PodCliqueSets, worked out once for each generation: thousands of PodCliques ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.api import labels, names
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.operator.tree import Tree

REMEMBERED: Final = 256


class Templates:
    """See the top of the module."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int | None], Mapping[str, str]] = {}

    def hash_of(self, pcs: PodCliqueSet, clique: ObjectMeta) -> str | None:
        """The hash that the PodClique's template has now; None where there is no such template."""
        return self._of(pcs).get((clique.labels or {}).get(labels.CLIQUE, ""))

    def _of(self, pcs: PodCliqueSet) -> Mapping[str, str]:
        key = (pcs.metadata.uid or "", pcs.metadata.generation)
        found = self._known.pop(key, None)
        if found is None:
            hashes = Tree(pcs, {}).template_hashes
            found = {names.shorten(name, names.LABEL_LIMIT): hash for name, hash in hashes.items()}
        self._known[key] = found
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return found
