"""Flink SQL in streaming mode, in one JVM: the statements of a request, the last one timed.

A request is ``{"settings": {name: value}, "runs": [run, ...]}``, a run
``{"name": ..., "statements": [text, ...], "insert": text}``. The statements create tables
(and drop those of an earlier run); the clock of a run starts when its INSERT has been submitted
and ends when the job has.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any


def open_environment(settings: dict[str, str]) -> Any:
    """Start the JVM and return a table environment in streaming mode."""
    from pyflink.common import Configuration  # noqa: PLC0415 - only Flink's Python has it
    from pyflink.table import EnvironmentSettings, TableEnvironment  # noqa: PLC0415 - as above

    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name, value)
    builder = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(builder.with_configuration(configuration).build())


def run(environment: Any, request: dict[str, Any]) -> dict[str, object]:
    """Create the tables, then run the INSERT to its end."""
    for statement in request["statements"]:
        environment.execute_sql(statement)
    start = perf_counter()
    job = environment.execute_sql(request["insert"])
    submitted = perf_counter()
    job.wait()
    ended = perf_counter()
    return {"seconds": ended - submitted, "submit_seconds": submitted - start}


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    environment = open_environment(request["settings"])
    report({"event": "ready", "seconds": perf_counter() - start})
    for each in request["runs"]:
        report({"event": "run", "name": each["name"], **run(environment, each)})


def report(event: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
