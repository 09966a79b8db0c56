"""For errors: where in the text a node was written, and what a mistyped word was meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp

from windrow.core.errors import Span
from windrow.core.naming import is_slip

SPAN = "windrow.span"
"""Key of `exp.Expr.meta` under which the parser keeps ``(start, end)``; copies keep it."""


def mark(node: exp.Expr, start: int, end: int) -> None:
    """Note that `node` was written as the characters ``[start, end)``."""
    node.meta[SPAN] = (start, end)


def span_of(node: exp.Expr) -> Span | None:
    """Return the place of `node` in its text, or None if it did not come from a text.

    A node without a place of its own lies where its children lie, or else where the nearest
    node around it lies.
    """
    around: exp.Expr | None = node
    while around is not None:
        span = covered_span(around)
        if span is not None:
            return span
        around = around.parent
    return None


def covered_span(node: exp.Expr) -> Span | None:
    """Return the smallest place that covers the node, as far as it and its children have one."""
    found: Span | None = None
    waiting = [node]
    while waiting:
        current = waiting.pop()
        own = own_span(current)
        if own is None:
            waiting.extend(current.iter_expressions())
        else:
            found = own if found is None else found | own
    return found


def own_span(node: exp.Expr) -> Span | None:
    """Return the place noted on the node itself."""
    place = node.meta_get(SPAN)
    if place is not None:
        return Span(*place)
    start, end = node.meta_get("start"), node.meta_get("end")
    return None if start is None or end is None else Span(start, end + 1)


STATEMENT_WORDS = (
    "SELECT", "CREATE", "DROP", "INSERT", "SHOW", "DESCRIBE", "EXPLAIN", "SET", "WITH",
)  # fmt: skip
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
