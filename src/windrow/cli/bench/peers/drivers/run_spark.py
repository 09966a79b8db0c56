"""Spark's own operators on streams: one file a stream and micro-batch, Spark SQL over them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any


def run(session: Any, request: dict[str, Any], each: dict[str, Any]) -> dict[str, object]:
    """Run the query until its files are read: into Parquet files, or into nothing."""
    from windrow.cli.bench.spark.baselines import source  # noqa: PLC0415 - it counts as start-up
    from windrow.cli.bench.spark.runs import run_frame  # noqa: PLC0415 - as above

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
    batches = run_frame(frame, Path(each["checkpoint"]), warm=each["warm"])
    return {
        "seconds": batches.seconds,
        "rows": batches.rows,
        "seconds_a_batch": [batch.seconds for batch in batches.all],
    }


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", request["submit"])
    from windrow.runtime.spark.session import open_session  # noqa: PLC0415 - start-up is timed

    session = open_session(request["master"], request["shards"])
    session.conf.set("spark.sql.streaming.stateStore.providerClass", request["store"])
    tell({"event": "ready", "seconds": perf_counter() - start})
    try:
        for each in request["runs"]:
            tell({"event": "run", "name": each["name"], **run(session, request, each)})
    finally:
        session.stop()


def tell(event: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
