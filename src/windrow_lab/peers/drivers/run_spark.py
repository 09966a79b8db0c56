"""Spark's own operators on streams: one file a stream and micro-batch, Spark SQL over them."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from windrow_lab.peers.drivers.on_spark import measured, serve


def run(session: Any, request: dict[str, Any], each: dict[str, Any]) -> dict[str, object]:
    """Run the query until its files are read: into Parquet files, or into nothing."""
    from windrow_lab.bench.spark.baselines import source  # noqa: PLC0415 - it counts as start-up
    from windrow_lab.bench.spark.runs import run_frame  # noqa: PLC0415 - as above

    for name in each["reads"]:
        stream = source(session, Path(each["folder"]), name)
        stream.withWatermark("ts", "0 seconds").createOrReplaceTempView(name)
    frame = session.sql(each["text"])
    if each["answer"]:
        start = perf_counter()
        writer = frame.writeStream.format("parquet").option("path", each["answer"])
        writer = writer.option("checkpointLocation", each["checkpoint"])
        writer.trigger(availableNow=True).start().awaitTermination()
        return {"seconds": perf_counter() - start}
    return measured(run_frame(frame, Path(each["checkpoint"]), warm=each["warm"]))


if __name__ == "__main__":
    serve(sys.argv[1], run, store="spark.sql.streaming.stateStore.providerClass")
