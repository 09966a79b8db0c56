"""Polars over the finished files: each workload's fastest form."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any


def run(request: dict[str, Any], each: dict[str, Any]) -> dict[str, object]:
    """Read the files, then run the form to its last row."""
    import polars as pl  # noqa: PLC0415 - it counts as start-up

    from windrow_lab.bench.data import Scale  # noqa: PLC0415 - as above
    from windrow_lab.peers.tasks import POLARS  # noqa: PLC0415 - as above

    scale = Scale(**each["scale"])
    kept, results = [], 0
    start = perf_counter()
    folder = Path(each["folder"])
    frames = {name: pl.read_parquet(folder / name / "*.parquet") for name in request["reads"]}
    for piece in POLARS[request["task"]](frames, scale):
        results += piece.height
        kept += [piece] if each["answer"] else []
    seconds = perf_counter() - start
    if each["answer"]:
        Path(each["answer"]).mkdir(parents=True)
        pl.concat(kept).write_parquet(Path(each["answer"]) / "rows.parquet")
    return {"seconds": seconds, "results": results}


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    import windrow_lab.peers.tasks  # noqa: F401, PLC0415 - start-up is timed

    report({"event": "ready", "seconds": perf_counter() - start})
    for each in request["runs"]:
        report({"event": "run", "name": each["name"], **run(request, each)})


def report(event: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
