"""A process that has only an engine, which knows a large cluster: prints its MiB and the seconds to a decision."""

from __future__ import annotations

import os
import sys
import time

from tests.bench.processes import resident
from tests.bench.scheduling.decisions import decided, fleet
from tests.bench.scheduling.worlds import RACK, gang, pod, spec


def main() -> None:
    nodes, pods = map(int, sys.argv[1:])
    start = time.process_time()
    made = fleet(nodes)
    wanted = [spec(0, cpu=f"{100 + index}m") for index in range(50)]
    for index in range(pods):
        made.pod(pod(f"pod-{index:06}", wanted[index % 50], node=f"node-{index % nodes:06}"))
    view, waiting = gang(spec(1), 4, required=RACK)
    for one in waiting:
        made.pod(one)
    made.gang(view)
    decided(made)
    print(resident(os.getpid()) / 2**20, time.process_time() - start)


if __name__ == "__main__":
    main()
