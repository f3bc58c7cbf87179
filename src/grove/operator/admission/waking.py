"""Waiting for whichever comes first: a change, or a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def first_of(*several: Coroutine[Any, Any, object]) -> None:
    """Returns when one of them has ended; the others are cancelled. What the ended one raised is raised."""
    tasks = [asyncio.ensure_future(one) for one in several]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
