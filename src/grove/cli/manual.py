"""The reference page of the command, from the command itself."""

from __future__ import annotations

from typing import Final

from grove.cli.main import VERBS, grove

_WIDTH: Final = 100


def markdown() -> str:
    """The help of `grove` and of each verb."""
    root = grove.make_context("grove", [], resilient_parsing=True, terminal_width=_WIDTH)
    parts = ["# The `grove` command", "", "Made from the command's own help by `make docs`; do not edit it.", ""]
    parts += ["The same command is a plugin of kubectl: `kubectl grove validate -f …`.", ""]
    parts += _block(grove.get_help(root))
    for verb in sorted(VERBS):
        command = grove.get_command(root, verb)
        if command is not None:
            context = command.make_context(verb, [], parent=root, resilient_parsing=True, terminal_width=_WIDTH)
            parts += ["", f"## grove {verb}", "", *_block(command.get_help(context))]
    return "\n".join(parts) + "\n"


def _block(text: str) -> list[str]:
    return ["```text", *(line.rstrip() for line in text.splitlines()), "```"]
