"""Rows in the order in which they expire, and tuples that wait for the clock, at a handover."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.core.errors import StateError
from windrow.core.time import FOREVER
from windrow.operators.dataflow import Dataflow
from windrow.operators.delta import Delta
from windrow.operators.handover.contents import common, minus, nothing, one_by_one
from windrow.operators.stateless import Stateless
from windrow.operators.task import Leaving
from windrow.operators.vector import I64
from windrow.physical.sources import SourceScan


def in_order_of_leaving(flow: Dataflow, at: int, rows: Delta, clock: int) -> Delta:
    """Return the rows of the signed edge that leaves stage `at`, first to leave first.

    The stages below have their state already. Rows that nobody below lets go come last. Only the
    columns of `rows` are read, and what leaves but is not among them was of no use to its reader.
    """
    leaving, schema = _only(_leaving(flow, at, clock)[0], rows), flow.stages[at].schema
    known = common(leaving, rows, schema)
    whole = Delta.concat([known, minus(rows, known, schema)])
    return Delta(np.full(len(whole), clock), whole.columns)


def _leaving(flow: Dataflow, at: int, clock: int) -> tuple[Delta, I64]:
    """Return the rows of an edge in the order in which they expire, and when, if that is known."""
    stage = flow.stages[at]
    task = stage.task
    if isinstance(task, Stateless):
        below, ends = _leaving(flow, stage.inputs[0], clock)
        kept = task.step(
            (Delta(ends, below.columns),), clock
        )  # rows are distinguished by their ends
        task.counters.reset()
        rows, ends = kept, kept.ts
    else:
        found = task.leaving() if isinstance(task, Leaving) else None
        rows = nothing(stage) if found is None else found
        ends = np.full(len(rows), FOREVER) if rows.exp is None else rows.exp
    rows = Delta(rows.ts, rows.columns)
    if at in flow.ends:
        gone = flow.ends[at]
        waiting = one_by_one(Delta(gone.ts, gone.columns, None, -gone.weights()))
        order = np.argsort(np.concatenate([waiting.ts, ends]), kind="stable")
        rows = Delta.concat([Delta(waiting.ts, waiting.columns), rows]).take(order)
        ends = np.concatenate([waiting.ts, ends])[order]
    return rows, ends


def _only(rows: Delta, model: Delta) -> Delta:
    return rows.replace_columns({name: rows.columns[name] for name in model.columns})


Sources = Mapping[int, SourceScan]
"""The inputs of a plan, by stage."""


def counterparts(old: Sources, new: Sources) -> dict[int, int]:
    """Return for each input of a new plan the one of the old plan that has let in the same tuples.

    Raises `StateError` where none has.
    """
    theirs, found = dict(old), dict[int, int]()
    for i, source in new.items():
        j = next((j for j, other in theirs.items() if _covers(other, source)), None)
        if j is None:
            raise StateError(
                f'"{source.entry.name}" is read otherwise by the other plan',
                detail="Tuples that wait for the clock would lack columns.",
                hint="Keep the strategy, or start the query anew.",
            )
        del theirs[j]
        found[i] = j
    return found


def carried(
    old: Sources, new: Sources, waiting: Mapping[int, list[Delta]]
) -> dict[int, list[Delta]]:
    """Return what waits for the clock, by input of the new plan."""
    return {
        i: [d.replace_columns({n: d.columns[n] for n in new[i].schema.names}) for d in waiting[j]]
        for i, j in counterparts(old, new).items()
    }


def _covers(old: SourceScan, new: SourceScan) -> bool:
    """Return whether both inputs would have accepted the same rows."""
    same = old.entry == new.entry and old.predicate == new.predicate
    return same and all(c in old.columns for c in new.columns)
