"""Which member PodCliques of a scaling group are created, patched and deleted. Pure.

Copies are told apart by their indices, never counted: a hole is filled, and what is beyond the wished number goes,
whatever else is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from grove.api.fields import JSON
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.operator import cliquesync
from grove.operator.tree import GroupPlace, Tree
from grove.operator.views import PodCliqueView


def basis(tree: Tree, place: GroupPlace, group: PodCliqueScalingGroup, existing: Iterable[PodCliqueView]) -> object:
    """All that a plan follows from while no copy leaves: where it is the same again, so is the plan.

    To compare it costs next to nothing; to plan means to make every member, in order to find that it is so already.
    """
    return (
        tree.pcs.metadata.uid,
        tree.pcs.metadata.generation,
        tree.pcs.metadata.annotations,
        group.metadata.uid,
        group.spec.replicas,
        [tree.copies(place.replica, name) for name in tree.groups],
        [
            (of.uid, of.generation, of.deletion_timestamp, of.labels, of.annotations, of.finalizers)
            for of in (one.metadata for one in existing)
        ],
    )


def plan(
    tree: Tree,
    place: GroupPlace,
    replicas: int,
    existing: Iterable[PodCliqueView],
    *,
    owner: JSON,
    leaving: Collection[int] = (),
    on_delete: bool = False,
) -> cliquesync.Plan:
    """`leaving` are the copies that are replaced or terminated now: their PodCliques go, all at once.

    A member keeps the template it was made from until its copy is replaced; with OnDelete it follows at once, and its
    pods when somebody deletes them.
    """
    indices = (index for index in range(replicas) if index not in leaving)
    wanted = [one for index in indices for one in tree.member_places(place.replica, place.group, index)]
    return cliquesync.plan(tree, wanted, existing, owner=owner, may_follow_template=lambda _: on_delete)
