"""How each bug was before it was mended: functions that stand in the place of the engine's own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.core.time import BEGINNING
from windrow.optimize.identify_results import _Identify
from windrow.plan.nodes import Delay, Istream, Plan, Produced, Refresh, SortKey
from windrow.runtime.local import presentation
from windrow.runtime.local.database import Database
from windrow.runtime.local.failing import Failures
from windrow.runtime.local.query import RunningQuery

SHOWN_RIGHT = presentation.sort_table
ANSWERED_RIGHT = RunningQuery._answer_now


class ValuesForRestore(_Identify):
    """RESTORE without columns that tell results apart."""

    def over(self, plan: Plan) -> Plan:
        """Leave RESTORE as it was bound."""
        if isinstance(plan, Refresh) and plan.restore:
            return plan
        return super().over(plan)


def identify_but_restored(plan: Plan) -> Plan:
    """Tell results apart, but not those that RESTORE shows."""
    return ValuesForRestore(count(1), keep_produced=True).over(plan)


def delay_of_net(source: Plan, slide: int) -> Delay:
    """ISTREAM RESTORE of what ISTREAM would stream."""
    return Delay(Istream(source.source) if isinstance(source, Produced) else source, slide)


def show_rows_later(db: Database, running: RunningQuery) -> None:
    """A new query waits for a change of its relations before it shows them."""
    for relation in db._relations.values():
        if running.reads(relation.relation.name):
            for changes in relation.history:
                ts, sign, arrays = changes.on(running.time_type)
                ts = np.where(ts <= db.clock_of(running), BEGINNING, ts)
                running.feed(relation.relation.name, ts, arrays, sign)


def no_changes_of_relations(running: RunningQuery) -> pa.Table:
    """A view of relations alone has an answer, and emits nothing."""
    table = CHANGES_RIGHT(running)
    return table if running.streams else table.slice(0, 0)


CHANGES_RIGHT = RunningQuery.changes


def raise_at_once(
    db: Database,
    queries: list[RunningQuery],
    feed: Callable[[RunningQuery], None],
    *,
    ends: bool = False,
) -> None:
    """One query after the other takes rows and reports: an error ends it for those that follow."""
    for query in queries:
        failures = Failures()
        if query.failure is None:
            db._step(query, feed, failures, ends=ends)
        if query.recipients and query.failure is None:
            db._report(query, failures)
        failures.raise_first()


def never_late(_db: Database, _target: object, _clock: object) -> int:
    """No change of a relation is late: it takes effect at the clock."""
    return BEGINNING


def shown_by_selected_keys(table: pa.Table, order: tuple[SortKey, ...]) -> pa.Table:
    """Rows by what they show; keys that are not selected do not count."""
    kept = tuple(key for key in order if not getattr(key.expr, "name", "#").startswith("#"))
    return SHOWN_RIGHT(table, kept)


def answered_before_the_first_event(running: RunningQuery) -> Any:
    """An aggregate without GROUP BY has its row of no tuples before anything has happened."""
    if running.flow.begun or not running.streams:
        return ANSWERED_RIGHT(running)
    ahead = RunningQuery.resumed(running.query, running.snapshot(), running.processor)
    ahead.start = 0
    ahead.run(0)
    ahead.settle()
    return ANSWERED_RIGHT(ahead)
