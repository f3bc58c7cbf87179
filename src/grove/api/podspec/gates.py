"""What a pod waits for: scheduling gates before it is placed, readiness gates before it counts as ready."""

from __future__ import annotations

from grove.api import grammar
from grove.api.podspec.tree import Node, judge_always


def check(spec: Node) -> None:
    """The gates of a pod."""
    seen: set[str] = set()
    for gate in spec.each("schedulingGates"):
        name = gate.text("name")
        if name is None:
            continue
        if judge_always(gate.at("name"), name, grammar.qualified, gate.problems) and name in seen:
            gate.problems.duplicate(gate.at("name"), name, "name every gate once")
        seen.add(name)
    for gate in spec.each("readinessGates"):
        condition = gate.text("conditionType")
        if condition is not None:
            judge_always(gate.at("conditionType"), condition, grammar.qualified, gate.problems)
