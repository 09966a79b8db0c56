"""MAX AHEAD on Spark: rows too far ahead are dead letters, by the logged time of their batch."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from windrow.core.errors import WindrowError
from windrow.generate.files import write_piece
from windrow.runtime.spark.dead import read_dead

pytestmark = pytest.mark.spark

QUERY = "SELECT k, COUNT(*) AS n FROM s [TUMBLE 1 SECOND] GROUP BY k"


def written(folder: Path, rows: dict[int, datetime]) -> None:
    stamp = pa.timestamp("us", tz="UTC")
    table = pa.table({"ts": pa.array(rows.values(), stamp), "k": pa.array(rows, pa.int64())})
    write_piece(folder / "00000.parquet", table, 1_700_000_000)


def declared(folder: Path, ahead: str, partials: str) -> str:
    return (
        f"SET partials = '{partials}'; CREATE STREAM s (ts TIMESTAMP, k BIGINT) "
        f"USING parquet OPTIONS (path '{folder}') TIMESTAMP BY ts MAX AHEAD {ahead};"
    )


def dead(where: str) -> list[tuple[str, int]]:
    return sorted(
        (row["_reason"], json.loads(row["_row"])["k"]) for row in read_dead(where, "s").to_pylist()
    )


@pytest.mark.parametrize("partials", ["off", "on"])
def test_rows_too_far_ahead_are_dead_letters(
    spark: SparkSession, tmp_path: Path, partials: str
) -> None:
    now = datetime.now(UTC)
    hours = {1: -5, 2: 900_000, 3: -4, 4: 2, 5: 0.5}
    written(tmp_path / "s", {k: now + timedelta(hours=h) for k, h in hours.items()})
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
        db.execute(declared(tmp_path / "s", "1 HOUR", partials))
        query = db.query(QUERY, name="q")
        run = db.start("memory")
        run.wait()
        assert {row["k"] for row in query.changes().to_pylist()} <= {1, 3, 5}
        assert run.progress().late == {"s": 0}
        reason = "ts is more than 1 HOUR ahead of the wall clock"
        assert dead(run.folder.where) == [(reason, 2), (reason, 4)]
        assert run.progress().dead_letters["s"]["poison"] == 2


@pytest.mark.parametrize("partials", ["off", "on"])
def test_a_batch_that_is_run_again_decides_the_same(
    spark: SparkSession, tmp_path: Path, partials: str
) -> None:
    """The second time, the row is no longer ahead; what was decided for its batch stays."""
    seen: list[list[int]] = []

    def sink(changes: pa.Table, _: int) -> None:
        seen.append(changes["k"].to_pylist())
        if len(seen) == 1:
            raise RuntimeError("once")

    now = datetime.now(UTC)
    ahead = now + timedelta(seconds=40)
    written(tmp_path / "s", {1: now - timedelta(minutes=2), 2: ahead, 3: now})
    for attempt in range(2):
        with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
            db.execute(declared(tmp_path / "s", "5 SECONDS", partials))
            db.query(QUERY, name="q")
            run = db.start(sink)
            if not attempt:
                with pytest.raises(WindrowError, match="once"):
                    run.wait()
            else:
                run.wait()
            assert [k for _, k in dead(run.folder.where)] == [2]
        time.sleep(max(0.0, (ahead - datetime.now(UTC)).total_seconds()))
    assert seen[1] == seen[0]
    assert not any(2 in ks for ks in seen)
