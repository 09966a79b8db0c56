"""What the Tab key offers: by what stands before the word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

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
