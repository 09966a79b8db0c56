"""A real trace in the order in which it was written, on Spark: what is late is kept, and counted.

Where the trace is not there, one of the same kind is drawn.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from tests.properties.test_disorder import QUERIES, STRETCH, cut, declared, expected, net, traces
from tests.traces import Trace, drawn
from windrow.generate.files import write_piece
from windrow.runtime.spark.dead import read_dead

pytestmark = pytest.mark.spark

SLACK = 5


def some_traces() -> dict[str, Trace]:
    try:
        return traces()
    except pytest.skip.Exception:
        return drawn(1, 20_000)


def test_a_disordered_trace_is_told_and_its_late_tuples_are_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = cut(some_traces(), 12 * STRETCH)
    truth, late = expected(batches, SLACK)
    using = {}
    for name, tables in batches.items():
        folder = tmp_path / name
        using[name] = f" USING parquet OPTIONS (path '{folder}', maxFilesPerTrigger '1')"
        for n, table in enumerate(tables):
            write_piece(folder / f"{n:05}.parquet", table, 1_700_000_000 + n)
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
        db.execute(declared(SLACK, using))
        for name, text in QUERIES.items():
            db.query(text, name=name)
        run = db.start(f"parquet:{tmp_path}/out", drain=True)
        run.wait()
        progress = run.progress()
        where = run.folder.where
    for name in QUERIES:
        assert net(pq.read_table(tmp_path / "out" / name)) == truth[name], name
    assert len(late["conn"])
    for name, table in late.items():
        letters = read_dead(where, name)
        assert set(letters["_reason"].to_pylist()) <= {"late"}
        rows = [json.loads(text) for text in letters["_row"].to_pylist()]
        times = pa.array([row["ts"] for row in rows], pa.string()).cast(table["ts"].type)
        assert sorted(times.to_pylist()) == sorted(table["ts"].to_pylist())
        counted = progress.dead_letters.get(name, {"late": 0})["late"]
        assert progress.late[name] == counted == len(table)
