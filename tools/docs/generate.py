"""Writes the generated pages of docs/reference; a test fails when they are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from grove.api import reference
from grove.cli import manual

PAGES = {"api.md": reference.markdown, "cli.md": manual.markdown}
REFERENCE = Path(__file__).parents[2] / "docs/reference"


def main() -> int:
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
        print(REFERENCE / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
