"""`make bench-cache`: 100,000 pods, from the bytes of a list into the store, with what plain dicts cost beside it.

Each way runs in processes of its own, in turns. Memory is the growth of the resident set, so it counts what the
allocator loses too. CPU is what taking the pages over costs, the collector included; making the pages is not counted.
The dicts are measured on a sample: a pod costs the same however many there are, but for the collector, whose passes
over dicts grow with their number; so the ratio flatters the dicts.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from grove.api import labels
from grove.kube.indexes import by_label, by_owner
from grove.kube.objects import PodView
from grove.kube.sharing import Sharing
from grove.kube.store import Store
from tests.bench.figures import Figure, report
from tests.bench.pods import pages

PODS, SAMPLE, PAGE, ROUNDS = 100_000, 5_000, 500, 3


class PodList(msgspec.Struct, gc=False):
    """A page of a list."""

    items: tuple[PodView, ...]


class Typed:
    """As a cache of Grove holds pods: partial structs, equal parts shared, two indexes."""

    def __init__(self) -> None:
        self.store: Store[PodView] = Store(indexes={"owner": by_owner, "podclique": by_label(labels.POD_CLIQUE)})
        self.sharing = Sharing()
        self.decoder = msgspec.json.Decoder(PodList)

    def take(self, page: bytes) -> None:
        for pod in self.decoder.decode(page).items:
            self.store.apply_event("ADDED", self.sharing.share(pod))


class Plain:
    """As json.loads gives them, by name."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Any] = {}

    def take(self, page: bytes) -> None:
        for pod in json.loads(page)["items"]:
            self.held[pod["metadata"]["namespace"], pod["metadata"]["name"]] = pod


def main() -> int:
    if len(sys.argv) > 1:
        return measure((Typed() if sys.argv[1] == "typed" else Plain()).take, int(sys.argv[2]))
    runs = [(in_a_process("typed", PODS), in_a_process("plain", SAMPLE)) for _ in range(ROUNDS)]
    typed, plain = ({key: median(run[way][key] for run in runs) for key in runs[0][way]} for way in (0, 1))
    return report(
        "cache",
        [
            Figure("bytes a pod: typed, shared, two indexes", typed["memory"], bar=1500),
            Figure("CPU seconds for 100,000 pods: the same", typed["seconds"] * PODS, bar=3),
            Figure("a full pass of the garbage collector then, ms", typed["collection"] * 1000),
            Figure("bytes of JSON a pod", typed["size"]),
            Figure("bytes a pod: json.loads", plain["memory"]),
            Figure("CPU seconds for 100,000 pods: json.loads", plain["seconds"] * PODS),
            Figure("memory against json.loads", typed["memory"] / plain["memory"], bar=0.05),
            Figure("CPU against json.loads", typed["seconds"] / plain["seconds"], bar=0.5),
        ],
    )


def in_a_process(way: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.cache", way, str(count)]
    answer = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[2])
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def measure(take: Callable[[bytes], None], count: int) -> int:
    for page in pages(PAGE, PAGE):  # warms the allocator up; names and versions are those of the first page
        take(page)
    gc.collect()
    before, seconds, size = resident(), 0.0, 0
    for page in pages(count, PAGE):
        start = time.process_time()
        take(page)
        seconds += time.process_time() - start
        size += len(page)
    gc.collect()
    grown = resident() - before
    start = time.process_time()
    gc.collect()
    collection = time.process_time() - start
    found = {"memory": grown / count, "seconds": seconds / count, "size": size / count, "collection": collection}
    print(json.dumps(found))
    return 0


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
