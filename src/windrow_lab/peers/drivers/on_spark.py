"""What the drivers on Spark share: a session, timed apart, and a run after the other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

Request = dict[str, Any]
Run = Callable[[Any, Request, Request], Mapping[str, object]]
"""Does one run of a request in a session, and returns what is to be reported."""


def serve(path: str, run: Run, **conf: str) -> None:
    """Answer the request in a file; `conf` are settings by what the request calls their values."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", request["submit"])
    from windrow.runtime.spark.session import open_session  # noqa: PLC0415 - start-up is timed

    session = open_session(request["master"], request["shards"])
    for called, name in conf.items():
        session.conf.set(name, request[called])
    report({"event": "ready", "seconds": perf_counter() - start})
    try:
        for each in request["runs"]:
            report({"event": "run", "name": each["name"], **run(session, request, each)})
    finally:
        session.stop()


def measured(batches: Any) -> dict[str, object]:
    """Return what counts of a run's micro-batches: the median."""
    return {
        "seconds": batches.seconds,
        "rows": batches.rows,
        "seconds_a_batch": [batch.seconds for batch in batches.all],
    }


def report(event: Mapping[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)
