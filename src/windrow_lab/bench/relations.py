"""Rows pushed to a relation against the same rows pushed to a stream, each read by one query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
import pyarrow as pa

import windrow
from windrow_lab.contest.pushing import counted
from windrow_lab.contest.report import Bar, Facts, verdict_of

BAR = 0.25
ROWS, KEYS, BATCH = 1_000_000, 100_000, 50_000

Answer = tuple[int, int]

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts"
KEYED = "CREATE RELATION s (k BIGINT PRIMARY KEY, v BIGINT)"
BAG = "CREATE RELATION s (k BIGINT, v BIGINT)"


@dataclass(frozen=True, slots=True)
class RelationCase:
    """A relation, the window of a stream that holds the same rows, and how rows are pushed."""

    name: str
    declared: str
    window: str
    deletes: bool = False


CONTESTS = (
    RelationCase("keyed_relation", KEYED, "PARTITION BY k ROWS 1"),
    RelationCase("bag_relation", BAG, "UNBOUNDED"),
    RelationCase("bag_deletes", BAG, "UNBOUNDED", deletes=True),
)


def measure(share: float, repeats: int = 3) -> list[Bar]:
    """Return a bar for each kind of relation; the best run of each side counts."""
    table = rows(max(1_000, round(ROWS * share)), max(100, round(KEYS * share)))
    return [contested(contest, table, repeats) for contest in CONTESTS]


def rows(count: int, keys: int) -> pa.Table:
    """Return rows in time order, of random keys."""
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "ts": np.arange(count),
            "k": rng.integers(0, keys, count),
            "v": rng.integers(0, 1_000, count),
        }
    )


def contested(contest: RelationCase, table: pa.Table, repeats: int) -> Bar:
    """Return the bar of one kind of relation."""
    changes = table.rename_columns(["_ts", "k", "v"])
    if contest.deletes:
        changes = with_deletions(changes)
    query = "SELECT COUNT(*) AS n, SUM(v) AS total FROM s"
    stream = partial(pushed, STREAM, f"{query} [{contest.window}]", table)
    relation = partial(pushed, contest.declared, query, changes)
    expected = expected_of(contest, table)
    fast, _, one = best(stream, repeats)
    slow, work, other = best(relation, repeats)
    kept = expected_of(contest, table, deleted=contest.deletes)
    differs = "" if (one, other) == (expected, kept) else f"{one}, {other}, not {expected}, {kept}"
    rate = len(changes) / slow
    return Bar(
        contest.name,
        rate / (len(table) / fast),
        BAR,
        slow,
        rate,
        verdict_of(differs),
        work,
        {"against": f"a stream [{contest.window}], {len(table) / fast / 1e6:.2f} M rows/s"},
    )


def with_deletions(changes: pa.Table) -> pa.Table:
    """Return changes of which every second row goes again, at the instant of the following one."""
    gone = changes.take(pa.array(np.arange(0, len(changes) - 1, 2)))
    gone = gone.set_column(0, "_ts", pa.array(gone["_ts"].to_numpy() + 1))
    signs = np.concatenate([np.ones(len(changes), np.int64), -np.ones(len(gone), np.int64)])
    both = pa.concat_tables([changes, gone]).append_column("_sign", pa.array(signs))
    return both.take(pa.array(np.argsort(both["_ts"].to_numpy(), kind="stable"))).combine_chunks()


def expected_of(contest: RelationCase, table: pa.Table, *, deleted: bool = False) -> Answer:
    """Return the answer: of a key the last row counts, of a bag all that were not deleted."""
    keys, values = table["k"].to_numpy(), table["v"].to_numpy()
    if deleted:
        alive = np.ones(len(keys), np.bool_)
        alive[: len(keys) - 1 : 2] = False
        values = values[alive]
    elif contest.declared == KEYED:
        _, last = np.unique(keys[::-1], return_index=True)
        values = values[::-1][last]
    return len(values), int(values.sum())


def pushed(declared: str, query: str, table: pa.Table) -> tuple[float, Facts, Answer]:
    """Return how long it takes to push a table, the work, and the answer."""
    with windrow.connect() as db:
        db.execute(declared)
        handle = db.query(query)
        seconds = 0.0
        for start in range(0, len(table), BATCH):
            piece = table.slice(start, BATCH)
            began = perf_counter()
            db.push("s", piece)
            seconds += perf_counter() - began
            handle.changes()
        (row,) = handle.answer().to_pylist()
        return seconds, counted(handle.stats()), (row["n"], row["total"])


def best(
    run: Callable[[], tuple[float, Facts, Answer]], repeats: int
) -> tuple[float, Facts, Answer]:
    """Return the fastest of some runs."""
    return min((run() for _ in range(repeats + 1)), key=lambda found: found[0])
