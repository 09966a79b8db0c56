"""`windrow shell`: statements and dot-commands, typed, piped or from a file.

`reading` cuts input into statements, `session` carries them out, `commands` those with a dot;
`values` reads what is pushed, `tables` shows answers, `terminal` is history and completion.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from windrow.cli.shell.reading import pieces
from windrow.cli.shell.session import Shell
from windrow.cli.shell.terminal import converse

__all__ = ["command"]


@click.command("shell")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("-c", "text", metavar="TEXT", help="Run this, and end.")
@click.pass_context
def command(ctx: click.Context, file: Path | None, text: str | None) -> None:
    """Declare, ask, push and let time pass, statement by statement.

    FILE is a script to run first. Without -c the shell then reads what is typed or piped.
    Type .help for its commands.
    """
    shell = Shell()
    if file is not None:
        shell.run(f".read {_quoted(file)}")
    if text is not None:
        shell.run_all(pieces(text))
    elif not shell.finished and sys.stdin.isatty():
        converse(shell)
        return
    elif not shell.finished:
        shell.run_all(pieces(sys.stdin.read()))
    ctx.exit(1 if shell.failed else 0)


def _quoted(file: Path) -> str:
    return "'" + str(file).replace("'", "'\"'\"'") + "'"
