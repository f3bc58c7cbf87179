"""`grove completion`: the script that teaches a shell to complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from grove.cli.failure import Failure


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      source <(grove completion bash)
      grove completion fish > ~/.config/fish/completions/grove.fish
    """
    from grove.cli.main import grove

    completion = get_completion_class(shell)
    if completion is None:
        raise Failure(f"no completion for {shell}", "use bash, zsh or fish")
    click.echo(completion(grove, {}, "grove", "_GROVE_COMPLETE").source())
