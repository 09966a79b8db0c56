"""What Spark does without windrow: its own join and aggregation, and passes that do no work.

Written with the methods of a session and in Spark SQL; nothing of ours takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.runtime.spark.session import FILE_MANAGER
from windrow_lab.bench.spark.data import COLUMNS, Feed

Frame = Any
"""A streaming DataFrame; its types are not seen outside `runtime/spark`."""

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
PAIR = (
    "_ts TIMESTAMP, _sign TINYINT, ts TIMESTAMP, k BIGINT, src STRING, v DOUBLE, bts TIMESTAMP, "
    "bsrc STRING, bv DOUBLE"
)
GROUP = "ts TIMESTAMP, src STRING, n BIGINT, s DOUBLE, m DOUBLE"


@contextmanager
def as_it_comes(spark: Any) -> Iterator[None]:
    """Let Spark write its checkpoint as it does by default, not as windrow's sessions set it.

    Its state is kept in the store that is faster here than RocksDB.
    """
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", HDFS)
    ours = spark.conf.get(FILE_MANAGER, None)
    spark.conf.unset(FILE_MANAGER)
    try:
        yield
    finally:
        if ours is not None:
            spark.conf.set(FILE_MANAGER, ours)


def source(spark: Any, folder: Path, name: str) -> Frame:
    """Return a stream of files, one a micro-batch."""
    reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder / name))


def own_join(spark: Any, feed: Feed) -> Frame:
    """Join two streams on k, at most a window apart: Spark's stream-stream join."""
    for name in ("a", "b"):
        frame = source(spark, feed.folder, name).withWatermark("ts", "0 seconds")
        frame.createOrReplaceTempView(f"bench_{name}")
    near = f"INTERVAL {feed.scale.width} MICROSECONDS"
    return spark.sql(
        "SELECT a.ts, a.k, a.src, a.v, b.ts AS bts, b.src AS bsrc, b.v AS bv "
        "FROM bench_a AS a JOIN bench_b AS b "
        f"ON a.k = b.k AND a.ts < b.ts + {near} AND b.ts < a.ts + {near}"
    )


def own_window(spark: Any, feed: Feed) -> Frame:
    """Count, sum and maximum a source over sliding windows: Spark's `window`."""
    frame = source(spark, feed.folder, "a").withWatermark("ts", "0 seconds")
    frame.createOrReplaceTempView("bench_a")
    scale = feed.scale
    return spark.sql(
        "SELECT window.end AS ts, src, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m FROM bench_a "
        f"GROUP BY window(ts, '{scale.window} milliseconds', '{scale.slide} milliseconds'), src"
    )


def bare_pass(spark: Any, feed: Feed, copies: int) -> Frame:
    """Exchange all rows by key, take them through Python, return each `copies` times as a pair.

    A pair has the columns that windrow's changes have: their time, their sign, seven columns.
    """
    frames = [source(spark, feed.folder, name) for name in feed.streams]
    whole = frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])

    def repeat(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ts, k, src, v = batch.columns
            sign = pa.array(np.ones(len(batch), np.int8))
            pair = [ts, sign, ts, k, src, v, ts, src, v]
            for _ in range(copies):
                yield pa.RecordBatch.from_arrays(pair, names=PAIR_NAMES)

    return whole.repartition(2, "k").mapInArrow(repeat, PAIR)


PAIR_NAMES = [column.split()[0] for column in PAIR.split(", ")]


def bare_batch(spark: Any, feed: Feed) -> Frame:
    """Read and write: the least that a micro-batch can do."""
    frames = [source(spark, feed.folder, name) for name in feed.streams]
    return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])
