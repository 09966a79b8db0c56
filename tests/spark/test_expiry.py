"""Expiries on Spark: they show though nothing arrives; a backlog of them goes batch by batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from windrow.generate.files import write_piece
from windrow.runtime.spark.database import SparkDatabase

pytestmark = pytest.mark.spark

TRIGGER, BEAT = 0.5, 1.0
"""Seconds between triggers, and by which a tuple is late at most."""
BUSY = 2.0
"""Seconds that a machine with other work may take longer than it says."""


class Told:
    """A sink that notes when each change came, in which batch."""

    def __init__(self) -> None:
        self.batches: dict[int, pa.Table] = {}
        self.at: dict[int, float] = {}

    def __call__(self, table: pa.Table, batch: int) -> None:
        self.batches[batch] = table
        self.at[batch] = time.time()

    def signed(self, sign: int) -> list[tuple[float, dict]]:
        """When each row came, or went, and the row."""
        return [
            (self.at[n], row)
            for n, table in sorted(self.batches.items())
            for row in table.to_pylist()
            if row["_sign"] == sign
        ]

    def net(self) -> Counter[tuple[object, ...]]:
        """What all changes come to, by instant."""
        total: Counter[tuple[object, ...]] = Counter()
        for table in self.batches.values():
            for ts, sign, *row in (r.values() for r in table.to_pylist()):
                total[ts, *row] += int(sign)
        return Counter({change: n for change, n in total.items() if n})


@pytest.fixture
def db(spark: SparkSession, tmp_path: Path) -> Iterator[SparkDatabase]:
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
        yield db


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)


def slowest(spark: SparkSession, since: int) -> float:
    """Seconds of the slowest batch of the only run, from one on."""
    (query,) = spark.streams.active
    reports = [r for r in query.recentProgress if r["batchId"] >= since]
    return max(r["durationMs"]["triggerExecution"] for r in reports) / 1000


def test_answers_change_within_a_trigger_though_nothing_arrives(
    db: SparkDatabase, spark: SparkSession, tmp_path: Path
) -> None:
    """Also after a restart, in every query of a run, and on shards that have no row.

    When the clock passes an expiry a batch may be under way: the next trigger's batch tells it.
    """
    for name in "ab":
        (tmp_path / name).mkdir()
        db.execute(
            f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT) USING parquet OPTIONS"
            f" (path '{tmp_path}/{name}', heartbeat '{BEAT} seconds') TIMESTAMP BY ts"
        )
    db.execute("""
        CREATE QUERY kept AS SELECT k FROM a [RANGE 1 SECOND];
        CREATE QUERY longer AS SELECT k FROM a [RANGE 3 SECONDS]
          UNION ALL SELECT k FROM b [RANGE 3 SECONDS];
    """)
    kept, longer = Told(), Told()
    sinks = {"kept": kept, "longer": longer}
    run = db.start(sinks, trigger=f"{round(TRIGGER * 1000)} milliseconds")
    wait_for(lambda: run.progress().batches > 1)
    before = run.progress().batch or 0
    now = datetime.now(UTC)
    whole = write_piece(tmp_path / "0.parquet", pa.table({"ts": [now] * 3, "k": [1, 2, 3]}), 7)
    whole.rename(tmp_path / "a" / "0.parquet")
    wait_for(lambda: len(kept.signed(-1)) == 3)
    progress, longest = run.progress(), slowest(spark, before)
    run.stop()

    passed = now.timestamp() + 1 + BEAT
    seen = kept.signed(-1)[0][0]
    assert seen >= passed, "nothing is told before the clock has passed it"
    assert seen <= passed + TRIGGER + 2 * longest + BUSY
    assert (progress.total_rows, sum(progress.late.values())) == (3, 0)
    assert progress.queries["kept"].clock > now.isoformat()

    wait_for(lambda: time.time() > now.timestamp() + 3 + BEAT)
    again = db.start(sinks, trigger="available-now")
    assert again.wait(60), "a run that is to end does, after a batch in which nothing came"
    assert all(len(told.signed(1)) == len(told.signed(-1)) == 3 for told in sinks.values())


def test_a_batch_that_was_planned_without_a_tick_is_run_all_the_same(
    db: SparkDatabase, tmp_path: Path
) -> None:
    """A run that ends by itself has a tick in its first batch only; another kind goes on with it.

    Where the tasks of a batch meet, nobody knows its time then: it takes the tiny exchange.
    """
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for n in range(3):
        rows = pa.table({"ts": [start + timedelta(seconds=n)], "k": [n]})
        write_piece(tmp_path / "s" / f"{n}.parquet", rows, 1_700_000_000 + n)
    db.execute(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT) USING parquet OPTIONS"
        f" (path '{tmp_path}/s', maxFilesPerTrigger '1', heartbeat '1 second') TIMESTAMP BY ts"
    )
    query, told = db.query("SELECT k FROM s [RANGE 1 HOUR]", name="q"), Told()

    def refuse_the_last(table: pa.Table, batch: int) -> None:
        assert table.num_rows == 0 or table["k"].to_pylist() != [2], "no room"
        told(table, batch)

    with pytest.raises(wr.WindrowError, match="no room"):
        query.start(refuse_the_last).wait(60)
    run = query.start(told, trigger=f"{round(TRIGGER * 1000)} milliseconds")
    wait_for(lambda: len(told.signed(-1)) == 3)
    run.stop()
    assert [row["k"] for _, row in told.signed(1)] == [0, 1, 2]
    assert {row["_ts"] for _, row in told.signed(-1)} == {
        start + timedelta(hours=1, seconds=n) for n in range(3)
    }


def test_what_a_query_costs_and_how_late_it_tells_is_what_its_engine_in_process_says(
    db: SparkDatabase, tmp_path: Path
) -> None:
    """Counters of all shards together; every setting tells the same changes."""
    times = [*range(0, 300, 3)]
    rows = pa.table({"t": times, "k": [t % 7 for t in times]})
    write_piece(tmp_path / "s" / "0.parquet", rows, 1_700_000_000)
    declared = "CREATE STREAM s (t BIGINT, k BIGINT)"
    text = "SELECT k, COUNT(*) AS n FROM s [RANGE 60] GROUP BY k"
    db.execute(f"{declared} USING parquet OPTIONS (path '{tmp_path}/s') TIMESTAMP BY t")
    with wr.connect() as local:
        local.execute(f"{declared} TIMESTAMP BY t")
        truth = local.query(text)
        local.push("s", rows)
        local.drain()
        told, expected = truth.stats(), truth.changes().num_rows
    for expiry in ("auto", "negative"):
        query = db.query(text, name=f"q_{expiry}", expiry=expiry)
        assert query.start("noop", drain=True).wait(60)
        stats = query.stats()
        assert (stats["expiry"], stats["delay"]["changes"]) == (expiry, expected)
        assert stats["delay"] == told["delay"], "all tuples came in one batch"
        assert (stats["clock"], stats["without_effect"]) == (297, {})
        (groups,) = (op for op in stats["operators"] if op["operator"] == "Aggregate")
        assert groups["tuples_in"] == len(times) + groups["negatives_in"]
        assert (groups["negatives_in"] > 0) == (expiry == "negative")
        assert stats["state_rows"] == sum(op["state_rows"] for op in stats["operators"]) > 0


def test_a_backlog_of_expiries_goes_batch_by_batch_and_all_of_it(
    db: SparkDatabase, tmp_path: Path
) -> None:
    parts = [[*range(200)], [10_000], [10_050]]
    for n, times in enumerate(parts):
        rows = pa.table({"t": times, "k": [t % 7 for t in times]})
        write_piece(tmp_path / "s" / f"{n}.parquet", rows, 1_700_000_000 + n)
    declared = "CREATE STREAM s (t BIGINT, k BIGINT)"
    using = f"USING parquet OPTIONS (path '{tmp_path}/s', maxFilesPerTrigger '1') TIMESTAMP BY t"
    text = "SELECT k, COUNT(*) AS n FROM s [RANGE 300] GROUP BY k"
    db.execute(f"SET expiry_pace = 40; {declared} {using}")
    told = Told()
    query = db.query(text, name="q")
    assert query.start(told, drain=True).wait(90)
    progress = query.progress()
    assert (progress["clock"], progress["behind"], progress["total_rows"]) == (10_050, 0, 202)

    with wr.connect() as local:
        local.execute(f"{declared} TIMESTAMP BY t")
        truth = local.query(text)
        for times in parts:
            local.push("s", [{"t": t, "k": t % 7} for t in times])
        local.drain()
        expected = Told()
        expected(truth.changes(), 0)
    assert told.net() == expected.net()
    gone = [sum(row["_sign"] < 0 for row in t.to_pylist()) for t in list(told.batches.values())[1:]]
    assert sum(gone) >= 200
    assert max(gone) <= 2 * 40, "each change of a group is one that goes and one that comes"
    assert sum(n > 0 for n in gone) > 2


def test_a_job_of_ones_own_has_a_batch_a_second(db: SparkDatabase, tmp_path: Path) -> None:
    """Its triggers may have no pause: a tick at each would let it run as fast as it can."""
    (tmp_path / "s").mkdir()
    db.execute(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT) USING parquet OPTIONS"
        f" (path '{tmp_path}/s', heartbeat '1 second') TIMESTAMP BY ts"
    )
    frame = db.query("SELECT k FROM s [RANGE 1 SECOND]", name="q").to_spark()
    plan = frame._jdf.queryExecution().analyzed().toString()
    assert "[rowsPerSecond=1]" in plan
    assert "rate-micro-batch" not in plan
