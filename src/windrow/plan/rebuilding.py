"""A plan node over other inputs."""

from __future__ import annotations

from dataclasses import replace

from windrow.plan import nodes


def with_inputs(plan: nodes.Plan, inputs: tuple[nodes.Plan, ...]) -> nodes.Plan:
    """Return the node over other inputs, which have the columns of those they stand for."""
    match plan:
        case nodes.Scan() | nodes.Table() | nodes.Versions():
            return plan
        case nodes.NrrJoin():
            left, table = inputs
            assert isinstance(table, nodes.Table), "an NRR is looked up as it is"
            return replace(plan, left=left, table=table)
        case (
            nodes.Join()
            | nodes.SemiJoin()
            | nodes.AntiJoin()
            | nodes.OuterJoin()
            | nodes.Intersect()
            | nodes.Except()
        ):
            return replace(plan, left=inputs[0], right=inputs[1])
        case nodes.UnionAll():
            return nodes.UnionAll(inputs)
        case nodes.Rstream() | nodes.RecentAnswers():
            [source] = inputs
            assert isinstance(source, nodes.Refresh), "whole answers are streamed at refreshes"
            return replace(plan, source=source)
        case _:
            return replace(plan, source=inputs[0])
