"""Tuples of one pane that a join treats alike may become one row before they are moved.

    γ[g; COUNT(*), SUM(x)] (A [RANGE w] ⋈ B [RANGE w])  refreshed every d,  A aggregated early
      ⇒  π (γ[g; COUNT(*), SUM(p)] ((π[j, 1 AS copies, x AS p] A) [RANGE w] ⋈ B [RANGE w]))

Rule 1 (`early_grouping.py`) says by what columns j tuples of A are one entry of its aggregation
set. Those that a pane has of an entry come and go together (`preaggregate_panes.py`), so whoever
sees them first may merge them: one row that says how many tuples it is, with sums of what early
calls read. The join multiplies by these copies; COUNT(*) is made of them.

Only for inputs that are windows of streams, and calls whose parts Spark adds up exactly: not for
sums of doubles, and not where a column of j is a double.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.core.types import BIGINT
from windrow.optimize.early_estimates import Asked, asked_placement, asks_for
from windrow.optimize.early_grouping import early_calls, entry_columns
from windrow.optimize.grouped_joins import COPIES, GroupedJoin, columns_in, grouped_join
from windrow.optimize.partial_aggregates import Parts
from windrow.optimize.preaggregate_panes import Preaggregated, Ranged, ranged, refusal, too_wide
from windrow.optimize.rewriting import slide_below
from windrow.physical.sources import Merge, Pane, PartialColumn, Partials
from windrow.plan.expressions import Column, Expr, Literal
from windrow.plan.nodes import (
    Aggregate,
    AggregateCall,
    Exchange,
    Filter,
    Join,
    Named,
    Plan,
    Project,
    Window,
    as_column,
    inputs_of,
    nodes_of,
)
from windrow.plan.rebuilding import with_inputs
from windrow.plan.windows import Range


def copies_of(plan: Plan) -> str | None:
    """Return the column of an input that says how many tuples a row is, if it has one."""
    return next((name for name in plan.schema.names if name.startswith(COPIES)), None)


def preaggregate_joins(root: Plan, asked: Asked) -> Preaggregated:
    """Return the plan with inputs merged, of those that are asked to be aggregated early."""
    walk = _JoinWalk(asked, [], [])
    made = walk.over(root, None)
    return Preaggregated(made, tuple(walk.found), tuple(walk.refused))


def all_joined(root: Plan) -> bool:
    """Return whether a plan with exchanges still has every merged input under one γ over joins."""
    made = {n for p in nodes_of(root) if isinstance(p, Window) for n in (copies_of(p),) if n}
    for plan in nodes_of(root):
        if isinstance(plan, Aggregate):
            match plan.source:
                case Exchange(source=below, folds=True):
                    plan = replace(plan, source=below)  # noqa: PLW2901 - as it is lowered
                case _:
                    pass
            joined = grouped_join(plan)
            made -= {copies_of(p) for p in joined.flat.inputs} if joined is not None else set()
    return not made


@dataclass(frozen=True, slots=True)
class _Merged:
    """An input of merged rows, and what calls over it have become."""

    plan: Plan
    calls: tuple[AggregateCall, ...]
    made: dict[str, Expr]


@dataclass(frozen=True, slots=True)
class _JoinWalk:
    """A walk down a plan with the SLIDE that windows are reached by."""

    asked: Asked
    found: list[Partials]
    refused: list[str]

    def over(self, plan: Plan, slide: int | None) -> Plan:
        """Return the node over merged inputs."""
        match plan:
            case Aggregate() if slide is not None:
                joined = grouped_join(plan)
                if joined is not None and asks_for(joined, self.asked):
                    return self._split(plan, joined, slide)
            case _:
                pass
        below, slide = inputs_of(plan), slide_below(plan, slide)
        made = tuple(self.over(node, slide) for node in below)
        return plan if made == below else with_inputs(plan, made)

    def _split(self, plan: Aggregate, joined: GroupedJoin, slide: int) -> Plan:
        if joined.why_not_applicable() or not _is_bare(plan.source, joined):
            return plan
        placement = asked_placement(joined, self.asked(joined))
        early = early_calls(joined, placement)
        merged: dict[int, _Merged] = {}
        for which in (i for i, placed in enumerate(placement) if placed):
            found = self._input(joined, early, which, slide)
            if found is not None:
                merged[which] = found
        if not merged:
            return plan
        by = {id(joined.flat.inputs[i]): found.plan for i, found in merged.items()}
        kept = tuple(c for c, at in zip(plan.calls, early, strict=True) if at not in merged)
        calls = kept + tuple(c for found in merged.values() for c in found.calls)
        folded = Aggregate(_over(plan.source, by), plan.keys, calls)
        made = {c.output: Column(c.output, c.type, c.nullable) for c in kept}
        every: dict[str, Expr] = dict(made)
        for found in merged.values():
            every |= found.made
        columns = [Named(k.name, as_column(k.field)) for k in plan.keys]
        columns += [Named(c.output, every[c.output]) for c in plan.calls]
        return Project(folded, tuple(columns))

    def _input(
        self, joined: GroupedJoin, early: tuple[int | None, ...], which: int, slide: int
    ) -> _Merged | None:
        """Return an input of merged rows; None if it cannot be."""
        plan, name = joined.flat.inputs[which], joined.names[which]
        below = ranged(plan)
        if below is None:
            self.refused.append(f"{name} is no window of a stream")
            return None
        names = columns_in(plan, entry_columns(joined, early, which).all)
        keys = tuple(Named(n, below.columns[n]) for n in names)
        mine = tuple(c for c, at in zip(joined.calls, early, strict=True) if at == which)
        calls = tuple(map(below.call_at_stream, mine))
        reason = too_wide(below.width, slide) or refusal(below, keys, calls)
        if reason is not None:
            self.refused.append(f"{name}: {reason}")
            return None
        return self._merged(below, keys, calls, slide, name)

    def _merged(
        self,
        below: Ranged,
        keys: tuple[Named, ...],
        calls: tuple[AggregateCall, ...],
        slide: int,
        name: str,
    ) -> _Merged:
        parts = Parts(prefix=f"#part of {name} ")
        made = {c.output: parts.of(c) for c in calls}
        copies = Named(f"{COPIES}{name}", Literal(1, BIGINT))
        leaf = Project(below.stream, (*keys, copies, *parts.columns))
        pane, names = Pane(slide, below.width), tuple(k.name for k in keys)
        merging = (PartialColumn(copies.name, Merge.SUM), *parts.parts)
        self.found.append(Partials(leaf, pane, names, merging))
        return _Merged(Window(leaf, Range(below.width)), tuple(parts.calls), made)


def _is_bare(plan: Plan, joined: GroupedJoin) -> bool:
    """Return whether above the inputs are joins, filters, and projections that leave names only."""
    if any(plan is given for given in joined.flat.inputs):
        return True
    match plan:
        case Project(source=source, columns=columns):
            kept = all(isinstance(c.expr, Column) and c.expr.name == c.name for c in columns)
            return kept and _is_bare(source, joined)
        case Join() | Filter():
            return all(_is_bare(below, joined) for below in inputs_of(plan))
        case _:
            return False


def _over(plan: Plan, by: dict[int, Plan]) -> Plan:
    """Return a tree of joins over other inputs, found by what they stand for.

    It has more columns, so projections are left out: lowering takes what is read.
    """
    if id(plan) in by:
        return by[id(plan)]
    match plan:
        case Project(source=source) if any(n in by for n in map(id, nodes_of(source))):
            return _over(source, by)
        case Join() | Filter():
            return with_inputs(plan, tuple(_over(below, by) for below in inputs_of(plan)))
        case _:
            return plan
