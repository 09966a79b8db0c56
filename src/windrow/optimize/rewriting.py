"""What every rule uses: expressions over other columns, and what a plan reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from windrow.plan.expressions import Expr, columns_of, substitute
from windrow.plan.nodes import (
    Aggregate,
    Delay,
    Distinct,
    Dstream,
    Except,
    Filter,
    Hold,
    Intersect,
    Istream,
    JoinOn,
    NrrJoin,
    Plan,
    Produced,
    Project,
    RecentAnswers,
    Refresh,
    Rstream,
    Scan,
    Stamped,
    Table,
    TopN,
    Window,
    inputs_of,
    is_stream,
    nodes_of,
)

Rule: TypeAlias = Callable[[Plan], Plan]
"""A rule looks at a node and what is below it; it returns the same node where it does not fit."""


def renamed(expr: Expr, columns: dict[str, Expr]) -> Expr:
    """Return the expression with columns replaced by what they stand for."""
    return substitute(expr, lambda column: columns[column.name])


def columns_of_on(on: JoinOn) -> frozenset[str]:
    """Return the columns of both sides that a match looks at."""
    exprs = (*on.left_keys, *on.right_keys, *(() if on.residual is None else (on.residual,)))
    bands = (name for band in on.bands for name in (band.left, band.right))
    return frozenset().union(*map(columns_of, exprs), bands)


def names_of(plan: Plan) -> frozenset[str]:
    """Return the names of a node's columns."""
    return frozenset(plan.schema.names)


def reads_relation(plan: Plan) -> bool:
    """Return whether the node is a relation, perhaps behind selections and projections."""
    match plan:
        case Table():
            return True
        case Filter(source=source) | Project(source=source):
            return reads_relation(source)
        case _:
            return False


def rows_appear(plan: Plan) -> bool:
    """Return whether the time of some rows is that of their last change, in any column."""
    made = Aggregate | Distinct | Except | Intersect | TopN | Refresh
    return any(isinstance(node, made) for node in nodes_of(plan))


def times_under(plan: Plan) -> frozenset[str]:
    """Return the columns with the own times of tuples that a plan reads."""
    scans = {n.time_column for n in nodes_of(plan) if isinstance(n, Scan)}
    windows = (n for n in nodes_of(plan) if isinstance(n, Window))
    return frozenset(scans) | {w.ts_column for w in windows if w.ts_column is not None}


def slide_below(plan: Plan, slide: int | None) -> int | None:
    """Return the SLIDE at whose multiples the inputs of a node change, given the node's own.

    It does not pass a node that looks at all instants, nor one below which time is another.
    """
    match plan:
        case Refresh():
            return None if plan.restore or refreshes_again(plan.source) else plan.slide
        case Window() | Delay() | Produced() | Istream() | Dstream() | Rstream() | RecentAnswers():
            return None
        case Hold() | NrrJoin() | Stamped():
            return None
        case _:
            return slide


def refreshes_again(plan: Plan) -> bool:
    """Return whether a relation is refreshed, or is made of one that is."""
    if isinstance(plan, Refresh):
        return True
    return not is_stream(plan) and any(map(refreshes_again, inputs_of(plan)))


def slides_under(
    plan: Plan, slide: int | None = None, *, once: bool = False
) -> Iterator[tuple[Plan, int | None, bool]]:
    """Return all nodes of a plan, each with its SLIDE, and whether its rows are emitted once.

    What is emitted once travels on an unsigned edge under every strategy.
    """
    yield plan, slide, once
    once = once or isinstance(plan, NrrJoin | Stamped | Produced)
    for below in inputs_of(plan):
        yield from slides_under(below, slide_below(plan, slide), once=once)
