"""A running query goes on under another physical plan; its changelog does not show the switch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from windrow.core.errors import StateError
from windrow.core.time import Clock
from windrow.operators.delta import Delta
from windrow.operators.handover import Matching, remembers, transfer
from windrow.operators.measure import measured_statistics
from windrow.operators.netting import net_per_instant
from windrow.operators.source import Source
from windrow.operators.state.bag import Bag
from windrow.operators.view import View
from windrow.optimize.statistics import Statistics
from windrow.runtime.local.query import RunningQuery


def handed_over(
    old: RunningQuery, strategy: str, statistics: Statistics, algorithm: str | None = None
) -> RunningQuery:
    """Return the query at the same instant, with the same answer, under a plan made anew.

    Without an algorithm of joins it keeps its own.
    The old one is as it was, and must not run any more. Raises `StateError` if its state does not
    hold what the new plan needs. O(state).
    """
    if old.ended:
        raise StateError(
            f'"{old.query.name}" has ended', detail="Every answer of it is final already."
        )
    query = old.query if algorithm is None else replace(old.query, join_algorithm=algorithm)
    new = RunningQuery(query, strategy, old.interner, statistics)
    transfer(old.flow, old.lowered().stages, new.flow)
    new.clock, new.start, new.steps = old.clock, old.start, old.steps
    new.counted_from = old.clock
    new._buffers = _buffers(old, new)
    new._log = [d if old.physical.netted else net_per_instant(d) for d in old._log]
    if old.flow.begun and not old.is_stream:
        _show(old, new)
    return new


def _buffers(old: RunningQuery, new: RunningQuery) -> dict[int, list[Delta]]:
    """Return what waits for the clock, by input of the new plan."""
    theirs = dict(old.physical.sources)
    buffers: dict[int, list[Delta]] = {}
    for i, source in new.physical.sources.items():
        j = next((j for j, other in theirs.items() if _covers(other, source)), None)
        if j is None:
            raise StateError(
                f'"{source.entry.name}" is read otherwise by the other plan',
                detail="Tuples that wait for the clock would lack columns.",
                hint="Keep the strategy, or start the query anew.",
            )
        del theirs[j]
        names = source.schema.names
        buffers[i] = [d.replace_columns({n: d.columns[n] for n in names}) for d in old._buffers[j]]
    return buffers


def _covers(old: Source, new: Source) -> bool:
    """Tell whether what one input has let in is what the other would have."""
    same = old.entry == new.entry and old.predicate == new.predicate
    return same and all(c in old.columns for c in new.columns)


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
    since = running.start if running.counted_from is None else running.counted_from
    if since is None:
        return running.statistics
    found = measured_statistics(running.physical, running.clock - since)
    return found if found.rates else running.statistics


def what_changed(old: RunningQuery, new: RunningQuery) -> str:
    """Return in lines how the plans differ, and the measurements that the new one was made by."""
    lines = [f"strategy {old.strategy} → {new.strategy}"]
    was, now = old.query.join_algorithm, new.query.join_algorithm
    if was != now:
        lines.append(f"join_algorithm {was} → {now}")
    told = len(lines)
    stages, matching = new.flow.stages, Matching(old.flow.stages, new.flow.stages)
    for i, stage in enumerate(stages):
        if not remembers(stage) or stage.label == "Expire":
            continue
        before = matching.same.get(i)
        if before is None:
            lines.append(f"{stage.label}: stands elsewhere, {stage.form}")
        elif old.flow.stages[before].form != stage.form:
            lines.append(f"{stage.label}: {old.flow.stages[before].form} → {stage.form}")
    if len(lines) == told:
        lines.append("every operator keeps its form")
    return "\n".join([*lines, *_measurements(new)])


def _measurements(running: RunningQuery) -> list[str]:
    unit, span = ("second", 1e6) if running.time_type is Clock.TIMESTAMP else ("tick", 1.0)
    known = running.statistics
    lines = [f"measured: {name} {rate * span:.4g} a {unit}" for name, rate in known.rates.items()]
    if known.premature is not None:
        lines.append(f"measured: {known.premature:.0%} of the results of negations end early")
    return lines
