"""Clocks around windrow, Polars and plain Python: only the work is timed, not the checking."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import polars as pl
import pyarrow as pa

import windrow
from windrow_lab.bench.answers import AtRefreshes, Check, SameGroups, states_of_sparse
from windrow_lab.bench.data import STREAMS, Scale, Tables, streams
from windrow_lab.bench.plain_twins import arrivals
from windrow_lab.bench.workloads import Form, Workload
from windrow_lab.contest.clock import timed
from windrow_lab.contest.pushing import Sink, Timing, batches, ignore, pushed
from windrow_lab.contest.report import Bar, Facts, verdict_of

WARM = Scale(rows=1_200, window=120, keys=40, sources=8, batch=300)
"""Compiles every kernel of a query before its clock starts."""
POLARS_BAR = 0.5
TWIN_BAR = 50.0
TWIN = Scale(rows=50_000, window=6_000, keys=2_000, sources=200, batch=50_000)
"""A tenth of the full scale's windows, so that what comes also leaves: over eight windows."""


def run_windrow(
    text: str, reads: tuple[str, ...], tables: Tables, batch: int, sink: Sink = ignore
) -> Timing:
    """Run a query over the streams, which are pushed by turns in batches."""
    with windrow.connect() as db:
        for statement in STREAMS:
            db.execute(statement)
        return pushed(db, db.query(text), batches(tables, reads, batch), sink)


def run_polars(form: Form, tables: Tables, scale: Scale, sink: Callable[..., None]) -> float:
    """Return the seconds that Polars takes; its frames are made from Arrow beforehand."""
    frames = {name: pl.DataFrame(table) for name, table in tables.items()}
    gc.collect()
    seconds = 0.0
    pieces = form(frames, scale)
    while True:
        start = perf_counter()
        piece = next(pieces, None)
        seconds += perf_counter() - start
        if piece is None:
            return seconds
        sink(piece)


def warm(workload: Workload) -> None:
    """Run the query on a few tuples, so that what can be compiled is."""
    for text in (workload.text, *filter(None, (workload.per_tuple,))):
        run_windrow(workload.sql(WARM, text), workload.reads, streams(WARM), WARM.batch)


def against_polars(workload: Workload, tables: Tables, scale: Scale, repeats: int) -> list[Bar]:
    """Check the answer, then compare the best times of windrow and of each form."""
    warm(workload)
    checks = [workload.check(scale) for _ in workload.forms]
    text = workload.sql(scale)
    timings = [run_windrow(text, workload.reads, tables, scale.batch, fan(checks))]
    pairs = list(zip(workload.forms, checks, strict=True))
    runs = [[run_polars(form, tables, scale, c.take_other)] for form, c in pairs]
    differences = [f"{f.__name__}: {c.difference()}" for f, c in pairs if c.difference()]
    checks.clear()
    for _ in range(repeats - 1):
        timings.append(run_windrow(text, workload.reads, tables, scale.batch))
        for form, seconds in zip(workload.forms, runs, strict=True):
            seconds.append(run_polars(form, tables, scale, ignore))
    theirs = {f.__name__: min(s) for f, s in zip(workload.forms, runs, strict=True)}
    found = [polars_bar(workload, timings, theirs, "; ".join(differences))]
    return [*found, per_tuple(workload, tables, scale)] if workload.per_tuple else found


def fan(checks: list[Check]) -> Sink:
    """Return a sink that gives each piece of a changelog to all checks."""

    def take(changes: pa.Table) -> None:
        for check in checks:
            check.take_changes(changes)

    return take


def polars_bar(
    workload: Workload, timings: list[Timing], theirs: dict[str, float], difference: str
) -> Bar:
    """Return the bar of a workload: the first form counts, the others are reported."""
    best = min(timings, key=lambda timing: timing.seconds)
    name, *others = theirs
    facts: Facts = {"against": f"Polars {theirs[name]:.3f} s", "polars_seconds": theirs}
    if others:
        facts["ratio_to_other_forms"] = {n: theirs[n] / best.seconds for n in others}
    return Bar(
        workload.name,
        theirs[name] / best.seconds,
        POLARS_BAR,
        best.seconds,
        best.rows / best.seconds,
        verdict_of(difference),
        best.work,
        facts,
    )


def per_tuple(workload: Workload, tables: Tables, scale: Scale) -> Bar:
    """Measure the form without SLIDE on the first windows; at refreshes it must be the same."""
    prefix = replace(scale, rows=min(scale.rows, 4 * scale.window))
    first = {name: table.slice(0, prefix.rows) for name, table in tables.items()}
    check = SameGroups(states_of_sparse, AtRefreshes(prefix))
    text = workload.sql(prefix, workload.per_tuple)
    timing = run_windrow(text, workload.reads, first, prefix.batch, check.take_changes)
    seconds = run_polars(workload.forms[0], first, prefix, check.take_other)
    return Bar(
        f"{workload.name}_per_tuple",
        seconds / timing.seconds,
        None,
        timing.seconds,
        timing.rows / timing.seconds,
        verdict_of(check.difference()),
        timing.work,
        {"against": f"Polars at refreshes only, {seconds:.3f} s", "rows": timing.rows},
    )


def against_twin(workload: Workload, scale: Scale, repeats: int) -> list[Bar]:
    """Check the answer against the twin's, then compare the best times.

    Only the twin's own loop is timed. What it would take from Arrow to Arrow, as windrow works,
    is shown beside it.
    """
    warm(workload)
    tables = streams(scale)
    reading, events = timed(lambda: arrivals(tables, workload.reads))
    check = workload.check_twin(scale)
    text = workload.sql(scale)
    timings = [run_windrow(text, workload.reads, tables, scale.batch, check.take_changes)]
    timings += [run_windrow(text, workload.reads, tables, scale.batch) for _ in range(repeats)]
    runs = [timed(lambda: workload.twin(events, scale)) for _ in range(2)]
    looping, changes = min(runs, key=lambda run: run[0])
    writing, _ = timed(lambda: [pa.array(column) for column in zip(*changes, strict=True)])
    check.take_other(workload.twin_frame(changes))
    best = min(timings, key=lambda timing: timing.seconds)
    bar = Bar(
        f"twin_{workload.name}",
        looping / best.seconds,
        TWIN_BAR,
        best.seconds,
        best.rows / best.seconds,
        verdict_of(check.difference()),
        best.work,
        {
            "against": f"plain Python {looping:.3f} s",
            "rows": best.rows,
            "ratio_from_arrow_to_arrow": (reading + looping + writing) / best.seconds,
        },
    )
    return [bar]
