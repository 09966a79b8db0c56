"""Three streams joined as they come, against DuckDB's join of the three finished tables."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import perf_counter

import duckdb
import pyarrow as pa

import windrow
from windrow.runtime.local.database import Database
from windrow_lab.bench.data import MILLISECOND, START, Scale, Tables, declaration, streams
from windrow_lab.bench.joins.feed import JoinTiming, digest_of
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.peers.forms.duckdb import SELECTS

BAR = 3.0
NAMES = ("a", "b", "c")
ROWS = 1_000_000
FETCHED = 100_000
"""Results of DuckDB that are taken at a time."""

QUERY = (
    "ISTREAM(SELECT a.ts AS ats, b.ts AS bts, c.ts AS cts, a.k AS k, a.v AS av, b.v AS bv, "
    "c.v AS cv FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND WINDOW = 60 SECONDS)"
)
PLAIN = (
    "SELECT a.ms AS ats, b.ms AS bts, c.ms AS cts, a.k, a.v AS av, b.v AS bv, c.v AS cv "
    "FROM a JOIN b ON a.k = b.k AND abs(a.ms - b.ms) < {window} "
    "JOIN c ON a.k = c.k AND abs(a.ms - c.ms) < {window} AND abs(b.ms - c.ms) < {window}"
)
"""As anybody would write it. By buckets of a window's length, as the peers' form has it, DuckDB
looks at fewer pairs of a key."""


def measure(repeats: int) -> list[Bar]:
    """Compare rates on windows of 60 s and a thousand tuples a second a stream."""
    scale = Scale(rows=ROWS)
    tables = streams(scale, names=NAMES)
    runs = [joined(tables, scale, checked=n == 0) for n in range(repeats + 1)]
    ours = replace(min(runs[1:], key=lambda t: t.seconds), digest=runs[0].digest)
    forms = {
        "three_way_against_duckdb": (PLAIN, BAR, "its join on k and times"),
        "three_way_against_duckdb_by_buckets": (SELECTS["W7"], None, "the same by buckets of 60 s"),
    }
    found = []
    for name, (form, bar, said) in forms.items():
        text = form.format(window=scale.window)
        theirs = batch(tables, text, repeats)
        found.append(compared(name, ours, theirs, bar, said))
    return found


def compared(name: str, ours: JoinTiming, theirs: JoinTiming, bar: float | None, said: str) -> Bar:
    """Return how many times DuckDB's time windrow's is shorter by."""
    same = (ours.results, ours.digest) == (theirs.results, theirs.digest)
    different = "" if same else f"{ours.results} results against {theirs.results}"
    return Bar(
        name,
        theirs.seconds / ours.seconds,
        bar,
        ours.seconds,
        ours.rows / ours.seconds,
        verdict_of(different),
        {"results": ours.results},
        {"against": f"DuckDB, a batch, all cores: {said}, {theirs.seconds:.2f} s"},
    )


def joined(tables: Tables, scale: Scale, *, checked: bool) -> JoinTiming:
    """Join the streams batch by batch; what the check reads is not left over for the clock."""
    db = windrow.connect()
    assert isinstance(db, Database)
    for name in NAMES:
        db.execute(declaration(name))
    query = db.query(QUERY)
    seconds, results, digest = 0.0, 0, 0
    for start in range(0, scale.rows, scale.batch):
        begin = perf_counter()
        for name in NAMES:
            db.push(name, tables[name].slice(start, scale.batch))
        db.advance(min(START + (start + scale.batch) * MILLISECOND, scale.end + MILLISECOND))
        changes = query.changes()
        seconds += perf_counter() - begin
        results += len(changes)
        digest += digest_of(in_milliseconds(changes)) if checked else 0
    return JoinTiming(seconds, len(NAMES) * scale.rows, results, digest & (2**64 - 1))


def in_milliseconds(changes: pa.Table) -> pa.Table:
    """Return a changelog with its times as numbers."""
    for name in ("ats", "bts", "cts"):
        times = changes[name].cast(pa.int64()).to_numpy() // MILLISECOND
        changes = changes.set_column(changes.column_names.index(name), name, pa.array(times))
    return changes


def batch(tables: Tables, text: str, repeats: int) -> JoinTiming:
    """Join the tables, which DuckDB has in its memory; read all results, and once check them."""
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register("given", table)
        connection.execute(
            f"CREATE TABLE {name} AS SELECT epoch_us(ts) // 1000 AS ms, k, src, v FROM given"
        )
    seconds, results = inf, 0
    for _ in range(repeats):
        begin = perf_counter()
        results = sum(part.num_rows for part in read(connection, text))
        seconds = min(seconds, perf_counter() - begin)
    digest = sum(digest_of(pa.Table.from_batches([p])) for p in read(connection, text))
    rows = sum(map(len, tables.values()))
    return JoinTiming(seconds, rows, results, digest & (2**64 - 1))


def read(connection: duckdb.DuckDBPyConnection, text: str) -> pa.RecordBatchReader:
    """Return the results, to be read part by part."""
    return connection.sql(text).to_arrow_reader(FETCHED)
