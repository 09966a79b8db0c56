"""What a running plan has counted, as the statistics that choices are made by."""

from __future__ import annotations

from dataclasses import replace

from windrow.operators.join.expiring import ExpiringJoin
from windrow.operators.join.fifo import FifoJoin
from windrow.operators.join.half import HalfJoinKind, KeyedForm
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.multi.task import MultiJoin, MultiZSetJoin
from windrow.operators.join.partly_signed import PartlySignedAntiJoin
from windrow.operators.join.semi import HalfJoinTask
from windrow.operators.join.zset import ZSetJoin
from windrow.operators.open import OpenPlan
from windrow.operators.task import Counters
from windrow.operators.watching import OrderWatch
from windrow.optimize.statistics import Statistics, measured


def measured_statistics(physical: OpenPlan, elapsed: int) -> Statistics:
    """Return rates, swings and the share of early ends of a plan that ran for `elapsed` time.

    A stream's tuples are those that its first consumer took: what the source dropped has cost
    the plan nothing.
    """
    tuples: dict[str, int] = {}
    negations: list[Counters] = []
    keys: list[int] = []
    for stage in physical.stages:
        task = stage.task
        if task is None:
            continue
        for i in stage.inputs:
            if i in physical.sources:
                name = physical.sources[i].entry.name
                tuples[name] = max(tuples.get(name, 0), task.counters.tuples_in)
        if isinstance(task, PartlySignedAntiJoin) or _is_negation(task):
            negations.append(task.counters)
        keys += _keys(task)
    found = measured(tuples, elapsed, tuple(negations), tuple(keys))
    return replace(found, swings=swings_of(physical))


def swings_of(physical: OpenPlan) -> dict[str, float]:
    """Return by stream how many times the fewest rows alive in a join the most were."""
    watches = (s.watch for s in physical.stages if isinstance(s.watch, OrderWatch))
    spreads = (item for watch in watches for item in watch.spread.items())
    return {name: high / max(1, low) for name, (low, high) in spreads}


def _keys(task: object) -> list[int]:
    """Return how many distinct keys a join stores; none if it has none yet.

    A join of many inputs has some for each class of equal columns.
    """
    match task:
        case MultiJoin() | MultiZSetJoin():
            return [len(table) for table in task.rows.tables if len(table)]
        case HashJoin() | FifoJoin() | ExpiringJoin() | PartlySignedAntiJoin():
            count = len(task.keys)
        case ZSetJoin():
            count = len(task.pairs.keys.table)
        case HalfJoinTask(form=KeyedForm() as form):
            count = len(form.keys.table)
        case _:
            count = 0
    return [count] if count else []


def _is_negation(task: object) -> bool:
    """Return whether a task is a negation that counts what ends early: one by keys."""
    if not isinstance(task, HalfJoinTask) or task.kind is HalfJoinKind.SEMI:
        return False
    return isinstance(task.form, KeyedForm)
