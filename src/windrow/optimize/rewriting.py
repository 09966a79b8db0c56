"""What every rule uses: expressions over other columns, and what a plan reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from windrow.plan.expressions import Expr, columns_of, substitute
from windrow.plan.nodes import (
    Aggregate,
    Distinct,
    Except,
    Filter,
    Intersect,
    JoinOn,
    Plan,
    Project,
    Refresh,
    Scan,
    Table,
    TopN,
    Window,
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
