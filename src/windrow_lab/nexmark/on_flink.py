"""The originals of the queries on Flink SQL, in an environment of its own, over CSV files.

Its Python package reads no Parquet. A CSV file has only the columns that the query names, which
is what Parquet would give it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from windrow_lab.contest.report import verdict_of
from windrow_lab.generate.nexmark.draws import I64
from windrow_lab.generate.nexmark.events import SIDE_INPUT, side_input, stretch
from windrow_lab.generate.nexmark.scale import MILLISECOND, SECOND, START, Nexmark
from windrow_lab.nexmark.flink_sql import (
    CANNOT,
    ORIGINALS,
    SELECTS,
    SETTINGS,
    SLIDES,
    columns_of,
    reads,
    table,
)
from windrow_lab.nexmark.local import INSTANTS
from windrow_lab.nexmark.oracle import ANSWERS, Oracle
from windrow_lab.nexmark.queries import NexmarkQuery
from windrow_lab.nexmark.report import Cannot, Measured
from windrow_lab.peers.process import DRIVERS, Outcome, ask

DRIVER = DRIVERS / "collect_flink.py"
CHECK = Nexmark(events=3_000, rate=60)
"""Fifty seconds on which answers are compared: Flink hands them to Python, row by row."""
MOST = 1_000_000
"""Events at most that are timed."""
PARTS = 2
"""CSV files a stream: one for each of two readers, which take turns in time."""
TIMES = ("dateTime", "expires", "bidTime", "opened")
TICK = 1_000
"""µs by which windows begin late."""

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Flink:
    """Flink's Python, a folder, the events to compare on and those to time."""

    python: Path
    folder: Path
    check: Tables
    timed: Tables
    oracle: Oracle

    @classmethod
    def of(cls, python: Path, folder: Path, scale: Nexmark) -> Flink:
        """Make the events."""
        few = tables_of(CHECK)
        streams = {name: few[name] for name in few if name != SIDE_INPUT}
        events = min(scale.events, MOST)
        return cls(python, folder, few, tables_of(Nexmark(events, scale.rate)), Oracle(streams))


def tables_of(scale: Nexmark) -> dict[str, pa.Table]:
    """Return all streams and the relation."""
    return {**stretch(scale, 0, scale.events), SIDE_INPUT: side_input()}


def measure(query: NexmarkQuery, flink: Flink) -> Measured | Cannot:
    """Compare the answer on a few events, then time the query without a sink."""
    if query.name in CANNOT:
        return Cannot(CANNOT[query.name])
    text = SELECTS[query.name]
    where = flink.folder / query.name
    answer = where / "answer.jsonl"
    request = {
        "settings": SETTINGS,
        "runs": [
            {**run("check", text, flink.check, where), "select": text, "answer": str(answer)},
            {**run("timed", text, flink.timed, where), "insert": into_nothing(text)},
        ],
    }
    outcome = ask(flink.python, DRIVER, request)
    if outcome.failure or outcome.cannot:
        return Cannot(outcome.failure or outcome.cannot, expected=False)
    return measured(query, flink, outcome, read_changes(answer, SLIDES.get(query.name)))


def into_nothing(text: str) -> str:
    """Return the statement that runs a query and drops its rows."""
    return f"CREATE TABLE changelog WITH ('connector' = 'blackhole') AS {text}"


def run(name: str, text: str, events: Tables, folder: Path) -> dict[str, Any]:
    """Write the files of a run; return its name and the statements that create its tables."""
    statements = ["DROP TABLE IF EXISTS changelog"]
    for stream in reads(text):
        columns = columns_of(stream, text)
        write_csv(folder / name / stream, events[stream].select(columns))
        statements.append(f"DROP TABLE IF EXISTS {stream}")
        statements.append(table(stream, columns, folder / name / stream))
    return {"name": name, "statements": statements}


def write_csv(folder: Path, rows: pa.Table) -> None:
    """Write CSV files without a header, each in order of time; times are milliseconds."""
    folder.mkdir(parents=True)
    for n, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            millis = pc.divide(rows[field.name].cast(pa.int64()), MILLISECOND)
            rows = rows.set_column(n, field.name, millis)
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    for part in range(PARTS):
        mine = rows.take(pa.array(np.arange(part, len(rows), PARTS)))
        csv.write_csv(mine, folder / f"{part}.csv", options)


def measured(query: NexmarkQuery, flink: Flink, outcome: Outcome, changes: pa.Table) -> Measured:
    """Return what came of a query."""
    answer = ORIGINALS.get(query.name, ANSWERS[query.name])
    instants = flink.oracle.instants(INSTANTS)
    if query.name not in SLIDES:
        instants = instants[-1:]  # changes have no times
    difference = flink.oracle.difference(answer, changes, instants)
    (timed,) = outcome.named("timed")
    streams = [name for name in reads(SELECTS[query.name]) if name != SIDE_INPUT]
    rows = sum(len(flink.timed[name]) for name in streams)
    work: dict[str, object] = {
        "changes_compared": len(changes),
        "peak_bytes": outcome.peak_bytes,
        "start_seconds": outcome.ready_seconds,
    }
    return Measured(verdict_of(difference), timed.seconds, rows, None, work)


def read_changes(path: Path, slide: int | None) -> pa.Table:
    """Return Flink's changes as windrow emits them.

    Where windows slide, a row is the answer from its window's end on, until the next one's.
    """
    names, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert rows, "an answer without a row shows nothing"
    columns = dict(zip(["_sign", *names], map(list, zip(*rows, strict=True)), strict=True))
    ends = columns.pop("_end", None)
    signs = pa.array(columns.pop("_sign"), pa.int64())
    values = {name: column_of(name, column) for name, column in columns.items()}
    if slide is None:
        return changelog(np.full(len(rows), START), signs, values)
    at = np.array(ends, "datetime64[us]").astype(np.int64) - TICK
    gone = changelog(at + slide * SECOND, pc.negate(signs), values)
    return pa.concat_tables([changelog(at, signs, values), gone])


def changelog(at: I64, signs: pa.Array, values: dict[str, pa.Array]) -> pa.Table:
    """Return rows with their times and signs."""
    return pa.table({"_ts": pa.array(at).view(pa.timestamp("us")), "_sign": signs, **values})


def column_of(name: str, values: list[Any]) -> pa.Array:
    """Return a column; times come as milliseconds."""
    if name in TIMES:
        return pc.multiply(pa.array(values, pa.int64()), MILLISECOND).view(pa.timestamp("us"))
    return pa.array(values)
