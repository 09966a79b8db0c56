"""A shard may die anywhere: what comes out is what an undisturbed run gives."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from tests.faults.processes import ProcessShards, counted, dying
from tests.reference.shards import ShardSet

from windrow.runtime.shards import faults, keeper
from windrow.runtime.shards.program import Program

SCRIPT = """
CREATE STREAM s (ts BIGINT, k BIGINT, name STRING) TIMESTAMP BY ts;
CREATE STREAM r (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
CREATE QUERY pairs AS SELECT s.k, s.name FROM s [RANGE 30], r [RANGE 20] WHERE s.k = r.k;
CREATE QUERY counts AS SELECT n, COUNT(*) AS m
  FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 40] GROUP BY k) AS g GROUP BY n;
"""
PROGRAM = Program(SCRIPT, ("pairs", "counts"), shards=2)
BATCHES = 7
Batch = dict[int, pa.Table]


def traffic(seed: int) -> list[Batch]:
    """Batches by port: times go on from batch to batch."""
    chance = random.Random(seed)
    ports = ShardSet(PROGRAM).layout.ports
    made = []
    for number in range(BATCHES):
        batch = {}
        for port in ports:
            if port.entry is None:
                continue
            n = chance.randrange(40)
            ts = [20 * number + chance.randrange(20) for _ in range(n)]
            keys = [chance.choice([None, *range(8)]) for _ in range(n)]
            names = [f"host {chance.randrange(5)}" for _ in range(n)]
            batch[port.number] = pa.table(
                {
                    "_ts": pa.array(ts, pa.int64()),
                    "k": pa.array(keys, pa.int64()),
                    "name": pa.array(names, pa.string()),
                }
            )
        made.append(batch)
    return made


def run(shards: ShardSet, batches: list[Batch]) -> list[list[pa.Table]]:
    """Return the changes of each batch, and those of the drain."""
    made = [shards.batch(batch, {}) for batch in batches]
    return [*made, shards.batch({}, {}, drain=True)]


def assert_same(got: list[list[pa.Table]], expected: list[list[pa.Table]]) -> None:
    assert [counted(tables) for tables in got] == [counted(tables) for tables in expected]


@pytest.fixture
def small_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """State is written every few batches, as it is after hours with real rows."""
    monkeypatch.setattr(keeper, "SMALLEST_LOG", 1 << 12)
    monkeypatch.setattr(keeper, "state_bytes", lambda _: 30_000)


IN_SERVER = [point for point in faults.POINTS if not point.startswith("client-")]


@pytest.mark.usefixtures("forked", "small_snapshots")
@pytest.mark.parametrize("point", IN_SERVER)
def test_a_process_that_dies_changes_nothing(point: str, tmp_path: Path) -> None:
    batches = traffic(1)
    expected = run(ShardSet(PROGRAM), batches)
    mark = tmp_path / "died"
    shards = ProcessShards(tmp_path / "checkpoint", PROGRAM)
    try:
        with dying(f"{point}:1:{mark}"):
            got = []
            for number, batch in enumerate(batches):
                got.append(shards.batch(batch, {}))
                if number == 4:
                    shards.kill(0)  # so that something is replayed
            got.append(shards.batch({}, {}, drain=True))
        assert mark.exists(), f"nobody came to {point}"
        assert_same(got, expected)
    finally:
        shards.close()
