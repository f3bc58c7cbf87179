"""Which index and which name a new pod has. Pure.

A name follows from what the pod is to be, so that trying again after a lost answer finds the pod that is there already
instead of making a second one.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator
from typing import Final

from grove.api import hashes, names

SUFFIX: Final = 5


def free_indices(taken: Container[int]) -> Iterator[int]:
    """The indices that no pod has, lowest first."""
    return (index for index in itertools.count() if index not in taken)


def pod_name(clique: str, uid: str, index: int, template_hash: str, held: Container[str]) -> str:
    """The name of a pod of the PodClique with this uid; none that is held by a pod of it, in whatever state."""
    for number in itertools.count():
        digest = hashes.digest({"clique": uid, "index": index, "template": template_hash, "number": number})
        name = names.pod_name(clique, digest[:SUFFIX])
        if name not in held:
            return name
    raise AssertionError("unreachable")
