"""DuckDB over the finished files: the statements of a run, then its query, read as Arrow."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

ROWS = 100_000
"""Rows of a result that are taken at a time."""


def run(connection: Any, each: dict[str, Any]) -> dict[str, object]:
    """Run a query to its last row: into a Parquet file, or into nothing."""
    for statement in each["statements"]:
        connection.execute(statement)
    start = perf_counter()
    if each["answer"]:
        Path(each["answer"]).mkdir(parents=True)
        target = f"{each['answer']}/rows.parquet"
        connection.execute(f"COPY ({each['query']}) TO '{target}' (FORMAT parquet)")
        return {"seconds": perf_counter() - start}
    reader = connection.sql(each["query"]).to_arrow_reader(ROWS)
    results = sum(batch.num_rows for batch in reader)
    return {"seconds": perf_counter() - start, "results": results}


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    import duckdb  # noqa: PLC0415 - start-up is timed

    connection = duckdb.connect()
    connection.execute(f"SET threads = {request['threads']}")
    report({"event": "ready", "seconds": perf_counter() - start})
    for each in request["runs"]:
        report({"event": "run", "name": each["name"], **run(connection, each)})


def report(event: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
