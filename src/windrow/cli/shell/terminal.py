"""A conversation at a terminal: prompts, history, and the Tab key where readline is there.

What the Tab key offers depends on what stands before the word (`complete`).
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from windrow.cli.shell.reading import StatementBuffer

if TYPE_CHECKING:
    from windrow.cli.shell.session import Shell
if TYPE_CHECKING:
    from windrow.cli.shell.session import Shell

COMMANDS = (
    ".push", ".advance", ".answer", ".changes", ".watch", ".unwatch", ".stats", ".late",
    ".rejected", ".drain", ".read", ".help", ".quit", ".exit",
)  # fmt: skip
"""The commands by name: a prompt does not wait for the module that does them."""
TAKES_QUERY = (".answer", ".changes", ".watch", ".unwatch", ".stats")
TAKES_INPUT = (".push", ".advance", ".late", ".rejected")
KEYWORDS = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "AS", "JOIN",
    "ON", "AND", "OR", "NOT", "EXISTS", "IN", "BETWEEN", "LIKE", "IS", "NULL", "UNION", "ALL",
    "INTERSECT", "EXCEPT", "WITH", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "COUNT", "SUM",
    "AVG", "MIN", "MAX", "ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM", "RESTORE", "WINDOW", "DWINDOW",
    "CREATE", "OR", "REPLACE", "STREAM", "RELATION", "RETROACTIVE", "QUERY", "IF", "PRIMARY", "KEY",
    "TIMESTAMP", "SLACK", "AHEAD", "USING", "OPTIONS", "EXPLAIN", "FORMAT", "SHOW", "SET", "DROP",
    "DESC",
)  # fmt: skip
WINDOW_WORDS = (
    "RANGE", "ROWS", "PARTITION BY", "NOW", "UNBOUNDED", "SINCE", "TUMBLE", "SLIDE", "INTERNAL",
    "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS",
)  # fmt: skip
TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING",
    "BINARY", "DATE", "TIMESTAMP", "ARRAY",
)  # fmt: skip
AFTER = {
    "SHOW": ("STREAMS", "RELATIONS", "QUERIES", "SETTINGS"),
    "FORMAT": ("json", "dot", "mermaid", "text"),
    "CREATE": ("STREAM", "RELATION", "NON RETROACTIVE RELATION", "QUERY", "OR REPLACE QUERY"),
    "DROP": ("STREAM", "RELATION", "QUERY"),
}
"""What can only follow one word."""


@dataclass(frozen=True, slots=True)
class Names:
    """What is declared: columns by stream or relation, queries, and settings with their values."""

    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    queries: tuple[str, ...] = ()
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    functions: tuple[str, ...] = ()


def names_of(shell: Shell) -> Names:
    """Return what a session has declared; nothing while the engine is not loaded."""
    if not shell.loaded:
        return Names()
    from windrow.plan.functions import FUNCTIONS  # noqa: PLC0415 - loaded with the engine
    from windrow.plan.functions.aggregates import AGGREGATES  # noqa: PLC0415 - the same
    from windrow.plan.settings import SETTINGS  # noqa: PLC0415 - the same

    session = shell.db.session
    return Names(
        {e.name: e.schema.names for e in session.catalog.entries.values()},
        tuple(q.name for q in session.queries.values()),
        {s.name: tuple(map(str, s.values)) for s in SETTINGS.values()},
        tuple(name.upper() for name in (*AGGREGATES, *FUNCTIONS) if name.isidentifier()),
    )


def complete(before: str, word: str, names: Names) -> list[str]:
    """Return what `word` can become after the text `before` it, in the case that was begun.

    >>> complete("SELECT k FROM s [", "ra", Names())
    ['range']
    """
    found = {c for c in candidates(before, word, names) if c.lower().startswith(word.lower())}
    if word and word == word.lower():
        found = {c.lower() if c.isupper() else c for c in found}
    return sorted(found)


def candidates(before: str, word: str, names: Names) -> Iterable[str]:
    """Return all that may stand after `before`."""
    if before.lstrip().startswith("."):
        return _arguments(before.split(), word, names)
    if not before.strip() and word.startswith("."):
        return COMMANDS
    if before.rfind("[") > before.rfind("]"):
        return WINDOW_WORDS
    if "." in word:
        return _columns_of(word.rpartition(".")[0], before, names)
    last = (before.split() or [""])[-1].upper().rstrip(",(")
    if last in AFTER:
        return AFTER[last]
    if last in ("FROM", "JOIN", "STREAM", "RELATION"):
        return names.columns
    if last in ("EXPLAIN", "QUERY"):
        return (*names.queries, "FORMAT", "SELECT")
    if setting := re.search(r"\bSET\s+(\w*)\s*(=?)\s*'?$", before, re.IGNORECASE):
        return names.settings.get(setting[1].lower(), ()) if setting[2] else names.settings
    columns = [c for found in names.columns.values() for c in found]
    types = TYPES if re.search(r"\bCREATE\b[^;]*\($|\bCREATE\b[^;]*\([^)]*$", before) else ()
    return (*KEYWORDS, *types, *names.functions, *names.columns, *columns, *names.queries)


def _arguments(words: list[str], word: str, names: Names) -> Iterable[str]:
    """Return what may follow a command."""
    command = words[0].lower()
    if command == ".read":
        return _paths(word)
    if command in TAKES_QUERY:
        return names.queries
    if command == ".push" and len(words) > 1:
        target = {n.lower(): c for n, c in names.columns.items()}.get(words[1].lower(), ())
        return [*(f"{column}=" for column in target), *_paths(word)]
    return names.columns if command in TAKES_INPUT else ()


def _paths(word: str) -> list[str]:
    """Return the files and folders whose path begins so, as far as a folder."""
    folder = word[: word.rfind("/") + 1]
    try:
        found = sorted(Path(folder or ".").iterdir())
    except OSError:
        return []
    return [f"{folder}{p.name}{'/' if p.is_dir() else ''}" for p in found]


def _columns_of(owner: str, text: str, names: Names) -> Iterable[str]:
    """Return ``owner.column`` for a stream, a relation or an alias of one in the text."""
    by_lower = {name.lower(): columns for name, columns in names.columns.items()}
    found = by_lower.get(owner.lower())
    if found is None:
        alias = re.search(rf"(\w+)\s+(?:AS\s+)?{re.escape(owner)}\b", text, re.IGNORECASE)
        found = by_lower.get(alias[1].lower(), ()) if alias else ()
    return [f"{owner}.{column}" for column in found]


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
