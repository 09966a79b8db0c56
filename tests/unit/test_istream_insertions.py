"""ISTREAM of rows that tell when they were born is their births; of others, it is netted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import windrow
from windrow.runtime.local.database import Database

TICKS = 60


def pushed(text: str, strategy: str) -> tuple[Counter[tuple[object, ...]], set[str]]:
    """Return what a query tells of random streams with many ties, and its operators."""
    db = windrow.connect()
    assert isinstance(db, Database)
    for name in ("s", "r"):
        db.execute(f"CREATE STREAM {name} (t BIGINT, k BIGINT) TIMESTAMP BY t")
    query = db.query(text, strategy=strategy)
    random = np.random.default_rng(11)
    told: Counter[tuple[object, ...]] = Counter()
    for low in range(0, TICKS, 7):
        for name in ("s", "r"):
            times = np.sort(random.integers(low, low + 7, 12))
            db.push(name, pa.table({"t": times, "k": random.integers(0, 2, 12)}))
        db.advance(low + 7)
        told.update(tuple(row.values()) for row in query.changes().to_pylist())
    return told, {stage.label for stage in db.running(query.name).flow.stages}


@pytest.mark.parametrize(
    ("select", "births"),
    [
        ("s.t AS a, s.k, r.t AS b FROM s [RANGE 5], r [RANGE 3] WHERE s.k = r.k", True),
        ("s.t AS a, r.t AS b FROM s [RANGE 4], r [UNBOUNDED] WHERE s.k = r.k AND s.t > 9", True),
        ("s.t AS a, s.k FROM s [RANGE 1]", True),
        ("s.t + 1 AS a, s.k FROM s [RANGE 3]", False),
        ("s.t AS a, s.k FROM s [RANGE 5], r [RANGE 3] WHERE s.k = r.k", False),
        ("DISTINCT s.t AS a, s.k FROM s [RANGE 5], r [RANGE 3] WHERE s.k = r.k", False),
        ("s.t AS a, s.k, r.t AS b FROM s [RANGE 5], r [ROWS 3] WHERE s.k = r.k", False),
        ("s.k FROM s [RANGE 2]", False),
    ],
)
def test_births_are_what_istream_tells(select: str, *, births: bool) -> None:
    told, labels = pushed(f"ISTREAM(SELECT {select})", "auto")
    signed, _ = pushed(f"ISTREAM(SELECT {select})", "negative")
    assert told == signed
    assert told
    assert ("Insertions" in labels) == births
