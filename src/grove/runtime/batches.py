"""Child writes in growing batches: 1, 2, 4, … at once, and no further batch after one in which a write failed.

A thousand pods that the API server refuses cost one request, not a thousand; a thousand that it takes cost ten rounds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class BatchOutcome(Generic[Item, Result]):
    """Every item is in one of the three, in the order given."""

    written: Sequence[tuple[Item, Result]]
    failed: Sequence[tuple[Item, Exception]]
    skipped: Sequence[Item]  # not tried, because something failed before

    def raise_first(self) -> None:
        """Raises the first failure, if there is one; notes say how many others there are."""
        if self.failed:
            error = self.failed[0][1]
            error.add_note(
                f"{len(self.written)} written, {len(self.failed)} failed, {len(self.skipped)} not tried after that"
            )
            raise error


async def write_in_batches(
    items: Sequence[Item],
    write: Callable[[Item], Awaitable[Result]],
    *,
    first: int = 1,
    largest: int = 256,
) -> BatchOutcome[Item, Result]:
    """Writes the items, `first` of them at once, then twice as many each time, at most `largest`.

    A batch is waited for as a whole, also when one of its writes fails: what became of each is known. A cancellation
    cancels the writes under way.
    """
    if first < 1 or largest < first:
        raise ValueError(f"batches from {first} to {largest}: the first must be 1 or more, the largest not smaller")
    written: list[tuple[Item, Result]] = []
    failed: list[tuple[Item, Exception]] = []
    start, size = 0, first
    while start < len(items) and not failed:
        batch = items[start : start + size]
        for item, outcome in zip(batch, await _all(batch, write), strict=True):
            if isinstance(outcome, Failure):
                failed.append((item, outcome.error))
            else:
                written.append((item, outcome))
        start, size = start + len(batch), min(2 * size, largest)
    return BatchOutcome(written, failed, items[start:])


@dataclass(frozen=True)
class Failure:
    error: Exception


async def _all(batch: Sequence[Item], write: Callable[[Item], Awaitable[Result]]) -> list[Result | Failure]:
    async def one(item: Item) -> Result | Failure:
        try:
            return await write(item)
        except Exception as error:  # noqa: BLE001 - handed to the caller
            return Failure(error)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(item)) for item in batch]
    return [task.result() for task in tasks]
