"""Writes requirements/dev.lock anew: every development tool with its hashes, for every supported Python."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements/dev.lock"
OPTIONS = (
    *("--quiet", "--upgrade", "--universal", "--python-version", "3.11", "--group", "dev"),
    *("--generate-hashes", "--no-emit-index-url", "--no-header"),
)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip, uv = Path(folder, "bin/pip"), Path(folder, "bin/uv")
        subprocess.run([pip, "install", "--quiet", "uv"], check=True)
        subprocess.run([uv, "pip", "compile", *OPTIONS, "pyproject.toml", "--output-file", LOCK], check=True, cwd=ROOT)
    print(LOCK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
