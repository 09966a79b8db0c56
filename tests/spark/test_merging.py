"""Tuples that Catalyst merges by pane and group change no answer, no count and no dead letter."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from windrow.generate.files import write_piece
from windrow.runtime.spark.dead import read_dead

pytestmark = pytest.mark.spark

SECOND = 1_000_000
FILES, ROWS = 4, 300

QUERIES = {
    "load": "SELECT src, COUNT(*) AS n, SUM(v) AS t, AVG(v) AS m, MAX(x) AS top, MAX(ts) AS at "
    "FROM s [RANGE 25 SECONDS SLIDE 10 SECONDS] GROUP BY src HAVING COUNT(*) > 1",
    "big": "SELECT src, SUM(price) AS p, COUNT(*) FILTER (WHERE v > 3) AS many, MIN(day) AS d "
    "FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] WHERE v > 1 OR src = 'host 1' GROUP BY src",
    "all": "SELECT COUNT(*) AS n, BOOL_OR(v > 90) AS any FROM s [TUMBLE 15 SECONDS] WHERE v > 2",
    "days": "SELECT day, COUNT(src) AS n, AVG(small) AS m "
    "FROM s [RANGE 40 SECONDS SLIDE 30 SECONDS] GROUP BY day",
}
"""The first two share a port: their tuples are told to both."""


def write_tuples(folder: Path, files: int = FILES, rows: int = ROWS) -> None:
    """Write files in disorder: NULLs, tuples without a time, late ones, values of all sizes."""
    rng = random.Random(7)
    for number in range(files):
        middle = (number * 20 + 10) * SECOND
        times = [middle + rng.randrange(-18 * SECOND, 10 * SECOND) for _ in range(rows)]
        values = [rng.choice([*range(9), None, 2**24, 2**31, -(2**40)]) for _ in times]
        table = pa.table(
            {
                "ts": pa.array([t if rng.random() > 0.01 else None for t in times], MOMENT),
                "src": [rng.choice(["host 1", "host 2", "", None]) for _ in times],
                "v": pa.array(values, pa.int64()),
                "x": [rng.choice([0.5, -1.5, float("nan"), float("inf"), None]) for _ in times],
                "price": pa.array([Decimal(rng.randrange(9**9)) / 100 for _ in times], PRICE),
                "day": pa.array([rng.choice([1, 2, None]) for _ in times], pa.date32()),
                "small": pa.array([rng.randrange(-99, 99) for _ in times], pa.int16()),
            }
        )
        write_piece(folder / f"{number:03}.parquet", table, number + 1)


MOMENT = pa.timestamp("us", tz="UTC")
PRICE = pa.decimal128(12, 2)
COLUMNS = (
    "ts TIMESTAMP, src STRING, v BIGINT, x DOUBLE, price DECIMAL(12, 2), day DATE, small SMALLINT"
)


def declared(folder: Path) -> str:
    return (
        f"CREATE STREAM s ({COLUMNS}) USING parquet OPTIONS (path '{folder}', "
        "maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 3 SECONDS;"
    )


def net(folder: Path) -> Counter[str]:
    """Return how often each change came, counted by its sign."""
    found: Counter[str] = Counter()
    for row in pq.read_table(folder).to_pylist():
        sign = int(row.pop("_sign"))
        found[str(row)] += sign
    return Counter({row: n for row, n in found.items() if n})


def run(spark: SparkSession, folder: Path, mode: str) -> dict[str, Any]:
    """Run all queries to the end; return what they told."""
    place = folder / mode
    with wr.connect("spark", spark=spark, checkpoint=str(place / "state")) as db:
        db.execute(f"SET partials = '{mode}'; {declared(folder / 's')}")
        for name, text in QUERIES.items():
            db.query(text, name=name)
        started = db.start(f"parquet:{place}/out", drain=True)
        started.wait()
        progress = started.progress()
    letters = read_dead(str(place / "state"), "s").to_pylist()
    return {
        "changes": {name: net(place / "out" / name) for name in QUERIES},
        "late": progress.late,
        "dead": Counter((row["_reason"], row["_row"]) for row in letters),
        "rows": [shard.rows for shard in progress.shards],
        "state": sum(query.state_rows for query in progress.queries.values()),
    }


def test_merged_tuples_tell_what_single_ones_do(spark: SparkSession, tmp_path: Path) -> None:
    write_tuples(tmp_path / "s")
    single, merged = (run(spark, tmp_path, mode) for mode in ("off", "on"))
    assert merged["changes"] == single["changes"]
    assert all(merged["changes"].values())
    assert merged["dead"] == single["dead"]
    assert merged["late"] == single["late"]
    assert merged["rows"] == single["rows"]
    assert single["late"]["s"] > 0
    assert merged["state"] < single["state"] / 3


def batch_is_torn(state: Path) -> bool:
    """Tell whether a kill fell between Spark's log of files and its log of batches.

    Spark then puts those files and the next into one batch. What is late goes by batches, so such
    a run is right, and yet not comparable with one that nobody killed.
    """
    newest = [
        max((int(f.name) for f in (state / log).iterdir() if f.name.isdecimal()), default=-1)
        for log in ("sources/0", "offsets")
    ]
    return newest[0] > newest[1]


def test_a_killed_run_goes_on_with_merged_tuples(spark: SparkSession, tmp_path: Path) -> None:
    write_tuples(tmp_path / "s", files=6, rows=60)
    queries = "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in QUERIES.items())
    (tmp_path / "job.cql").write_text(declared(tmp_path / "s") + queries)
    words = [sys.executable, "-m", "windrow", "run", str(tmp_path / "job.cql"), "--partials", "on"]
    words += ["--checkpoint", f"{tmp_path}/on/state", "--sink", f"parquet:{tmp_path}/on/out"]
    words += ["--drain"]
    died = tmp_path / "died"
    faults = ",".join(f"{point}:3:{died}-{point}" for point in ("after-log-rename", "after-step"))

    def live(*, killed: bool) -> int:
        """Run the job; kill it in its fourth batch, if so asked; return its code."""
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(
                [*words, "--master", "local[2,8]"],
                env={**os.environ, "WINDROW_FAULT": faults},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        fourth = tmp_path / "on" / "state" / "spark" / "offsets" / "3"
        while killed and process.poll() is None and not fourth.exists():
            time.sleep(0.05)
        if killed:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()

    live(killed=True)
    while batch_is_torn(tmp_path / "on" / "state" / "spark"):
        for made in (tmp_path / "on", *tmp_path.glob("died-*")):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        live(killed=True)
    code = live(killed=False)
    assert code == 0, (tmp_path / "log").read_text()[-4000:]
    assert len(list(tmp_path.glob("died-*"))) == 2
    single = run(spark, tmp_path, "off")
    assert {name: net(tmp_path / "on" / "out" / name) for name in QUERIES} == single["changes"]
    letters = read_dead(f"{tmp_path}/on/state", "s").to_pylist()
    assert Counter((row["_reason"], row["_row"]) for row in letters) == single["dead"]
