"""A running query goes on under another physical plan; its changelog does not show the switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from windrow.core.errors import StateError
from windrow.core.time import Clock
from windrow.operators.delta import Delta
from windrow.operators.handover import (
    PlanMatching,
    carried,
    has_state,
    pending_insertions,
    transfer,
)
from windrow.operators.measure import measured_statistics
from windrow.operators.netting import net_per_instant
from windrow.operators.open import open_plan
from windrow.operators.state.bag import Bag
from windrow.operators.view import View
from windrow.optimize.passes import require_early_inputs
from windrow.optimize.statistics import Statistics
from windrow.runtime.local.query import RunningQuery


def handed_over(
    old: RunningQuery,
    strategy: str,
    statistics: Statistics,
    algorithm: str | None = None,
    early: str | None = None,
    *,
    placements: Mapping[str, str] | None = None,
) -> RunningQuery:
    """Return the query at the same instant, with the same answer, under a plan made anew.

    Without an algorithm of joins, or what is aggregated early, it keeps its own; `placements` says
    what the latter comes to.
    What queues hold is shown by then. Raises `StateError` if the old one's state does not hold what
    the new plan needs: then it goes on as if nobody had asked; else it must not run any more.
    O(state).
    """
    if old.ended:
        raise StateError(
            f'"{old.query.name}" has ended', detail="Every answer of it is final already."
        )
    query = old.query if algorithm is None else replace(old.query, join_algorithm=algorithm)
    query = query if early is None else replace(query, early_aggregation=early)
    still = old.settled()
    new = RunningQuery(
        query, strategy, still.interner, statistics, dict(placements or {}), old.processor
    )
    if early is not None:
        require_early_inputs(query, new.physical.plan)
    transfer(still.flow, open_plan(still.physical.plan, still.interner).stages, new.flow)
    if new.pipeline is not None and still.pipeline is not None:
        new.pipeline.follow(still.pipeline)
    new.clock, new.start, new.steps = still.clock, still.start, old.steps
    new.counted_from = still.clock if still.flow.begun else None
    new.seconds, new.delays = old.seconds, still.delays
    new._buffers = carried(still.physical.sources, new.physical.sources, still._buffers)
    if still.flow.begun and not still.is_stream:
        _show(still, new)
    new._log = [d if still.physical.netted else net_per_instant(d) for d in still._log]
    _emit_pending_insertions(still, new)
    new.recipients = old.recipients
    for change in still._log[len(old._log) :]:
        for recipient in new.recipients:
            recipient.take(change)
    return new


def _emit_pending_insertions(old: RunningQuery, new: RunningQuery) -> None:
    """Emit what the old plan would have emitted at its next step, and the new one will not."""
    waiting = pending_insertions(old.flow, new.flow)
    if waiting is not None and len(waiting):
        new.delays.note(waiting.ts, old.clock)
        new._log.append(waiting)


def _show(old: RunningQuery, new: RunningQuery) -> None:
    """Give the new plan the answer, unless one of its operators has it; assert that it is the same.

    Departures that wait on an edge are of rows that no operator below it has.
    """
    columns, copies = old.rows()
    if new.view is not None or new.flow.ends:
        new.view = View(new.schema)
        new.view.apply(Delta(np.full(len(copies), old.clock), columns, None, copies))
        return
    bag = Bag(new.schema)
    bag.add(columns, copies)
    columns, copies = new.rows()
    bag.add(columns, -copies)
    assert not len(bag), "the new plan has another answer"


def measured(running: RunningQuery) -> Statistics:
    """Return what the plan has counted; what was known before, if it has counted nothing."""
    since = running.counted_since
    if since is None:
        return running.statistics
    found = measured_statistics(running.physical, running.clock - since)
    return found if found.rates else running.statistics


def what_changed(old: RunningQuery, new: RunningQuery) -> str:
    """Return in lines how the plans differ, and the measurements that the new one was made by."""
    lines = [f"strategy {old.strategy} → {new.strategy}"]
    for name in ("join_algorithm", "early_aggregation"):
        was, now = getattr(old.query, name), getattr(new.query, name)
        if was != now:
            lines.append(f"{name} {was} → {now}")
    unchanged = len(lines)
    stages, matching = new.flow.stages, PlanMatching(old.flow.stages, new.flow.stages)
    for i, stage in enumerate(stages):
        if not has_state(stage) or stage.label == "Expire":
            continue
        before = matching.same.get(i)
        if before is None:
            lines.append(f"{stage.label}: stands elsewhere, {stage.structure}")
        elif (was := old.flow.stages[before].structure) != stage.structure:
            lines.append(f"{stage.label}: {was} → {stage.structure}")
    if len(lines) == unchanged:
        lines.append("every operator keeps its form")
    return "\n".join([*lines, *_measurements(new)])


def _measurements(running: RunningQuery) -> list[str]:
    unit, span = ("second", 1e6) if running.time_type is Clock.TIMESTAMP else ("tick", 1.0)
    known = running.statistics
    lines = [f"measured: {name} {rate * span:.4g} a {unit}" for name, rate in known.rates.items()]
    if known.premature is not None:
        lines.append(f"measured: {known.premature:.0%} of the results of negations end early")
    return lines
