"""Bytewax over Parquet files: sliding windows a key, folded in Python, run to the end.

A request is ``{"task": "W2", "runs": [run, ...]}``, a run ``{"name": ..., "folder": ..., "answer":
folder or null, "window": ms, "slide": ms}``. One worker: more of them share one interpreter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

ALIGNED = datetime(2026, 1, 1, microsecond=1_000, tzinfo=UTC)
"""Where a window begins: a millisecond late, so that ``[start, end)`` holds ``(τ - width, τ]``."""
BATCH = 10_000

Row = tuple[str, tuple[datetime, int, float]]
Fold = tuple[Callable[[], Any], Callable[[Any, Any], Any], Callable[[Any, Any], Any]]


class Dropped(list[Any]):
    """A list that stays empty: where results go that nobody reads."""

    def __iadd__(self, _items: object) -> Dropped:  # type: ignore[misc]
        return self


def read(folder: Path) -> Iterator[Row]:
    """Yield the tuples of a stream as (src, (ts, k, v))."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - it counts as start-up

    for path in sorted(folder.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(BATCH):
            ts, k, src, v = (column.to_pylist() for column in batch.columns)
            yield from zip(src, zip(ts, k, v, strict=True), strict=True)


def add(state: list[Any], value: tuple[datetime, int, float]) -> list[Any]:
    """Fold one tuple into (count, maximum, sum)."""
    v = value[2]
    return [state[0] + 1, max(state[1], v), state[2] + v]


def both(one: list[Any], other: list[Any]) -> list[Any]:
    """Put two (count, maximum, sum) together."""
    return [one[0] + other[0], max(one[1], other[1]), one[2] + other[2]]


def with_key(keys: set[int], value: tuple[datetime, int, float]) -> set[int]:
    """Fold one tuple into the keys that were seen."""
    keys.add(value[1])
    return keys


FOLDS: dict[str, Fold] = {
    "W2": (lambda: [0, float("-inf"), 0.0], add, both),
    "W4": (set, with_key, set.union),
}


def flow_of(task: str, each: dict[str, Any], out: list[Any]) -> Any:
    """Return the dataflow of a workload."""
    from bytewax import operators as op  # noqa: PLC0415 - only Bytewax's Python has it
    from bytewax.dataflow import Dataflow  # noqa: PLC0415 - as above
    from bytewax.operators import windowing  # noqa: PLC0415 - as above
    from bytewax.testing import TestingSink, TestingSource  # noqa: PLC0415 - as above

    clock = windowing.EventClock(
        ts_getter=lambda value: value[0],
        wait_for_system_duration=timedelta(0),
        now_getter=lambda: ALIGNED,  # only tuples move the clock
        to_system_utc=lambda _: None,
    )
    windower = windowing.SlidingWindower(
        length=timedelta(milliseconds=each["window"]),
        offset=timedelta(milliseconds=each["slide"]),
        align_to=ALIGNED,
    )
    builder, folder, merger = FOLDS[task]
    flow = Dataflow("bench")
    rows = op.input("read", flow, TestingSource(read(Path(each["folder"]) / "a"), BATCH))
    emitted = windowing.fold_window(
        "fold", rows, clock, windower, builder, folder, merger, ordered=False
    )
    op.output("emitted", emitted.down, TestingSink(out))
    return flow


def columns_of(task: str, each: dict[str, Any], out: list[Any]) -> dict[str, list[Any]]:
    """Return the results as columns."""
    first = int(ALIGNED.timestamp() * 1000) - 1 + each["window"]
    columns: dict[str, list[Any]] = {
        "ts": [first + window * each["slide"] for _, (window, _) in out],
        "src": [src for src, _ in out],
    }
    if task == "W4":
        return columns | {"n": [len(keys) for _, (_, keys) in out]}
    for n, name in enumerate(("n", "m", "s")):
        columns[name] = [state[n] for _, (_, state) in out]
    return columns


def run(task: str, each: dict[str, Any]) -> dict[str, object]:
    """Run a workload: into a Parquet file, or into nothing."""
    import pyarrow as pa  # noqa: PLC0415 - it counts as start-up
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    from bytewax.testing import run_main  # noqa: PLC0415 - as above

    out: list[Any] = [] if each["answer"] else Dropped()
    start = perf_counter()
    run_main(flow_of(task, each, out))
    seconds = perf_counter() - start
    if each["answer"]:
        Path(each["answer"]).mkdir(parents=True)
        table = pa.table(columns_of(task, each, out))
        pq.write_table(table, f"{each['answer']}/rows.parquet")
    return {"seconds": seconds}


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    import bytewax.run  # noqa: F401, PLC0415 - start-up is timed

    report({"event": "ready", "seconds": perf_counter() - start})
    for each in request["runs"]:
        report({"event": "run", "name": each["name"], **run(request["task"], each)})


def report(event: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
