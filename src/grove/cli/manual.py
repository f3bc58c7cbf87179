"""The reference page of the command, from the command itself."""

from __future__ import annotations

from grove.cli.main import VERBS, grove


def markdown() -> str:
    """The help of `grove` and of each verb."""
    root = grove.make_context("grove", [], resilient_parsing=True)
    parts = ["# The `grove` command", "", "Made from the command's own help by `make docs`; do not edit it.", ""]
    parts += ["The same command is a plugin of kubectl: `kubectl grove validate -f …`.", ""]
    parts += _block(grove.get_help(root))
    for verb in sorted(VERBS):
        command = grove.get_command(root, verb)
        if command is not None:
            parts += ["", f"## grove {verb}", ""]
            parts += _block(command.get_help(command.make_context(verb, [], parent=root, resilient_parsing=True)))
    return "\n".join(parts) + "\n"


def _block(text: str) -> list[str]:
    return ["```text", *(line.rstrip() for line in text.splitlines()), "```"]
