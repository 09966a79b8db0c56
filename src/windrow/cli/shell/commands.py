"""The commands of the shell that begin with a dot: one function each."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.cli.shell import tables
from windrow.cli.shell.reading import pieces
from windrow.cli.shell.values import read_file, to_instant, typed_tuples
from windrow.core.errors import InputError
from windrow.core.naming import near

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.cli.shell.session import Shell

FILES = (".csv", ".parquet", ".json")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: how it is written, what it does, and the function that does it."""

    usage: str
    help: str
    run: Callable[[Shell, list[str]], None]


def run_command(shell: Shell, text: str) -> None:
    """Carry out a line such as ``.push s ts=1 k=2``."""
    try:
        name, *words = shlex.split(text.rstrip(";"))
    except ValueError as error:
        raise InputError("a quotation is opened and never closed", hint=f"{error}.") from error
    command = COMMANDS.get(name.lower())
    if command is None:
        hint = near(name, list(COMMANDS)) or "See .help."
        raise InputError(f"unknown command {name}", hint=hint)
    command.run(shell, words)


def push(shell: Shell, words: list[str]) -> None:
    """Add tuples, typed or from a file."""
    if len(words) < 2:
        raise _usage(".push")
    name, *rest = words
    db = shell.db
    entry = db.session.entry(name)
    is_file = len(rest) == 1 and Path(rest[0]).suffix.lower() in FILES and "=" not in rest[0]
    data = read_file(Path(rest[0]), entry.schema) if is_file else typed_tuples(rest, entry.schema)
    before = _leftovers(shell, entry.name)
    db.push(entry.name, data)
    _print_leftovers(shell, entry.name, before)
    shell.show_watched()


def _leftovers(shell: Shell, name: str) -> dict[str, pa.Table]:
    from windrow.plan.catalog import Stream  # noqa: PLC0415 - only when something is pushed

    found = {"rejected": shell.db.rejected(name)}
    if isinstance(shell.db.session.entry(name), Stream):
        found["late"] = shell.db.late(name)
    return found


def _print_leftovers(shell: Shell, name: str, before: dict[str, pa.Table]) -> None:
    """Say how many rows of a push were not used; nothing if all were."""
    for word, table in _leftovers(shell, name).items():
        new = len(table) - len(before[word])
        if new:
            shell.say(f"{tables.count(new, 'row', new)} {word}, see .{word} {name}", style="yellow")


def advance(shell: Shell, words: list[str]) -> None:
    """Let time pass for all streams, or one."""
    if not words:
        raise _usage(".advance")
    stream = None
    if len(words) > 1 and shell.db.session.catalog.get(words[-1]) is not None:
        *words, stream = words
    shell.db.advance(to_instant(" ".join(words)), stream)
    shell.show_watched()


def answer(shell: Shell, words: list[str]) -> None:
    """Show an answer, now or at a later instant."""
    at = None
    if "at" in words:
        place = words.index("at")
        words, at = words[:place], " ".join(words[place + 1 :])
    shell.show_answer(shell.handle(_only(words, ".answer")).name, at)


def changes(shell: Shell, words: list[str]) -> None:
    """Show what has changed since this was last asked."""
    tables.print_changes(shell.console, shell.handle(_only(words, ".changes")).changes())


def watch(shell: Shell, words: list[str]) -> None:
    """Show an answer now, and again after each push and advance."""
    handle = shell.handle(_only(words, ".watch"))
    shell.say(handle.name, style="bold")
    table = handle.answer()
    shell.watched[handle.name] = tables.rows_of(table)
    tables.print_difference(shell.console, table, tables.rows_of(table))


def unwatch(shell: Shell, words: list[str]) -> None:
    """Stop watching one query, or all."""
    name = _only(words, ".unwatch")
    if name is None:
        shell.watched.clear()
    else:
        shell.watched.pop(shell.handle(name).name, None)


def stats(shell: Shell, words: list[str]) -> None:
    """Show the counters of a query, then those of its operators."""
    import pyarrow as pa  # noqa: PLC0415 - loaded already, here for its own sake

    found = shell.handle(_only(words, ".stats")).stats()
    operators = found.pop("operators")
    assert isinstance(operators, list), "operators are a list"
    tables.print_pairs(shell.console, found.items())
    table = pa.Table.from_pylist(operators)
    tables.print_rows(
        shell.console, table.schema, [(0, r) for r in tables.rows_of(table)], noun="operator"
    )


def late(shell: Shell, words: list[str]) -> None:
    """Show the tuples of a stream that came too late."""
    tables.print_answer(shell.console, shell.db.late(_needed(words, ".late")))


def rejected(shell: Shell, words: list[str]) -> None:
    """Show the rows that did not fit, with the reason."""
    tables.print_answer(shell.console, shell.db.rejected(_needed(words, ".rejected")))


def drain(shell: Shell, words: list[str]) -> None:
    """End the input."""
    shell.db.drain()
    shell.show_watched()


def read(shell: Shell, words: list[str]) -> None:
    """Run a script."""
    path = Path(_needed(words, ".read"))
    if str(path.resolve()) in shell.reading:
        raise InputError(f'"{path}" reads itself')
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'"{path}" cannot be read', detail=f"{error}.") from error
    outer, shell.reading = shell.reading, (*shell.reading, str(path.resolve()))
    try:
        shell.run_all(pieces(text))
    finally:
        shell.reading = outer


def help_(shell: Shell, words: list[str]) -> None:
    """List the commands."""
    tables.print_pairs(shell.console, [(c.usage, c.help) for c in COMMANDS.values() if c.help])
    shell.say("Statements end with a semicolon: CREATE, SELECT, SHOW, EXPLAIN, SET, DROP.")


def leave(shell: Shell, words: list[str]) -> None:
    """End the session."""
    shell.finished = True


COMMANDS: dict[str, Command] = {
    ".push": Command(
        ".push NAME c=v ... [| c=v ...]", "add tuples to a stream, or rows to a relation", push
    ),
    ".advance": Command(
        ".advance T [STREAM]", "let time pass: a heartbeat for all, or one", advance
    ),
    ".answer": Command(".answer [QUERY] [at T]", "show an answer, now or at a later time", answer),
    ".changes": Command(".changes [QUERY]", "show what has changed since last asked", changes),
    ".watch": Command(".watch [QUERY]", "show an answer again after each push and advance", watch),
    ".unwatch": Command(".unwatch [QUERY]", "stop watching", unwatch),
    ".stats": Command(".stats [QUERY]", "show a query's counters", stats),
    ".late": Command(".late STREAM", "show tuples that came too late", late),
    ".rejected": Command(".rejected NAME", "show rows that did not fit, with the reason", rejected),
    ".drain": Command(".drain", "end the input: every answer comes out", drain),
    ".read": Command(".read FILE", "run a script", read),
    ".help": Command(".help", "show this list", help_),
    ".quit": Command(".quit", "leave", leave),
    ".exit": Command(".exit", "", leave),
}
"""Each command by its name. `.push NAME FILE` takes a .csv, .parquet or .json file."""


def _only(words: list[str], name: str) -> str | None:
    if len(words) > 1:
        raise _usage(name)
    return words[0] if words else None


def _needed(words: list[str], name: str) -> str:
    if len(words) != 1:
        raise _usage(name)
    return words[0]


def _usage(name: str) -> InputError:
    command = COMMANDS[name]
    return InputError(f"{name} is written otherwise", hint=f"{command.usage}: {command.help}.")
