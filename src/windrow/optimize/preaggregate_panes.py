"""Tuples of one pane and one group may become one row before they are moved.

    γ[k; COUNT(*), SUM(x)] (S [RANGE w])  refreshed every d
      ⇒  π (γ[k; SUM(p), SUM(q)] ((π[k, 1 AS p, x AS q] S) [RANGE w]))  refreshed every d

Each tuple is first the partial aggregate of itself (`partial_aggregates.py`). That changes no
answer; and now rows of equal keys may be merged, by whoever sees them first, if the window treats
them alike: what SLIDE d shows of a tuple depends on the first multiples of d at or after `ts` and
`ts + w` alone.

    w = 10, d = 4   ───┤───────┼───────┼───────┼───────┤──►   a pane: (·, ·] between two edges
                       4       6       8      10      12      k·d, and k·d - w where that differs

A merged row has the time of its newest tuple, which is one of the pane's.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.types import is_float
from windrow.optimize import partial_aggregates
from windrow.optimize.catalyst import translatable
from windrow.optimize.partial_aggregates import Parts
from windrow.optimize.place_exchanges import at_source, is_leaf
from windrow.optimize.rewriting import renamed, slide_below
from windrow.physical.sources import Pane, Partials
from windrow.plan.expressions import Expr, conjuncts
from windrow.plan.format import format_expr
from windrow.plan.nodes import (
    Aggregate,
    AggregateCall,
    Distinct,
    Dstream,
    Filter,
    Istream,
    Named,
    Plan,
    Produced,
    Project,
    RecentAnswers,
    Refresh,
    Rstream,
    Scan,
    TopN,
    UnionAll,
    Window,
    as_column,
    inputs_of,
)
from windrow.plan.rebuilding import with_inputs
from windrow.plan.windows import Range

FARTHEST = 2**61
"""Times, in either direction, and widths beyond it are not merged: their panes might overflow."""


@dataclass(frozen=True, slots=True)
class Preaggregated:
    """A plan over merged inputs: these, and why others are not merged."""

    root: Plan
    partials: tuple[Partials, ...] = ()
    refused: tuple[str, ...] = ()


def preaggregate_panes(root: Plan) -> Preaggregated:
    """Return the plan over parts wherever it can be."""
    walk = _PaneWalk([], [])
    return Preaggregated(walk.over(root, None), tuple(walk.found), tuple(walk.refused))


@dataclass(frozen=True, slots=True)
class _PaneWalk:
    """A walk down a plan with the SLIDE that windows are reached by.

    Joins end it: their time bands look for the tuples' own times.
    """

    found: list[Partials]
    refused: list[str]

    def over(self, plan: Plan, slide: int | None) -> Plan:
        """Return the node over parts."""
        match plan:
            case Aggregate(source=source) if slide is not None:
                below = ranged(source)
                return self._split(plan, below, slide) if below else self._inside(plan, slide)
            case Filter() | Project() | TopN() | Distinct() | UnionAll() | Refresh() | Window():
                return self._inside(plan, slide)
            case Aggregate() | Produced() | Istream() | Dstream() | Rstream() | RecentAnswers():
                return self._inside(plan, slide)
            case _:
                return plan

    def _inside(self, plan: Plan, slide: int | None) -> Plan:
        inputs, slide = inputs_of(plan), slide_below(plan, slide)
        made = tuple(self.over(below, slide) for below in inputs)
        return plan if made == inputs else with_inputs(plan, made)

    def _split(self, plan: Aggregate, below: Ranged, slide: int) -> Plan:
        keys = tuple(Named(k.name, below.at_stream(k.expr)) for k in plan.keys)
        calls = tuple(below.call_at_stream(c) for c in plan.calls)
        reason = too_wide(below.width, slide) or refusal(below, keys, calls)
        if reason is not None:
            self.refused.append(reason)
            return plan
        parts = Parts()
        made = tuple(Named(c.output, parts.of(c)) for c in calls)
        leaf = Project(below.stream, (*keys, *parts.columns))
        named = tuple(Named(k.name, as_column(k.field)) for k in keys)
        folded = Aggregate(Window(leaf, Range(below.width)), named, tuple(parts.calls))
        names = tuple(k.name for k in keys)
        pane = Pane(slide, below.width)
        self.found.append(Partials(leaf, pane, names, tuple(parts.parts)))
        return Project(folded, (*named, *made))


@dataclass(frozen=True, slots=True)
class Ranged:
    """What an aggregate, or a join, reads: a RANGE of `width`, behind filters and projections.

    `columns` are the aggregate's input columns over those of the stream; `stream` is that stream,
    with all filters below the window: time alone decides who is inside.
    """

    width: int
    stream: Plan
    columns: dict[str, Expr]

    def at_stream(self, expr: Expr) -> Expr:
        """Return an expression over the aggregate's input as one over the stream."""
        return renamed(expr, self.columns)

    def call_at_stream(self, call: AggregateCall) -> AggregateCall:
        """Return a call of the aggregate over the stream's columns."""
        args = tuple(map(self.at_stream, call.args))
        wanted = None if call.filter is None else self.at_stream(call.filter)
        name, type_ = call.name, call.type
        return AggregateCall(
            call.output, name, args, type_, call.distinct, wanted, nullable=call.nullable
        )


def ranged(plan: Plan) -> Ranged | None:
    """Return an input as a RANGE over a stream; None if it is none."""
    match plan:
        case Window(source=stream, spec=Range(width=width), expiry_column=None):
            if not is_leaf(stream):
                return None
            return Ranged(width, stream, {f.name: as_column(f) for f in stream.schema})
        case Filter(source=source, predicate=predicate):
            below = ranged(source)
            if below is None:
                return None
            kept = Filter(below.stream, below.at_stream(predicate))
            return Ranged(below.width, kept, below.columns)
        case Project(source=source, columns=columns):
            below = ranged(source)
            if below is None:
                return None
            made = {c.name: below.at_stream(c.expr) for c in columns}
            return Ranged(below.width, below.stream, made)
        case _:
            return None


def too_wide(width: int, slide: int) -> str | None:
    """Return why the end of a window cannot be computed in Spark; None if it can."""
    return "Spark has no numbers for its windows' ends" if max(width, slide) > FARTHEST else None


def refusal(below: Ranged, keys: tuple[Named, ...], calls: tuple[AggregateCall, ...]) -> str | None:
    """Return why an aggregate's input cannot be of parts; None if it can."""
    for call in calls:
        reason = partial_aggregates.refusal(call)
        if reason is not None:
            return reason
    if any(is_float(k.expr.type) for k in keys):
        return "of doubles that are equal, Spark and a shard may show different ones as the key"
    exprs = [k.expr for k in keys]
    exprs += [e for c in calls for e in (*c.args, *((c.filter,) if c.filter is not None else ()))]
    read = (*at_source(below.stream, tuple(exprs)), *_predicates(below.stream))
    strange = [e for e in read if not translatable(e)]
    return f"Catalyst cannot compute {format_expr(strange[0])}" if strange else None


def _predicates(stream: Plan) -> list[Expr]:
    """Return the conditions on a stream, over its declared columns."""
    found: list[Expr] = []
    while not isinstance(stream, Scan):
        assert isinstance(stream, Filter | Project), "a leaf is a stream, filtered and projected"
        if isinstance(stream, Filter):
            found += at_source(stream.source, conjuncts(stream.predicate))
        stream = stream.source
    return found
