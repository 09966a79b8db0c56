"""A window a hundred times longer, with as many matches a tuple: what the join costs then."""

from __future__ import annotations

import gc
from time import perf_counter

import polars as pl
import pyarrow as pa

import windrow
from windrow_lab.bench.answers import Check
from windrow_lab.bench.data import STREAMS, Scale, Tables, streams
from windrow_lab.bench.measure import warm
from windrow_lab.bench.polars_forms import join
from windrow_lab.bench.workloads import WORKLOADS
from windrow_lab.contest.pushing import batches, counted
from windrow_lab.contest.report import Bar, Facts, verdict_of

BAR = 0.7
FACTOR = 100
SHORT = 9_960
"""The short window in ms and tuples; the long one fills with a million tuples a side."""
MEASURED = 500_000
"""Tuples a side that are timed once the windows are full."""

JOIN = WORKLOADS[0]


def measure(share: float) -> Bar:
    """Fill both windows with the same number of tuples, then time the same number more."""
    warm(JOIN)
    short = max(1, round(SHORT * share / 60)) * 60
    filling, timed = short * FACTOR, max(short, round(MEASURED * share))
    seconds: list[float] = []
    differences: list[str] = []
    work: Facts = {}
    for window in (short, short * FACTOR):
        scale = Scale(filling + timed, window, window // 3, max(2, short // 5), 100_000)
        took, work, difference = timed_stretch(scale, filling)
        seconds.append(took)
        differences.append(difference)
    fast, slow = seconds
    return Bar(
        "long_window",
        fast / slow,
        BAR,
        slow,
        2 * timed / slow,
        verdict_of("; ".join(filter(None, differences))),
        work,
        {
            "against": f"a {short / 1000:g} s window, {fast:.3f} s",
            "window_seconds": short * FACTOR / 1000,
            "factor": FACTOR,
            "rows": 2 * timed,
        },
    )


def timed_stretch(scale: Scale, filling: int) -> tuple[float, Facts, str]:
    """Return seconds, work and difference of the tuples that follow the first `filling`."""
    tables = streams(scale)
    head = {name: table.slice(0, filling) for name, table in tables.items()}
    tail = {name: table.slice(filling) for name, table in tables.items()}
    check = JOIN.check(scale)
    with windrow.connect() as db:
        for statement in STREAMS:
            db.execute(statement)
        query = db.query(JOIN.sql(scale))
        for name, piece in batches(head, JOIN.reads, scale.batch):
            db.push(name, piece)
            query.changes()
        gc.collect()
        seconds = 0.0
        for name, piece in batches(tail, JOIN.reads, scale.batch):
            start = perf_counter()
            db.push(name, piece)
            changes = query.changes()
            seconds += perf_counter() - start
            check.take_changes(changes)
        work = counted(query.stats())
    return seconds, work, difference_of(check, tables, scale, filling)


def difference_of(check: Check, tables: Tables, scale: Scale, filling: int) -> str:
    """Compare with the pairs that Polars finds whose later tuple is in the timed stretch."""
    first = tables["a"]["ts"][filling].value
    later = pl.max_horizontal("ts", "bts").cast(pl.Int64) >= first
    frames = {name: recent(table, scale, filling) for name, table in tables.items()}
    for pairs in join(frames, scale):
        check.take_other(pairs.filter(later))
    return check.difference()


def recent(table: pa.Table, scale: Scale, filling: int) -> pl.DataFrame:
    """Return the tuples that can meet one of the timed stretch."""
    return pl.DataFrame(table)[max(0, filling - scale.window) :]
