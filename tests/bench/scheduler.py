"""`make bench-scheduler`: what the scheduler costs and reaches, its decisions alone and on a real control plane.

python -m tests.bench.scheduler --decisions       without an API server
"""

from __future__ import annotations

import argparse
import sys

from tests.bench.figures import report
from tests.bench.scheduling import decisions


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scheduler")
    parser.add_argument("--decisions", action="store_true", help="decisions alone, without an API server")
    parser.parse_args()
    return report("scheduler", [*decisions.figures()])


if __name__ == "__main__":
    sys.exit(main())
