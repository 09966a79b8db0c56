"""Where in the text a node of the tree was written."""

from __future__ import annotations

from sqlglot import exp

from windrow.core.errors import Span

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
