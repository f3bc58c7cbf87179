"""What a user asks of a fleet and cannot have."""

from __future__ import annotations


class Unusable(ValueError):
    """An option cannot be used as it was written."""

    def __init__(self, option: str, value: str, fault: str, remedy: str) -> None:
        super().__init__(f"{option} {value}: {fault}; {remedy}")
        self.what = f"{option} {value}: {fault}"
        self.remedy = remedy
