"""windrow in its own process: Parquet files in, batch by batch, the streams by turns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 100_000
"""Tuples a push."""


def pieces(folder: Path, reads: list[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the streams' tuples as they are read, the streams by turns."""
    for batches in zip_longest(*(batches_of(folder / name) for name in reads)):
        for name, batch in zip(reads, batches, strict=True):
            if batch is not None:
                yield name, pa.Table.from_batches([batch])


def batches_of(folder: Path) -> Iterator[pa.RecordBatch]:
    """Yield the tuples of one stream, file by file."""
    for path in sorted(folder.glob("*.parquet")):
        yield from pq.ParquetFile(path).iter_batches(BATCH)


def run(request: dict[str, Any], folder: Path, answer: str | None) -> dict[str, object]:
    """Push everything, read the changes after each push, drain."""
    import windrow  # noqa: PLC0415 - it counts as start-up
    from windrow_lab.bench.data import declaration  # noqa: PLC0415 - as above

    kept: list[pa.Table] = []
    results = 0
    start = perf_counter()
    with windrow.connect() as db:
        for name in request["reads"]:
            db.execute(declaration(name))
        query = db.query(request["text"])
        for name, piece in pieces(folder, request["reads"]):
            db.push(name, piece)
            changes = query.changes()
            results += len(changes)
            kept += [changes] if answer else []
        db.drain()
        changes = query.changes()
        results += len(changes)
    seconds = perf_counter() - start
    if answer:
        Path(answer).mkdir(parents=True)
        pq.write_table(pa.concat_tables([*kept, changes]), Path(answer) / "changes.parquet")
    return {"seconds": seconds, "results": results}


def main(path: str) -> None:
    """Answer the request in a file."""
    start = perf_counter()
    request = json.loads(Path(path).read_text())
    import windrow  # noqa: PLC0415 - start-up is timed

    windrow.connect().close()
    report({"event": "ready", "seconds": perf_counter() - start})
    for each in request["runs"]:
        done = run(request, Path(each["folder"]), each["answer"])
        report({"event": "run", "name": each["name"], **done})


def report(event: dict[str, object]) -> None:
    """Write one line of JSON."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
