"""The command `windrow`: finds the sub-command, and prints errors as their own words."""

from __future__ import annotations

import importlib
import os
import signal

import click

from windrow.cli.signals import leave
from windrow.core.errors import WindrowError

COMMANDS: dict[str, str] = {
    "bench": "Measure windrow on this machine.",
    "calibrate": "Measure what steps cost here, for choosing plans.",
    "demo": "Show what windrow does, on a shipped example.",
    "doctor": "Check that this machine can run windrow.",
    "experiment": "Redo an experiment of the papers, with a verdict.",
    "explain": "Show the plan of each query in a script.",
    "generate": "Write streams of our own making as files.",
    "run": "Run the queries of a script over its sources, on Spark.",
    "shell": "Type statements, push tuples, watch answers change.",
    "state": "Show what is in a checkpoint.",
}
"""Each command with its line of help. Module `windrow.cli.<name>` holds `command`."""

LABORATORY = ("bench", "experiment")
"""Commands that come with the laboratory: module `windrow_lab.cli.<name>` holds `command`."""

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended: 128 and the number of its signal."""


class LazyGroup(click.Group):
    """A group that imports a command when it is called: ``--help`` costs no import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in LABORATORY:
            from windrow.cli.laboratory import laboratory_command  # noqa: PLC0415 - --help is fast

            return laboratory_command((cmd_name,), COMMANDS[cmd_name])
        command = importlib.import_module(f"windrow.cli.{cmd_name}").command
        assert isinstance(command, click.Command), f"windrow.cli.{cmd_name} holds no command"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from `COMMANDS`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a user's error becomes its message and exit code 1.

        Ctrl-C may come while the command's modules are loaded: that leaves no trace.
        """
        try:
            return super().invoke(ctx)
        except WindrowError as error:
            print_error(error)
            ctx.exit(1)
        except KeyboardInterrupt as error:
            click.echo("stopped", err=True)
            ctx.exit(getattr(error, "code", INTERRUPTED))


def print_error(error: WindrowError) -> None:
    """Write the error to stderr, its first line red where colours are wanted."""
    fact, _, rest = error.render().partition("\n")
    color = False if os.environ.get("NO_COLOR") else None
    click.secho(fact, err=True, fg="red", color=color)
    if rest:
        click.echo(rest, err=True)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="windrow", message="%(prog)s %(version)s")
def windrow() -> None:
    """Continuous queries over sliding windows, on Spark."""


def main() -> None:
    """Run the command line.

    Once the command has ended its exit code is settled: a signal that comes while the interpreter
    shuts down does not change it, nor does Python, which ends itself by SIGINT if an interrupt has
    passed through code that C has called, as the import of a library may be.
    """
    try:
        windrow(prog_name="windrow")
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            leave(INTERRUPTED)
        raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
