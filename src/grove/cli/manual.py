"""The reference page of the command, from the command itself."""

from __future__ import annotations

from typing import Final

import click

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
            parts += _below(command, context, f"grove {verb}")
    return "\n".join(parts) + "\n"


def _below(command: click.Command, context: click.Context, path: str) -> list[str]:
    """The help of the commands of a command that has some."""
    parts: list[str] = []
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                own = inner.make_context(name, [], parent=context, resilient_parsing=True, terminal_width=_WIDTH)
                parts += ["", f"### {path} {name}", "", *_block(inner.get_help(own))]
    return parts


def _block(text: str) -> list[str]:
    return ["```text", *(line.rstrip() for line in text.splitlines()), "```"]
