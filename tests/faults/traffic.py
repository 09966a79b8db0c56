"""A program with two levels, and batches for it."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
from tests.reference.shards import ShardSet

from windrow.runtime.shards.program import Program

SCRIPT = """
CREATE STREAM s (ts BIGINT, k BIGINT, name STRING) TIMESTAMP BY ts;
CREATE STREAM r (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
CREATE QUERY pairs AS SELECT s.k, s.name FROM s [RANGE 30], r [RANGE 20] WHERE s.k = r.k;
CREATE QUERY counts AS SELECT n, COUNT(*) AS m
  FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 40] GROUP BY k) AS g GROUP BY n;
"""
PROGRAM = Program(SCRIPT, ("pairs", "counts"), shards=2)
Batch = dict[int, pa.Table]


def traffic(seed: int, batches: int) -> list[Batch]:
    """Batches by port: times go on from batch to batch."""
    chance = random.Random(seed)
    ports = [port for port in ShardSet(PROGRAM).layout.ports if port.entry is not None]
    return [{port.number: rows(chance, number) for port in ports} for number in range(batches)]


def rows(chance: random.Random, number: int) -> pa.Table:
    """Some rows of a batch, with all columns that any port has."""
    n = chance.randrange(40)
    return pa.table(
        {
            "_ts": pa.array([20 * number + chance.randrange(20) for _ in range(n)], pa.int64()),
            "k": pa.array([chance.choice([None, *range(8)]) for _ in range(n)], pa.int64()),
            "name": pa.array([f"host {chance.randrange(5)}" for _ in range(n)], pa.string()),
        }
    )


def run(shards: ShardSet, batches: list[Batch]) -> list[list[pa.Table]]:
    """Return the changes of each batch, and those of the drain."""
    made = [shards.batch(batch, {}) for batch in batches]
    return [*made, shards.batch({}, {}, drain=True)]


def assert_same(got: list[list[pa.Table]], expected: list[list[pa.Table]]) -> None:
    """Every batch gave the same changes, in whatever order."""
    assert [counted(tables) for tables in got] == [counted(tables) for tables in expected]


def counted(tables: list[pa.Table]) -> Counter[tuple[object, ...]]:
    """Return changes as a bag of rows."""
    return Counter((tuple(t.column_names), *row.values()) for t in tables for row in t.to_pylist())
