"""A question as a model of OR-Tools. Imported only by the solver's worker: the library is an optional extra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from ortools.sat.python import cp_model

from grove.scheduler.placement.exact import Question, Solution

_Here: TypeAlias = dict[int, cp_model.IntVar]
"""By node how many pods of a load."""
_SEED: Final = 1


def answer(asked: Question, work: float) -> Solution:
    """The best placement that is found within so much work."""
    model = cp_model.CpModel()
    chosen = [[model.new_bool_var("") for _ in domains] for domains in asked.domains]
    for choices in chosen:
        if choices:
            model.add_exactly_one(choices)
    counts = [*_counts(asked, model, chosen)]
    _limit(asked, model, counts)
    gains = [
        domain.gain * choice
        for domains, choices in zip(asked.domains, chosen, strict=True)
        for domain, choice in zip(domains, choices, strict=True)
        if domain.gain
    ]
    if gains:
        model.maximize(sum(gains))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = _SEED
    solver.parameters.max_deterministic_time = work
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Solution("none")
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solution("unknown")
    found = tuple(
        (at, node, many)
        for at, here in enumerate(counts)
        for node, variable in here.items()
        if (many := solver.value(variable))
    )
    return Solution("best" if status == cp_model.OPTIMAL else "found", found)


def _counts(asked: Question, model: cp_model.CpModel, chosen: list[list[cp_model.IntVar]]) -> Iterator[_Here]:
    """Pods are on nodes of the domains that were chosen for their scope and for all around it."""
    for load in asked.loads:
        most = asked.most[load.kind]
        here = {node: model.new_int_var(0, min(many, load.many), "") for node, many in enumerate(most) if many}
        model.add(sum(here.values()) == load.many)
        at = load.ask
        while at >= 0:
            if chosen[at]:
                over: dict[int, list[cp_model.IntVar]] = {node: [] for node in here}
                for domain, choice in zip(asked.domains[at], chosen[at], strict=True):
                    for node in domain.nodes:
                        if node in over:
                            over[node].append(choice)
                for node, choices in over.items():
                    model.add(here[node] <= min(most[node], load.many) * sum(choices))
            at = asked.parents[at]
        yield here


def _limit(asked: Question, model: cp_model.CpModel, counts: list[_Here]) -> None:
    """No node gives more than it has; nor more pods of a kind than its rules let in."""
    for row, free in enumerate(asked.free):
        for node, have in enumerate(free):
            taken = [
                asked.requests[load.kind][row] * here[node]
                for load, here in zip(asked.loads, counts, strict=True)
                if node in here and asked.requests[load.kind][row]
            ]
            if taken:
                model.add(sum(taken) <= have)
    for kind, most in enumerate(asked.most):
        for node, many in enumerate(most):
            of_kind = [
                here[node] for load, here in zip(asked.loads, counts, strict=True) if load.kind == kind and node in here
            ]
            if len(of_kind) > 1:
                model.add(sum(of_kind) <= many)
