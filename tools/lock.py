"""Writes the lock files anew, every package with its hashes, for every supported Python: dev.lock, of Grove and its
development tools, and bench.lock, of what benchmarks compare it with. `make lock`; one of them: tools/lock.py bench.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
LOCKS: Mapping[str, Sequence[str]] = {"dev": ("pyproject.toml", "--group", "dev"), "bench": ("--group", "bench")}
OPTIONS = (
    *("--quiet", "--upgrade", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-emit-index-url", "--no-header"),
)


def main() -> int:
    wanted = sys.argv[1:] or [*LOCKS]
    if unknown := set(wanted) - set(LOCKS):
        print(f"error: no such lock: {', '.join(sorted(unknown))}; there are {', '.join(LOCKS)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip, uv = Path(folder, "bin/pip"), Path(folder, "bin/uv")
        subprocess.run([pip, "install", "--quiet", "uv"], check=True)
        for name in wanted:
            lock = FOLDER / f"{name}.lock"
            subprocess.run([uv, "pip", "compile", *OPTIONS, *LOCKS[name], "--output-file", lock], check=True, cwd=ROOT)
            print(lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
