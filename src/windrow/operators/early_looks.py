"""Looks at the joins under GROUP BY of a plan at work: what placement is clearly cheaper now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from windrow.operators.dataflow import Stage
from windrow.operators.early_measures import measured_facts
from windrow.operators.early_watching import EarlyWatch
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.optimize.choose_early import EarlyFacts
from windrow.optimize.early_costs import stored_graph
from windrow.optimize.join_orders import best_orders


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
