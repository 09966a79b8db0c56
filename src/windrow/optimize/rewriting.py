"""What every rule uses: a node over other inputs, and expressions over other columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from windrow.plan.expressions import Expr, columns_of, substitute
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Except,
    Filter,
    Intersect,
    Join,
    JoinOn,
    NrrJoin,
    Plan,
    Project,
    Refresh,
    Rstream,
    Scan,
    SemiJoin,
    Table,
    TopN,
    UnionAll,
    nodes_of,
)

Rule: TypeAlias = Callable[[Plan], Plan]
"""A rule looks at a node and what is below it; it returns the same node where it does not fit."""


def with_inputs(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """Return the node over other inputs, which have the columns of those they stand for."""
    match plan:
        case Scan() | Table():
            return plan
        case NrrJoin():
            left, table = inputs
            assert isinstance(table, Table), "an NRR is looked up as it is"
            return replace(plan, left=left, table=table)
        case Join() | SemiJoin() | AntiJoin() | Intersect() | Except():
            return replace(plan, left=inputs[0], right=inputs[1])
        case UnionAll():
            return UnionAll(inputs)
        case Rstream():
            [source] = inputs
            assert isinstance(source, Refresh), "whole answers are streamed at refreshes"
            return Rstream(source)
        case _:
            return replace(plan, source=inputs[0])


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
    """Tell whether the node is a relation, perhaps behind selections and projections."""
    match plan:
        case Table():
            return True
        case Filter(source=source) | Project(source=source):
            return reads_relation(source)
        case _:
            return False


def rows_appear(plan: Plan) -> bool:
    """Tell whether some rows have the time of their appearing, on which every column has a say."""
    return any(isinstance(node, Aggregate | TopN | Refresh) for node in nodes_of(plan))
