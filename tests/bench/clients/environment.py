"""The environment of the clients that are no part of Grove: made on first use, and anew when its lock changes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOCK = ROOT / "requirements/bench.lock"
FOLDER = ROOT / "build/bench-clients"
PYTHON = FOLDER / "bin/python"
STAMP = FOLDER / "installed.lock"


def ready() -> Path:
    """The Python that has the clients."""
    wanted = LOCK.read_text()
    if not STAMP.exists() or STAMP.read_text() != wanted:
        print(f"== setting up {FOLDER.relative_to(ROOT)} (once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True)
        quietly = ("--quiet", "--disable-pip-version-check", "--require-hashes")
        subprocess.run([PYTHON, "-m", "pip", "install", *quietly, "-r", LOCK], check=True)
        STAMP.write_text(wanted)
    return PYTHON


def version(package: str) -> str:
    """The version that the lock has of a package."""
    found = re.search(rf"^{re.escape(package)}==(\S+)", LOCK.read_text(), re.MULTILINE)
    if found is None:
        raise LookupError(f"{LOCK}: no {package}; add it to the group bench of pyproject.toml and run `make lock`")
    return found[1]
