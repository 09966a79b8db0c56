"""Flink SQL, its changes read by Python: answers that are retracted in part can be compared.

A request is as for `run_flink`, and a run may have ``"select": text, "answer": path`` instead of
an INSERT. Its answer is JSON lines: the names of the columns, then ``[sign, value, ...]`` for
each change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

RETRACTING = (1, 3)
"""Kinds of rows that take an earlier one back: UPDATE_BEFORE and DELETE."""


def collect(environment: Any, request: dict[str, Any]) -> dict[str, object]:
    """Create the tables, then write the changes of the query."""
    start = perf_counter()
    for statement in request["statements"]:
        environment.execute_sql(statement)
    result = environment.execute_sql(request["select"])
    with Path(request["answer"]).open("w", encoding="utf-8") as file, result.collect() as rows:
        file.write(json.dumps(result.get_table_schema().get_field_names()) + "\n")
        for row in rows:
            sign = -1 if row.get_row_kind().value in RETRACTING else 1
            file.write(json.dumps([sign, *row], default=float) + "\n")
    return {"seconds": perf_counter() - start}


def main(path: str) -> None:
    """Answer the request in a file."""
    import run_flink  # type: ignore[import-not-found] # noqa: PLC0415 - beside this script

    start = perf_counter()
    request = json.loads(Path(path).read_text())
    environment = run_flink.open_environment(request["settings"])
    run_flink.report({"event": "ready", "seconds": perf_counter() - start})
    for each in request["runs"]:
        done = (collect if "answer" in each else run_flink.run)(environment, each)
        run_flink.report({"event": "run", "name": each["name"], **done})


if __name__ == "__main__":
    main(sys.argv[1])
