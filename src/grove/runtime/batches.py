"""Child writes in growing batches: 1, 2, 4, … at once, and no further batch after one in which a write failed.

A thousand pods that the API server refuses cost one request, not a thousand; a thousand that it takes cost ten rounds.
With `Momentum`, a thousand cliques of five pods do not all begin with one: what was taken lately is taken again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)


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


class Momentum(Generic[Key]):
    """How large the first batch is of writes that are alike, by a key that says so: the last ones that went well tell.

    After a failure they begin small again. What is remembered may be forgotten at any time.
    """

    def __init__(self, *, largest: int = 32, memory: int = 1024) -> None:
        """`largest` bounds a first batch, `memory` the keys that are remembered."""
        self._largest = largest
        self._memory = memory
        self._sizes: OrderedDict[Key, int] = OrderedDict()

    def first(self, key: Key) -> int:
        """The size of the first batch."""
        return self._sizes.get(key, 1)

    async def write(
        self, key: Key, items: Sequence[Item], write: Callable[[Item], Awaitable[Result]], *, first: int = 1
    ) -> BatchOutcome[Item, Result]:
        """As `write_in_batches`, from as many as have gone well, and at least `first`."""
        outcome = await write_in_batches(items, write, first=max(first, self.first(key)))
        if outcome.failed:
            self._sizes.pop(key, None)
        elif items:
            self._sizes[key] = min(self._largest, 2 * max(self.first(key), len(items)))
            self._sizes.move_to_end(key)
            if len(self._sizes) > self._memory:
                self._sizes.popitem(last=False)
        return outcome


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
