"""Ten million tuples through a window: the state stays as it is, sums stay exact, nothing leaks."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import windrow

ROWS, BATCH, WINDOW = 10_000_000, 100_000, 60_000
DDL = "CREATE STREAM s (ts BIGINT, src STRING, v DOUBLE) TIMESTAMP BY ts"


def batch(start: int, rng: np.random.Generator, *, fresh: bool) -> pa.Table:
    """One tuple a tick; values of very different sizes; sources few, or never seen before."""
    numbers = np.arange(start, start + BATCH) if fresh else rng.integers(0, 500, BATCH)
    values = rng.normal(0, 1, BATCH) * 10.0 ** rng.integers(-8, 9, BATCH)
    sources = pa.array(numbers).cast(pa.string())
    return pa.table({"ts": np.arange(start, start + BATCH), "src": sources, "v": values})


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [False, True], ids=["500 sources", "fresh sources"])
def test_state_is_flat_and_sums_are_exact_after_ten_million_tuples(fresh: bool) -> None:
    rng = np.random.default_rng(7)
    db = windrow.connect()
    db.execute(DDL)
    q = db.query(
        f"SELECT src, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS most FROM s [RANGE {WINDOW}] "
        "GROUP BY src"
    )
    sizes, texts = [], []
    for start in range(0, ROWS, BATCH):
        table = batch(start, rng, fresh=fresh)
        db.push("s", table)
        q.changes()
        sizes.append(q.stats()["state_bytes"])
        texts.append(db.running(q.name).interner.nbytes)
    assert max(sizes[50:]) <= 1.05 * max(sizes[10:50]), "the state grows"
    assert max(texts[50:]) <= 1.05 * max(texts[10:50]), "text that left is still held"
    alive = table.slice(BATCH - WINDOW).to_pydict()
    expected: dict[str, list[float]] = {}
    for src, v in zip(alive["src"], alive["v"], strict=True):
        expected.setdefault(src, []).append(v)
    answer = q.answer().to_pylist()
    assert {r["src"] for r in answer} == set(expected)
    for row in answer:
        values = expected[row["src"]]
        assert row["n"] == len(values)
        assert row["total"] == math.fsum(values), "a sum has drifted"
        assert row["most"] == max(values)
