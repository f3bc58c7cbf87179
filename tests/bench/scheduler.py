"""`make bench-scheduler`: what the scheduler costs and reaches, its decisions alone and on a real control plane.

python -m tests.bench.scheduler --decisions       without an API server
python -m tests.bench.scheduler --pods 400        a quick look at both
"""

from __future__ import annotations

import argparse
import sys

from tests.bench import preemption
from tests.bench.figures import report
from tests.bench.scheduling import decisions, live


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scheduler")
    parser.add_argument("--decisions", action="store_true", help="decisions alone, without an API server")
    parser.add_argument("--live", action="store_true", help="only what needs an API server")
    parser.add_argument("--pods", type=int, default=4000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    found = [] if options.live else [*decisions.figures(), *preemption.figures()]
    if not options.decisions:
        found += live.figures(pods=options.pods, turns=options.turns)
    return report("scheduler", found)


if __name__ == "__main__":
    sys.exit(main())
