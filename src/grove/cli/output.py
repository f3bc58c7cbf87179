"""Printing data: as a table, JSON or YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import yaml


class _Dumper(yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper):  # type: ignore[misc]
    """YAML without anchors: equal parts are written out."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def as_json(value: Any) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False)


def as_yaml(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text.rstrip("\n")


def as_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as kubectl prints them: upper case headings, three spaces between."""
    lines = [tuple(name.upper() for name in header), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def wants_color(choice: str) -> bool:
    """Whether to colour: as told, otherwise on a terminal that has not asked for none."""
    import os
    import sys

    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(text: str, colored: bool, **style: Any) -> str:
    return click.style(text, **style) if colored else text
