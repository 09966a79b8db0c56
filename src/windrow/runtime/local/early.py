"""Placements of early aggregation that follow the streams: measured, and changed while it runs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.core.errors import StateError
from windrow.operators.dataflow import Stage
from windrow.operators.early_measures import CountedStages, better_placements, go_on
from windrow.operators.early_watching import EarlyWatch
from windrow.optimize.choose_early import EarlyFacts, choose_early
from windrow.runtime.local.handover import handed_over
from windrow.runtime.local.query import RunningQuery


@dataclass(frozen=True, slots=True)
class WatchedJoin:
    """A GROUP BY over joins of a running query."""

    stage: Stage
    watch: EarlyWatch

    def facts(self, running: RunningQuery) -> EarlyFacts | None:
        """Return what is alive of its inputs."""
        counted = CountedStages(running.flow.stages, running.clock, running.counted_since)
        return counted.facts(self.watch)


def watched(running: RunningQuery) -> list[WatchedJoin]:
    """Return the watched joins of a query."""
    stages = running.flow.stages
    return [WatchedJoin(s, s.watch) for s in stages if isinstance(s.watch, EarlyWatch)]


def measured_placements(running: RunningQuery) -> dict[str, str]:
    """Return the placement that is best for what is alive, where that can be measured.

    Joins with versions of a relation stay as they are.
    """
    watches = watched(running)
    kept = {
        w.watch.key: w.watch.choice.early_aggregation for w in watches if w.watch.joined.versioned
    }
    found = ((w.watch.key, w.facts(running)) for w in watches)
    return kept | {
        key: choose_early(facts).early_aggregation for key, facts in found if facts is not None
    }


def followed(running: RunningQuery) -> RunningQuery:
    """Return the query under a clearly cheaper placement, or as it is if there is none.

    One that the state cannot be handed over to is not tried again. Nobody has asked for the change,
    so nobody's push fails with it: whatever goes wrong, the plan stays, and the reason is shown.
    """
    due = [item for item in watched(running) if item.watch.due]
    if not due:
        return running
    try:
        return _changed(running, due)
    except Exception as failure:  # also an assertion: the old plan is as it was
        reason = f"a change of early aggregation failed with {failure!r}"
        for item in due:
            item.watch.fails(reason)
        warnings.warn(f'"{running.query.name}" goes on as it was: {reason}', stacklevel=2)
        return running


def _changed(running: RunningQuery, due: Sequence[WatchedJoin]) -> RunningQuery:
    """Measure what is due; return the query under what is clearly cheaper then, if it can be."""
    stages = running.flow.stages
    better = better_placements(CountedStages(stages, running.clock, running.counted_since))
    if not better:
        return running
    placements = running.placements | better
    try:
        new = handed_over(running, running.strategy, running.statistics, placements=placements)
    except StateError as refused:
        for item in due:
            if item.watch.key in better:
                item.watch.stays(str(refused))
        return running
    go_on(stages, new.flow.stages)
    return new
