"""Whether a process is well and whether it is ready: named checks, each of which gives a problem or nothing.

The kubelet restarts what is not well, and sends no traffic to what is not ready. A standby is ready: it serves
webhooks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Check = Callable[[], str]


@dataclass(frozen=True)
class Report:
    """The problem of each check; empty where there is none."""

    problems: Mapping[str, str]

    @property
    def good(self) -> bool:
        return not any(self.problems.values())

    def text(self) -> str:
        lines = [f"{'-' if problem else '+'} {name}: {problem or 'ok'}" for name, problem in self.problems.items()]
        return "\n".join([*lines, "ok" if self.good else "not ok"]) + "\n"


def look(checks: Mapping[str, Check]) -> Report:
    """Asks every check; one that fails is a problem itself."""
    return Report({name: ask(check) for name, check in checks.items()})


def ask(check: Check) -> str:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - it becomes the answer
        return f"the check failed: {error!r}"
