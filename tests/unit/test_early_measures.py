"""What is measured of the inputs of a GROUP BY over joins while it runs."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.early_measures import SAMPLE, _Counter
from windrow.operators.interner import Interner
from windrow.operators.vector import Vector
from windrow.optimize.choose_early import EarlyFacts
from windrow.optimize.early_costs import shown
from windrow.plan.expressions import Column
from windrow.runtime.local.database import Database
from windrow.runtime.local.early import watched
from windrow.runtime.local.handle import QueryHandle

TIMES = 10
ROWS = TIMES * SAMPLE
SLIDE, STEP = 40, 4
TEXT = (
    "SELECT a.g, COUNT(*) AS n, SUM(b.x) AS s FROM s1 AS a [RANGE 102{0}], s2 AS b [RANGE 102{0}] "
    "WHERE a.k = b.k GROUP BY a.g"
)
"""Tuples come at 0 and 1 modulo `STEP`, and leave at 2 and 3: each change has its own instant."""


def distinct(values: np.ndarray) -> float:
    rows = Delta(np.arange(len(values)), {"k": Vector(BIGINT, values)})
    return _Counter(rows, Interner()).distinct((Column("k", BIGINT, False),))


@pytest.mark.parametrize("period", [1, 2, TIMES, 64, 5 * TIMES, 1_000])
def test_keys_that_recur_in_step_with_the_sample_are_all_seen(period: int) -> None:
    assert distinct(np.arange(ROWS) % period) == period


@pytest.mark.parametrize("period", [SAMPLE // 2, SAMPLE, 3 * SAMPLE, ROWS])
def test_many_keys_are_counted_within_the_bound(period: int) -> None:
    factor = sqrt(ROWS / SAMPLE)
    assert period / factor <= distinct(np.arange(ROWS) % period) <= period * factor


def test_whoever_counts_again_comes_to_the_same() -> None:
    values = np.arange(ROWS) ** 2 % 49_999
    assert distinct(values) == distinct(values)


def started(slide: str) -> tuple[Database, QueryHandle]:
    db = wr.connect()
    assert isinstance(db, Database)
    for name in ("s1", "s2"):
        columns = "(t BIGINT, k BIGINT, g BIGINT, x BIGINT)"
        db.execute(f"CREATE STREAM {name} {columns} TIMESTAMP BY t")
    return db, db.query(TEXT.format(slide))


def push(db: Database, start: int, stop: int) -> None:
    n = np.arange(start, stop)
    for i, name in enumerate(("s1", "s2")):
        db.push(name, pa.table({"t": STEP * n + i, "k": n % 3, "g": n // 2 % 5, "x": n % 7}))


def tuples(found: EarlyFacts) -> float:
    """Return how many tuples the facts are of."""
    return sum(i.rate for i in found.graph.inputs)


def facts(db: Database, q: QueryHandle) -> EarlyFacts:
    running = db.running(q.name)
    (item,) = watched(running)
    found = item.facts(running)
    assert found is not None
    return found


@pytest.mark.parametrize("slide", ["", f" SLIDE {SLIDE}"])
def test_rows_that_are_told_are_foreseen_with_slide_and_without(slide: str) -> None:
    """A group's row is another at each multiple of SLIDE, not at each tuple."""
    db, q = started(slide)
    push(db, 1, 1_001)
    told = q.changes().num_rows / 2_000
    found = facts(db, q)
    assert (found.instants is None) == (not slide)
    assert told / 1.3 < 2 * shown(found) / tuples(found) < 1.3 * told


def test_the_plan_knows_slide_before_any_tuple_and_after_a_switch() -> None:
    db, q = started(f" SLIDE {SLIDE}")
    (item,) = watched(db.running(q.name))
    assert item.watch.choice.facts.instants == 1 / SLIDE
    push(db, 1, 1_001)
    for _ in range(2):
        found = facts(db, q)
        assert found.instants == pytest.approx(tuples(found) / 2 * STEP / SLIDE, rel=0.05)
        q.reoptimize()
    push(db, 1_001, 2_001)
    found = facts(db, q)
    assert tuples(found) == 2_000
    assert found.instants == pytest.approx(1_000 * STEP / SLIDE, rel=0.05)
