"""Figures of a benchmark: a row each on the screen, and the same in build/bench/NAME.json.

A bar is what the figure must not exceed. Machines are noisy: figures that matter are ratios of two things measured in
turns in one run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).parents[2] / "build" / "bench"


@dataclass(frozen=True)
class Figure:
    """One measured value; without a bar it is only told."""

    name: str
    value: float
    bar: float | None = None

    @property
    def held(self) -> bool | None:
        return None if self.bar is None else self.value <= self.bar


def report(benchmark: str, figures: Sequence[Figure]) -> int:
    """Prints and writes the figures; the exit code tells whether every bar held."""
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        verdict = {True: "held", False: "missed", None: ""}[figure.held]
        bar = "" if figure.bar is None else f"{figure.bar:g}"
        print(f"{figure.name:<{width}}  {figure.value:>10.4g}  {bar:>8}  {verdict}".rstrip())
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{benchmark}.json"
    path.write_text(json.dumps([{**asdict(figure), "held": figure.held} for figure in figures], indent=2) + "\n")
    print(path, file=sys.stderr)
    return 0 if all(figure.held is not False for figure in figures) else 1


def in_turns(rounds: int, *actions: Callable[[], object]) -> list[float]:
    """Median seconds of each action, measured in turns, so that a noisy moment hits all of them."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, taken in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            taken.append(time.perf_counter() - start)
    return [median(taken) for taken in times]
