"""Which PodCliques must be ready before the containers of another one start. Pure.

Waiters see only the pods of their own gang. In a scaled gang therefore only members of the same copy are parents; what
its scaling group depends on outside has been started long before, with the base gang.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grove.api.kinds.podcliqueset import EXPLICIT, IN_ORDER

if TYPE_CHECKING:
    from grove.operator.tree import CliquePlace, Tree


def parents(tree: Tree, place: CliquePlace) -> list[CliquePlace]:
    """The places of the parents, in the order in which the template names them."""
    return [found for name in parent_names(tree, place.clique) for found in _places(tree, place, name)]


def parent_names(tree: Tree, clique: str) -> tuple[str, ...]:
    """The cliques that a clique starts after, as the template says."""
    if tree.template.clique_startup_type == EXPLICIT:
        return tree.cliques[clique].spec.starts_after
    if tree.template.clique_startup_type == IN_ORDER:
        order = list(tree.cliques)
        position = order.index(clique)
        return (order[position - 1],) if position else ()
    return ()


def waits(tree: Tree) -> list[str]:
    """The cliques of which some pods wait for others."""
    return [name for name in tree.cliques if parent_names(tree, name)]


def _places(tree: Tree, place: CliquePlace, parent: str) -> list[CliquePlace]:
    group = tree.group_of.get(parent, "")
    if tree.gang_of(place).is_scaled:
        return [_at(place, parent, group, place.copy)] if group == place.group else []
    if not group:
        return [_at(place, parent)]
    copies = min(tree.groups[group].min_available, tree.copies(place.replica, group))
    return [_at(place, parent, group, copy) for copy in range(copies)]


def _at(place: CliquePlace, clique: str, group: str = "", copy: int = -1) -> CliquePlace:
    return type(place)(place.replica, clique, group, copy)
