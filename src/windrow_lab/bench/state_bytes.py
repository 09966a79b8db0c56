"""Bytes of state a row of the window: a join, a GROUP BY, a median; in process and on a shard.

A row has 24 bytes: its time, a key and a value. A window holds as many rows as are asked for; the
state is read once it is full and has slid on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import cast

import numpy as np
import pyarrow as pa

import windrow
from windrow.core.time import BEGINNING
from windrow.runtime.shards.clocks import BatchClock
from windrow.runtime.shards.ports import TIME
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.shard import Shard
from windrow_lab.contest.report import Bar, Facts

ROWS = 5_000_000
BATCH = 100_000
GROUP = 50
"""Rows of a group in the window, in the mean."""
STREAMS = ("a", "b")


@dataclass(frozen=True, slots=True)
class StateCase:
    """A query over one or two streams, and how many bytes a row it may take."""

    name: str
    most: int
    reads: tuple[str, ...]
    sql: str


CASES = (
    StateCase(
        "join",
        100,
        STREAMS,
        "SELECT a.v, b.v AS w FROM a [RANGE {n}], b [RANGE {n}] WHERE a.k = b.k",
    ),
    StateCase("group", 30, ("a",), "SELECT k, SUM(v) AS s FROM a [RANGE {n}] GROUP BY k"),
    StateCase("median", 60, ("a",), "SELECT k, MEDIAN(v) AS m FROM a [RANGE {n}] GROUP BY k"),
)

DECLARED = tuple(
    f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts" for name in STREAMS
)


def measure(share: float) -> list[Bar]:
    """Return the bars of all queries, in process and on a shard."""
    rows = max(BATCH, int(ROWS * share))
    sides: dict[str, Callable[[StateCase, int], int]] = {"": in_process, "_on_shard": on_shard}
    return [bar_of(case, rows, suffix, run) for case in CASES for suffix, run in sides.items()]


def bar_of(case: StateCase, rows: int, suffix: str, run: Callable[[StateCase, int], int]) -> Bar:
    """Return how many times as much state a row might take."""
    start = perf_counter()
    found = run(case, rows) / rows
    seconds = perf_counter() - start
    facts: Facts = {"bytes_a_row": round(found, 1), "at_most": case.most, "window_rows": rows}
    name = f"state_{case.name}{suffix}"
    return Bar(name, case.most / found, 1.0, seconds, rows / seconds, facts=facts)


def batches(case: StateCase, rows: int) -> Iterator[dict[str, pa.Table]]:
    """Yield the streams in pieces, by time, until the window has slid by a fifth.

    Keys of a join meet in one pair a row; a group has `GROUP` rows.
    """
    random = np.random.default_rng(7)
    each = rows // len(case.reads)
    keys = each if len(case.reads) > 1 else rows // GROUP
    size = BATCH // len(case.reads)
    for first in range(0, each + each // 5, size):
        yield {
            name: pa.table(
                {
                    "ts": np.arange(first, first + size),
                    "k": random.integers(0, keys, size),
                    "v": random.integers(0, 10**9, size),
                }
            )
            for name in case.reads
        }


def in_process(case: StateCase, rows: int) -> int:
    """Return the bytes of state of the query in this process."""
    with windrow.connect() as db:
        for statement in DECLARED:
            db.execute(statement)
        query = db.query(case.sql.format(n=rows // len(case.reads)))
        for tables in batches(case, rows):
            for name, table in tables.items():
                db.push(name, table)
            query.changes()
        return cast("int", query.stats()["state_bytes"])


def on_shard(case: StateCase, rows: int) -> int:
    """Return the bytes of state of the query on the only shard of a program."""
    query = f"CREATE QUERY q AS {case.sql.format(n=rows // len(case.reads))}"
    shard = Shard(Program(";\n".join((*DECLARED, query)), ("q",), shards=1), 0)
    ports = {p.entry.name: p for p in shard.layout.ports if p.entry is not None}
    for tables in batches(case, rows):
        for name, table in tables.items():
            given = table.append_column(TIME, table["ts"])
            shard.ingest(ports[name].number, given.select([TIME, *ports[name].schema.names]))
        clock = BatchClock(shard.times(), BEGINNING, False)
        for level in range(shard.layout.levels):
            shard.step(level, clock)
    queries = shard.stats()["queries"]
    assert isinstance(queries, dict)
    return int(queries["q"]["state_bytes"])
