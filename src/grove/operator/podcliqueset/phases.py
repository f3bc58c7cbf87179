"""Where a set is in its life, in one word. Pure.

Creating → Scheduling → Available ⇄ Updating
                           ⇅
                        Degraded        Failed: errors, and nothing runs        Terminating
"""

from __future__ import annotations

from typing import Final, Literal

Phase = Literal["Creating", "Scheduling", "Available", "Updating", "Degraded", "Failed", "Terminating"]

TERMINATING: Final[Phase] = "Terminating"


def of(*, replicas: int, available: int, exists: bool, is_updating: bool, is_breached: bool, has_errors: bool) -> Phase:
    """`exists`: whether everything was made that the set consists of."""
    if has_errors and replicas and not available:
        return "Failed"
    if is_updating:
        return "Updating"
    if has_errors or is_breached:
        return "Degraded"
    if available >= replicas:
        return "Available"
    return "Scheduling" if exists else "Creating"
