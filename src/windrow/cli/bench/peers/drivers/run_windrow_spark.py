"""windrow on Spark: one file a stream and micro-batch; the first ones are not counted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any


def run(session: Any, request: dict[str, Any], each: dict[str, Any]) -> dict[str, object]:
    """Run the query until its files are read: into Parquet files, or into nothing."""
    from windrow.cli.bench.data import Scale  # noqa: PLC0415 - it counts as start-up
    from windrow.cli.bench.spark.data import Feed  # noqa: PLC0415 - as above
    from windrow.cli.bench.spark.runs import Shot, run_windrow  # noqa: PLC0415 - as above

    tables = dict.fromkeys(each["reads"])
    feed = Feed(Path(each["folder"]), Scale(), tables, 0)
    shot = Shot(session, feed, {"q": each["text"]}, Path(each["checkpoint"]), request["shards"])
    if each["answer"]:
        start = perf_counter()
        with shot.started(f"parquet:{each['answer']}") as (started, _):
            started.wait()
        return {"seconds": perf_counter() - start}
    return told(run_windrow(shot, warm=each["warm"]))


def told(batches: Any) -> dict[str, object]:
    """Return what counts of a run's micro-batches: the median."""
    return {
        "seconds": batches.seconds,
        "rows": batches.rows,
        "results": batches.results,
        "seconds_a_batch": [batch.seconds for batch in batches.all],
    }


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", request["submit"])
    from windrow.runtime.spark.session import open_session  # noqa: PLC0415 - start-up is timed

    session = open_session(request["master"], request["shards"])
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
