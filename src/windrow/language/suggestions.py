"""Near misses: the keyword that a mistyped word was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from windrow.core.naming import is_slip

STATEMENT_WORDS = ("SELECT", "CREATE", "DROP", "SHOW", "EXPLAIN", "SET", "WITH")
STREAM_WORDS = ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM")
CLAUSE_WORDS = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION",
    "EXCEPT", "INTERSECT", "JOIN", "LEFT", "INNER", "USING", "EXISTS", "BETWEEN", "WINDOW",
)  # fmt: skip

TYPE_WORDS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING",
    "BINARY", "DATE", "TIMESTAMP", "ARRAY",
)  # fmt: skip
TYPES_HINT = f"Types are {', '.join(TYPE_WORDS[:-2])}, TIMESTAMP and ARRAY<type>."


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate closest to `word`, if one is close.

    >>> nearest("RAGNE", ["RANGE", "ROWS"])
    'RANGE'
    >>> nearest("price", ["RANGE", "ROWS"])
    """
    close = get_close_matches(word.upper(), list(candidates), n=1, cutoff=0.7)
    return close[0] if close and is_slip(word.upper(), close[0]) else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return a hint sentence, or an empty one if nothing is near."""
    near = nearest(word, candidates)
    return f"Did you mean {near}?" if near and near != word.upper() else ""
