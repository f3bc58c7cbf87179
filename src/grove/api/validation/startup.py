"""Start order: dependencies that exist and lead somewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from grove.api.errors import Path, Problems, choices
from grove.api.kinds.podcliqueset import EXPLICIT, CliqueTemplate, PodCliqueSet
from grove.api.validation.places import CLIQUES

_STARTS_AFTER: Final = ("spec", "startsAfter")


def check(pcs: PodCliqueSet, problems: Problems) -> None:
    """Reports dependencies that could never be met, and those that nobody reads."""
    template = pcs.spec.template
    if template.clique_startup_type != EXPLICIT:
        _warn_of_unread(pcs, problems)
        return
    known = dict.fromkeys(clique.name for clique in template.cliques)
    for position, clique in enumerate(template.cliques):
        _check_clique(clique, known, CLIQUES.index(position).field(*_STARTS_AFTER), problems)
    graph = {clique.name: [name for name in clique.spec.starts_after if name in known] for clique in template.cliques}
    cycles = [sorted(component) for component in components(graph) if len(component) > 1]
    if cycles:
        problems.invalid(
            CLIQUES,
            sorted(cycles),
            "clique must not have circular dependencies",
            f"remove a startsAfter between {' and '.join(cycles[0][:2])}",
        )


def _warn_of_unread(pcs: PodCliqueSet, problems: Problems) -> None:
    for position, clique in enumerate(pcs.spec.template.cliques):
        if clique.spec.starts_after:
            problems.warn(
                CLIQUES.index(position).field(*_STARTS_AFTER),
                f"has no effect with cliqueStartupType {pcs.spec.template.clique_startup_type}",
                f"set cliqueStartupType to {EXPLICIT}, or remove startsAfter",
            )


def _check_clique(clique: CliqueTemplate, known: Collection[str], path: Path, problems: Problems) -> None:
    seen: set[str] = set()
    for position, name in enumerate(clique.spec.starts_after):
        where = path.index(position)
        if not name.strip():
            problems.required(where, "clique dependency must not be empty", "name a clique, or remove the entry")
        elif name == clique.name:
            problems.invalid(where, name, "clique dependency cannot refer to itself", "remove the entry")
        elif name not in known:
            problems.invalid(
                where,
                name,
                "unknown clique names found, all clique dependencies must be defined as cliques",
                f"name one of the cliques: {choices(known)}",
            )
        if name in seen:
            problems.duplicate(where, name, "name each clique once")
        seen.add(name)


def components(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected components of a graph (Tarjan, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    waiting: set[str] = set()
    """What is on the stack."""
    found: list[list[str]] = []
    for start in graph:
        if start in order:
            continue
        pending = [(start, iter(graph[start]))]
        order[start] = low[start] = len(order)
        stack.append(start)
        waiting.add(start)
        while pending:
            node, successors = pending[-1]
            for successor in successors:
                if successor not in order:
                    order[successor] = low[successor] = len(order)
                    stack.append(successor)
                    waiting.add(successor)
                    pending.append((successor, iter(graph[successor])))
                    break
                if successor in waiting:
                    low[node] = min(low[node], order[successor])
            else:
                pending.pop()
                if pending:
                    low[pending[-1][0]] = min(low[pending[-1][0]], low[node])
                if low[node] == order[node]:
                    component = [stack.pop()]
                    while component[-1] != node:
                        component.append(stack.pop())
                    waiting.difference_update(component)
                    found.append(component[::-1])
    return found
