"""Drives the engine through a world: the same events, cut into pushes in any way.

`Plan` of a drive: the events of all streams and relations in time order are cut into batches;
after a batch all streams may hear a heartbeat; anywhere the query may be stopped, its state written
to bytes, and a fresh engine started from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from tests.generate.catalog import DECLARATIONS, NRR, RELATION, STREAMS
from tests.reference.histories import Change, Row, World, rows_of
from windrow.core.errors import StateError
from windrow.core.time import BEGINNING
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.optimize.statistics import Statistics
from windrow.runtime.local.database import Database
from windrow.runtime.local.handover import handed_over
from windrow.runtime.local.query import RunningQuery

RELATIONS = (NRR, RELATION)  # the rows of an instant meet changes that came before them


@dataclass(frozen=True, slots=True)
class Drive:
    """How a world is fed: where it is cut, and what happens after each cut.

    `hold` is how long results of negations wait; `cuts` are positions in the sequence of events;
    `heartbeat` tells whether streams hear how far all others are; `restarts` are numbers of
    batches after which the engine is replaced; `as_dicts` pushes lists of dicts, not Arrow tables;
    `switches` are numbers of batches after which another plan goes on, made by a strategy and by
    statistics; `rejoins` those after which joins go on by another algorithm; `refolds` those after
    which others of their inputs are aggregated early; `settings` are any others of the query's own.
    """

    strategy: str = "upa"
    join_algorithm: str = "auto"
    early_aggregation: str = "auto"
    hold: int = 0
    cuts: tuple[int, ...] = ()
    heartbeat: bool = True
    restarts: frozenset[int] = frozenset()
    check: bool = True
    sweep: bool = False
    as_dicts: bool = False
    switches: tuple[tuple[int, str, Statistics], ...] = ()
    rejoins: tuple[tuple[int, str], ...] = ()
    refolds: tuple[tuple[int, str], ...] = ()
    settings: tuple[tuple[str, object], ...] = ()


def events(world: World) -> list[tuple[int, str, int, Row]]:
    """All that happens in a world: (ts, name, sign, row), relations first within an instant."""
    found: list[tuple[int, int, str, int, Row]] = []
    for name, relation in world.relations.items():
        found += [(ts, 0, name, sign, row) for ts, sign, row in relation.changes]
    for name, stream in world.streams.items():
        found += [(ts, 1, name, 1, row) for ts, row in zip(stream.times, stream.rows, strict=True)]
    found.sort(key=lambda e: (e[0], e[1]))
    return [(ts, name, sign, row) for ts, _, name, sign, row in found]


def drive(text: str, world: World, plan: Drive, until: int) -> list[Change]:
    """Return the query's whole changelog over a world, up to and at `until`."""
    db = Database()
    db.execute(f"{DECLARATIONS}; SET hold = {plan.hold}")
    query = db.query(
        text,
        strategy=plan.strategy,
        join_algorithm=plan.join_algorithm,
        early_aggregation=plan.early_aggregation,
        **dict(plan.settings),
    )
    happened = events(world)
    bounds = bounds_of(happened, plan.cuts)
    changes: list[Change] = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        push_events(db, happened[start:stop], plan)
        changes += read(query.changes())
        if plan.check:
            db.running(query.name).check()
        if plan.sweep:
            db.running(query.name)._sweep()
        for _, strategy, statistics in (s for s in plan.switches if s[0] == number):
            switch(db, query.name, strategy, statistics)
        for _, algorithm in (r for r in plan.rejoins if r[0] == number):
            running = db.running(query.name)
            switch(db, query.name, running.strategy, running.statistics, algorithm)
        for _, early in (r for r in plan.refolds if r[0] == number):
            running = db.running(query.name)
            switch(db, query.name, running.strategy, running.statistics, early=early)
        if number in plan.restarts:
            restart(db, query.name)
    db.advance(until)
    db.drain()
    changes += read(query.changes())
    return changes


def bounds_of(happened: Sequence[tuple[int, str, int, Row]], cuts: Sequence[int]) -> list[int]:
    """Return where batches begin and end: what was always there is the first of them.

    Rows that a relation makes at an instant may be answered at its end of batch, so changes of an
    NRR at that instant come in the same batch: later they would not reach those rows.
    """
    first = next((i for i, e in enumerate(happened) if e[0] > BEGINNING), len(happened))
    made = {ts for ts, name, _, _ in happened if name == RELATION}
    allowed = (c for c in cuts if first < c < len(happened))
    kept = (c for c in allowed if happened[c][1] != NRR or happened[c][0] not in made)
    return sorted({0, first, len(happened), *kept})


def push_events(db: Database, batch: Sequence[tuple[int, str, int, Row]], plan: Drive) -> None:
    """Push one batch: changes of relations first, then each stream's tuples."""
    for name in RELATIONS:
        rows = [(ts, sign, row) for ts, n, sign, row in batch if n == name]
        if rows:
            db.push(name, relation_rows(rows))
    for name in STREAMS:
        tuples = [row for _, n, _, row in batch if n == name]
        if tuples:
            table = stream_table(tuples)
            db.push(name, table.to_pylist() if plan.as_dicts else table)
    if plan.heartbeat and batch and batch[-1][0] > BEGINNING:
        db.advance(batch[-1][0])


def stream_table(rows: Sequence[Row]) -> pa.Table:
    names = ("ts", "k", "v", "s", "x", "id")
    types = (pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.float64(), pa.int64())
    columns = zip(*(row[-6:] for row in rows), strict=True)
    arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


def relation_rows(changes: Sequence[Change]) -> pa.Table:
    """Return changes as they are pushed: what was always there has no time."""
    return pa.table(
        {
            "_ts": pa.array([None if ts == BEGINNING else ts for ts, _, _ in changes], pa.int64()),
            "_sign": pa.array([sign for _, sign, _ in changes], pa.int64()),
            "k": pa.array([row[0] for _, _, row in changes], pa.int64()),
            "w": pa.array([row[1] for _, _, row in changes], pa.int64()),
            "s": pa.array([row[2] for _, _, row in changes], pa.string()),
        }
    )


def restart(db: Database, name: str) -> None:
    """Replace a running query by a fresh one that starts from its state, through bytes."""
    old = db.running(name)
    saved = from_bytes(to_bytes(old.snapshot()))
    db._running[name] = RunningQuery.resumed(old.query, saved)


def switch(
    db: Database,
    name: str,
    strategy: str,
    statistics: Statistics,
    algorithm: str | None = None,
    early: str | None = None,
) -> None:
    """Let another plan of a running query go on, unless that is refused for a known reason.

    Either parts have come to different instants, or, with windows between streams, a tree of joins
    has results whose tuples it has let go of, and joins are to be done by another algorithm, or
    tuples without end have been folded. A plan that must stay is as it was.
    """
    before = to_bytes(db.running(name).snapshot())
    try:
        db._running[name] = handed_over(db.running(name), strategy, statistics, algorithm, early)
    except StateError as refused:
        text = db.running(name).query.text
        windows = algorithm is not None and "WINDOW" in text
        outlived = windows and "outlive the tuples" in str(refused)
        endless = ("UNBOUNDED" in text or "SINCE" in text) and "never expire" in str(refused)
        if not outlived and not endless and "derived stream meets another" not in str(refused):
            raise
        assert to_bytes(db.running(name).snapshot()) == before, "refused, and yet not as it was"
    db.running(name).check()


def read(table: pa.Table) -> list[Change]:
    """Return a changelog table as changes."""
    return [(int(r[0]), int(r[1]), r[2:]) for r in rows_of(table)]  # type: ignore[call-overload]


def net_at(changes: Sequence[Change], instants: Sequence[int]) -> list[Counter[Row]]:
    """Return the bag that a changelog adds up to at each of the ascending instants."""
    ordered = sorted(changes, key=lambda c: c[0])
    bag: Counter[Row] = Counter()
    answers, i = [], 0
    for at in instants:
        while i < len(ordered) and ordered[i][0] <= at:
            bag[ordered[i][2]] += ordered[i][1]
            i += 1
        answers.append(Counter({row: n for row, n in bag.items() if n}))
    return answers
