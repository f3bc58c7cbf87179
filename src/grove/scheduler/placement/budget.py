"""How long a search may go on, in steps: time would make two runs differ."""

from __future__ import annotations

from typing import Final

STEPS_PER_MILLISECOND: Final = 100
"""What a step of the search costs is about ten microseconds on the machines that we know."""


class Budget:
    """Steps that are left; shared by all parts of one search."""

    __slots__ = ("left", "spent")

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.spent = 0

    def spend(self, steps: int = 1) -> bool:
        """Takes steps. Whether there were any left: else whoever asks stops, and what was not found is not proven."""
        self.left -= steps
        self.spent += steps
        return self.left >= 0

    @property
    def is_spent(self) -> bool:
        return self.left < 0
