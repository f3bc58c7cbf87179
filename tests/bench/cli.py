"""`make bench-cli`: how fast the command starts. A plugin of kubectl must answer before anyone notices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench.figures import Figure, in_turns, report

ROOT = Path(__file__).parents[2]
GROVE = str(Path(sys.executable).parent / "grove")
ROUNDS = 15


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)


def main() -> int:
    python, version, validate = in_turns(
        ROUNDS,
        lambda: run(sys.executable, "-c", "pass"),
        lambda: run(GROVE, "--version"),
        lambda: run(GROVE, "validate", "examples/complete-inference-pipeline.yaml"),
    )
    return report(
        "cli",
        [
            Figure("grove --version, ms", version * 1000, bar=150),
            Figure("python -c pass, ms", python * 1000),
            Figure("grove validate of one file, ms", validate * 1000),
            Figure("grove --version against python -c pass", version / python),
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
