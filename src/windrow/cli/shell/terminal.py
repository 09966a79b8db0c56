"""A conversation at a terminal: prompts, history, and the Tab key where readline is there."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from windrow.cli.shell.completion import complete, names_of
from windrow.cli.shell.reading import StatementBuffer

if TYPE_CHECKING:
    from windrow.cli.shell.session import Shell

PROMPT, MORE = "windrow> ", "     ... "
DELIMITERS = " \t\n,()[]=;'"
HISTORY_LINES = 10_000
"""Statements that the history keeps."""


def converse(shell: Shell) -> None:
    """Read, carry out, show, until the user leaves."""
    click.echo(f"windrow {version('windrow')}: .help lists the commands, .quit leaves")
    buffer = StatementBuffer()
    readline = load_readline()
    if readline is not None:
        listen_for_tab(readline, shell, buffer)
    with history(readline) as add_to_history:
        while not shell.finished:
            try:
                line = input(PROMPT if buffer.is_empty else MORE)
            except KeyboardInterrupt:  # forget what was begun
                buffer.text = ""
                click.echo()
                continue
            except EOFError:
                click.echo()
                return
            for piece in buffer.add(line):
                add_to_history(piece)
                shell.run(piece)


def load_readline() -> ModuleType | None:
    """Return the module that edits lines, where the platform has it."""
    try:
        import readline  # noqa: PLC0415 - some platforms have none
    except ImportError:
        return None
    return readline


@contextlib.contextmanager
def history(readline: ModuleType | None) -> Iterator[Callable[[str], None]]:
    """Load the history; give the function that adds to it; save it in the end."""
    file = history_file()
    if readline is None:
        yield lambda piece: None
        return
    with contextlib.suppress(AttributeError):  # libedit of old
        readline.set_auto_history(False)
    if file is not None:
        with contextlib.suppress(OSError):
            readline.read_history_file(file)
    readline.set_history_length(HISTORY_LINES)
    try:
        yield lambda piece: readline.add_history(one_line(piece))
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(file)


def history_file() -> Path | None:
    """Return where the history is kept: where WINDROW_HISTORY says; empty: nowhere."""
    chosen = os.environ.get("WINDROW_HISTORY")
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    if sys.platform == "win32" and os.environ.get("APPDATA"):
        return Path(os.environ["APPDATA"]) / "windrow" / "history"
    return Path("~/.windrow_history").expanduser()


def one_line(piece: str) -> str:
    r"""Return a statement as one line of history; one with comments keeps its lines.

    >>> one_line("SELECT *\n  FROM s;")
    'SELECT * FROM s;'
    """
    return piece if "--" in piece else " ".join(piece.split())


def listen_for_tab(readline: ModuleType, shell: Shell, buffer: StatementBuffer) -> None:
    """Offer completions on Tab."""
    readline.set_completer(completer(readline, shell, buffer))
    readline.set_completer_delims(DELIMITERS)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")


def completer(
    readline: ModuleType, shell: Shell, buffer: StatementBuffer
) -> Callable[[str, int], str | None]:
    """Return what readline asks for the n-th completion of a word."""
    offered: list[str] = []

    def nth(word: str, n: int) -> str | None:
        if n == 0:
            line = readline.get_line_buffer()[: readline.get_begidx()]
            offered[:] = complete(buffer.text + line, word, names_of(shell))
            if len(offered) == 1 and not offered[0].endswith(("=", "/")):
                offered[0] += " "
        return offered[n] if n < len(offered) else None

    return nth
