"""windrow on Spark: one file a stream and micro-batch; the first ones are not counted."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from windrow_lab.peers.drivers.on_spark import measured, serve


def run(session: Any, request: dict[str, Any], each: dict[str, Any]) -> dict[str, object]:
    """Run the query until its files are read: into Parquet files, or into nothing."""
    from windrow_lab.bench.data import Scale  # noqa: PLC0415 - it counts as start-up
    from windrow_lab.bench.spark.data import Feed  # noqa: PLC0415 - as above
    from windrow_lab.bench.spark.runs import Shot, run_windrow  # noqa: PLC0415 - as above

    tables = dict.fromkeys(each["reads"])
    feed = Feed(Path(each["folder"]), Scale(), tables, 0)
    shot = Shot(session, feed, {"q": each["text"]}, Path(each["checkpoint"]), request["shards"])
    if each["answer"]:
        start = perf_counter()
        with shot.started(f"parquet:{each['answer']}") as (started, _):
            started.wait()
        return {"seconds": perf_counter() - start}
    batches = run_windrow(shot, warm=each["warm"])
    return {**measured(batches), "results": batches.results}


if __name__ == "__main__":
    serve(sys.argv[1], run)
