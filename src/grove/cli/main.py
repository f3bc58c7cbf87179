"""The `grove` command. Each verb is a module of this package, imported when it is called: that keeps the start fast."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Final

import click

from grove import __version__

VERBS: Final = {
    "completion": "Print the completion script of a shell.",
    "crds": "Print the CustomResourceDefinitions, or put them into a cluster.",
    "explain": "Explain a field, or what becomes of a manifest.",
    "initc": "Wait inside a pod until its parents are ready.",
    "manifests": "Print what a cluster needs so that Grove can run there.",
    "nodes": "Keep simulated nodes on a cluster.",
    "operator": "Run the operator: PodCliqueSets become pods.",
    "plan": "Say where a workload would go, without creating it.",
    "replay": "Replay what a scheduler was told.",
    "scheduler": "Run the scheduler: whole gangs get their nodes.",
    "validate": "Check manifests without a cluster.",
    "why": "Say where a gang is, or why it waits.",
}
"""Every verb with its line in the help; the module `grove.cli.<verb>` holds its `command`."""

_INTERRUPTED: Final = 130

_EPILOG: Final = """\b
Exit codes:
  0    everything went well
  1    the answer is no: an object was refused
  2    wrong usage, a file that cannot be read, or a cluster that cannot be reached
  130  interrupted
"""


class _Verbs(click.Group):
    """A group that knows its commands by name and imports them one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"grove.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0] if args else ""
        if word and word not in VERBS and not word.startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(word, VERBS, n=1)
            hint = f"did you mean {ctx.command_path} {close[0]}?" if close else f"see {ctx.command_path} --help"
            click.echo(f"error: there is no command {word}\nhelp: {hint}", err=True)
            ctx.exit(2)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(VERBS.items()))


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"grove {__version__}")
        ctx.exit()


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def grove() -> None:
    """Gangs of pods for AI inference and training on Kubernetes."""


def _sentence(error: click.UsageError) -> str:
    """click's message in our form: lower case, no full stop."""
    text = error.format_message().removesuffix(".")
    return text[:1].lower() + text[1:]


def main() -> None:
    """Runs the command; as `kubectl-grove` it is a plugin of kubectl."""
    is_plugin = os.path.basename(sys.argv[0]).startswith("kubectl-")
    try:
        code = grove.main(prog_name="kubectl grove" if is_plugin else "grove", standalone_mode=False)
    except click.UsageError as error:
        program = error.ctx.command_path if error.ctx else "grove"
        click.echo(f"error: {_sentence(error)}\nhelp: see {program} --help", err=True)
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as in `grove crds | head`: nothing to tell anyone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    main()
