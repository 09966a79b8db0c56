"""A plan node over other inputs."""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import (
    AntiJoin,
    Except,
    Intersect,
    Join,
    NrrJoin,
    Plan,
    RecentAnswers,
    Refresh,
    Rstream,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
    Versions,
)


def with_inputs(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """Return the node over other inputs, which have the columns of those they stand for."""
    match plan:
        case Scan() | Table() | Versions():
            return plan
        case NrrJoin():
            left, table = inputs
            assert isinstance(table, Table), "an NRR is looked up as it is"
            return replace(plan, left=left, table=table)
        case Join() | SemiJoin() | AntiJoin() | Intersect() | Except():
            return replace(plan, left=inputs[0], right=inputs[1])
        case UnionAll():
            return UnionAll(inputs)
        case Rstream() | RecentAnswers():
            [source] = inputs
            assert isinstance(source, Refresh), "whole answers are streamed at refreshes"
            return replace(plan, source=source)
        case _:
            return replace(plan, source=inputs[0])
