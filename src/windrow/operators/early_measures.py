"""What is alive of the inputs of a GROUP BY over joins: rows, entries, values, groups.

Whatever the placement, the tuples of an input are known to an operator of the plan: the expirer
below an aggregation join, or the join that keeps them. Distinct values are counted in a sample:

    n rows, a sample of s, in it d values of which f occur once:  d - f + f · √(n/s)

which is expected to be within a factor of √(n/s) of the truth [Charikar et al. 2000, GEE], as long
as places are drawn at random: of every tenth row of k = t % 10, a sample would have one value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from windrow.core.schema import Field
from windrow.operators.codec import RowCodec
from windrow.operators.dataflow import Stage
from windrow.operators.delta import Delta
from windrow.operators.early_watching import EarlyWatch
from windrow.operators.handover.contents import alive
from windrow.operators.handover.moving import Holding
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.rowwise import ProjectTask
from windrow.operators.state.key_table import KeyTable
from windrow.operators.stateless import Stateless
from windrow.operators.vector import I64
from windrow.optimize.choose_early import EarlyFacts
from windrow.optimize.early_costs import stored_graph
from windrow.optimize.early_estimates import Counts, facts_from
from windrow.optimize.early_grouping import early_calls, entry_columns
from windrow.optimize.join_graph import GraphInput
from windrow.optimize.join_orders import best_orders
from windrow.plan.expressions import Column, Expr, columns_of
from windrow.plan.format import format_expr
from windrow.plan.nodes import Named, Plan

SAMPLE = 32_768
"""Rows in which values are counted."""

SEED = 17
"""Of the places of a sample: whoever runs a batch again draws the same."""


def measured_facts(
    stages: list[Stage], watch: EarlyWatch, clock: int, since: int | None
) -> EarlyFacts | None:
    """Return what is alive; None if tuples of some input are known nowhere, or there are none.

    Of inputs that meet versions nothing is measured: their placement stays.

    Rates are tuples since the plan began, at `since`, or those alive if none has come: only their
    proportions matter. O(rows).
    """
    joined = watch.joined
    if joined.versioned:
        return None
    everyone = (True,) * len(joined.flat.inputs)
    early = early_calls(joined, everyone)
    inputs: list[GraphInput] = []
    counts: list[Counts] = []
    # Of each input: its live rows, and how many different values its columns have.
    for which, plan in enumerate(joined.flat.inputs):
        feed = _feed(stages, plan)
        rows = _rows(stages, feed, clock)
        if rows is None:
            return None
        columns = entry_columns(joined, early, which)
        count = _Counter(rows, watch.interner)
        classes = (c.members[which] for c in joined.flat.classes)
        values = tuple(max(1.0, count.distinct(m)) if m else 0.0 for m in classes)
        inputs.append(GraphInput(_arrival_rate(stages[feed]), max(1.0, count.rows), values))
        counts.append((count.distinct(columns.all), max(1.0, count.distinct(columns.grouped))))
    # Without arrivals since the plan began, sizes stand for rates.
    elapsed = clock - since if since is not None and any(i.rate for i in inputs) else 0
    if not any(i.rate for i in inputs):
        inputs = [replace(i, rate=0.0 if i.size <= 1 else i.size) for i in inputs]
    if not any(i.rate for i in inputs):
        return None
    graph = replace(watch.choice.facts.graph, inputs=tuple(inputs))
    facts = facts_from(joined, graph, counts)
    return replace(facts, instants=_instants(watch, facts, elapsed))


def _instants(watch: EarlyWatch, facts: EarlyFacts, elapsed: int) -> float | None:
    """Return how many instants SLIDE leaves for the changes that the rates count; None: all.

    Where no time has passed that these are of, they are as dense as was known before.
    """
    known = watch.choice.facts
    if watch.slide is None or known.instants is None:
        return None
    if elapsed > 0:
        return max(1.0, elapsed / watch.slide)
    rates, before = (sum(i.rate for i in f.graph.inputs) for f in (facts, known))
    return known.instants * rates / before if before else None


def _feed(stages: list[Stage], plan: Plan) -> int:
    """Return the stage whose output is an input of the join."""
    return max(i for i, s in enumerate(stages) if s.node is plan)


def _rows(stages: list[Stage], feed: int, clock: int) -> Delta | None:
    """Return the live rows of an edge, from the first operator above it that stores them."""
    at = feed
    while True:
        above = [i for i, s in enumerate(stages) if at in s.inputs]
        if len(above) != 1:
            return None
        stage = stages[above[0]]
        if not isinstance(stage.task, Stateless):
            break
        at = above[0]
    if not isinstance(stage.task, Holding):
        return None
    held = stage.task.held(clock)
    port = stage.inputs.index(at)
    return alive(held[port], clock) if port < len(held) else None


def _arrival_rate(stage: Stage) -> float:
    """Return how many tuples have come; of a relation, none: its changes are few."""
    if stage.task is None:
        return 0.0
    return float(stage.task.counters.tuples_out - stage.task.counters.negatives_out)


def _places(rows: int) -> I64:
    """Return `SAMPLE` of so many places, drawn at random, in order."""
    drawn = np.random.default_rng(SEED).choice(rows, SAMPLE, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.int64)


class _Counter:
    """Counts distinct values among rows."""

    def __init__(self, rows: Delta, interner: Interner) -> None:
        self.rows = float(rows.weights().sum())
        self._size = len(rows)
        self._sample = rows if len(rows) <= SAMPLE else rows.take(_places(len(rows)))
        self._interner = interner

    def distinct(self, exprs: tuple[Expr, ...]) -> float:
        """Return how many distinct values of the expressions there are, at least about."""
        n = len(self._sample)
        if not exprs or not n:
            return float(bool(n))
        columns = tuple(self._column(f"#{i}", e) for i, e in enumerate(exprs))
        made = ProjectTask(columns, self._interner).step((self._sample,), 0).columns
        fields = tuple(Field(c.name, c.expr.type) for c in columns)
        codec = RowCodec(fields)
        table = KeyTable(codec.width)
        codes = table.encode(codec.words([made[f.name] for f in fields], n))
        often = np.bincount(codes)
        once = int(np.count_nonzero(often == 1))
        return np.count_nonzero(often) - once + once * sqrt(self._size / n)

    def _column(self, name: str, expr: Expr) -> Named:
        """Return the column that has an expression's value, computed if there is none yet."""
        known = f"#{format_expr(expr)} {expr.type}"
        if known in self._sample.columns and not columns_of(expr) <= self._sample.columns.keys():
            return Named(name, Column(known, expr.type, expr.nullable))
        return Named(name, expr)


@dataclass(frozen=True, slots=True)
class CountedStages:
    """Stages at work, up to which instant, and since when their operators count."""

    stages: list[Stage]
    clock: int
    since: int | None

    def facts(self, watch: EarlyWatch) -> EarlyFacts | None:
        """Return what is alive of the inputs of a join."""
        return measured_facts(self.stages, watch, self.clock, self.since)


def watches_of(stages: Iterable[Stage]) -> list[EarlyWatch]:
    """Return what watches the joins under GROUP BY."""
    return [s.watch for s in stages if isinstance(s.watch, EarlyWatch)]


def better_placements(at_work: CountedStages) -> dict[str, str]:
    """Measure what is due; return by join the placements that are clearly cheaper.

    Aggregation joins follow the orders that are best for what is alive.
    """
    better: dict[str, str] = {}
    for stage in at_work.stages:
        watch = stage.watch
        if not isinstance(watch, EarlyWatch) or not watch.due:
            continue
        facts = at_work.facts(watch)
        choice = watch.looked(facts)
        if facts is not None and isinstance(stage.task, AggregationJoinTask):
            stage.task.reorder(best_orders(stored_graph(facts, watch.choice.placement)))
        if choice is not None:
            better[watch.key] = choice.early_aggregation
    return better


def go_on(old: Iterable[Stage], new: Iterable[Stage]) -> None:
    """Hand what the watches of an old plan have measured to those of a new one."""
    before = {watch.key: watch for watch in watches_of(old)}
    for watch in watches_of(new):
        if watch.key in before:
            watch.go_on_from(before[watch.key])
