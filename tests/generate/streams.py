"""Finite histories of the catalogue's streams and relations, as Hypothesis strategies.

Times have ties, gaps and bursts; values come from tiny domains, with NULLs, so that joins match
and duplicates happen. Everything shrinks towards few rows, one tick apart, of small values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st
from tests.generate.catalog import NRR, RELATION, STREAMS
from tests.reference.histories import Change, RelationHistory, Row, StreamHistory, World

from windrow.core.time import BEGINNING

EVERYTHING = (*STREAMS, RELATION, NRR)

STARTS = (0, 1, 5, -7)
GAPS = (1, 0, 2, 3, 0, 1, 6, 15)
KEYS = (1, 2, 1, 3, None)
NUMBERS = (0, 1, 2, 1, -3, 7, None)
TEXTS = ("a", "b", "a", "ab", "", None)
REALS = (0.0, 0.5, -1.5, 2.0, 0.5, None)
ODD_REALS = (0.0, -0.0, float("nan"), float("inf"), 0.5, None)
IDS = (1, 2, 3, 4)


def payloads(*, odd_reals: bool = False) -> st.SearchStrategy[Row]:
    """(k, v, s, x, id) of a stream's tuple."""
    reals = ODD_REALS if odd_reals else REALS
    return st.tuples(*map(st.sampled_from, (KEYS, NUMBERS, TEXTS, reals, IDS)))


@st.composite
def stream_histories(
    draw: st.DrawFn,
    *,
    max_rows: int = 12,
    unique_ids: bool = True,
    odd_reals: bool = False,
    first_id: int = 1,
) -> StreamHistory:
    """A stream's tuples in time order; with `unique_ids` numbered from `first_id` on."""
    now = draw(st.sampled_from(STARTS))
    step = st.tuples(st.sampled_from(GAPS), payloads(odd_reals=odd_reals))
    steps = draw(st.lists(step, max_size=max_rows))
    return _stream(now, steps, first_id if unique_ids else None)


def _stream(now: int, steps: Sequence[tuple[int, Row]], first_id: int | None) -> StreamHistory:
    """Put payloads on the clock, each some ticks after the one before; number them if told."""
    rows: list[Row] = []
    for number, (gap, payload) in enumerate(steps):
        now += gap
        values = payload if first_id is None else (*payload[:-1], first_id + number)
        rows.append((now, now, *values))
    return StreamHistory(rows)


RELATION_ROWS = st.tuples(*map(st.sampled_from, (KEYS, NUMBERS, TEXTS)))
ACTIONS = ("insert", "delete", "update")

Step = tuple[int, str, Row, int]
"""(gap, action, row to insert, position of the row to delete) of a relation's update."""


@st.composite
def relation_histories(draw: st.DrawFn, *, max_changes: int = 5) -> RelationHistory:
    """A relation's first rows, then insertions, deletions and updates, some at one instant."""
    rows = draw(st.lists(RELATION_ROWS, max_size=3))
    now = draw(st.sampled_from(STARTS))
    step = st.tuples(
        st.sampled_from(GAPS), st.sampled_from(ACTIONS), RELATION_ROWS, st.integers(0, 3)
    )
    return _relation(rows, now, draw(st.lists(step, max_size=max_changes)))


def _relation(first: Sequence[Row], now: int, steps: Sequence[Step]) -> RelationHistory:
    """Apply updates to the first rows; a deletion from an empty relation does nothing."""
    rows = list(first)
    changes: list[Change] = [(BEGINNING, 1, row) for row in rows]
    for gap, action, row, position in steps:
        now += gap
        if action != "insert" and rows:
            changes.append((now, -1, rows.pop(position % len(rows))))
        if action != "delete":
            rows.append(row)
            changes.append((now, 1, row))
    return RelationHistory(changes)


@st.composite
def worlds(
    draw: st.DrawFn,
    *,
    max_rows: int = 12,
    unique_ids: bool = True,
    odd_reals: bool = False,
    names: Sequence[str] = EVERYTHING,
) -> World:
    """Histories of all `names`; unique ids are unique over all streams. Others stay empty."""
    streams = {name: StreamHistory() for name in STREAMS}
    relations = {name: RelationHistory() for name in (RELATION, NRR)}
    for position, name in enumerate(names):
        if name in streams:
            streams[name] = draw(
                stream_histories(
                    max_rows=max_rows,
                    unique_ids=unique_ids,
                    odd_reals=odd_reals,
                    first_id=1 + 100 * position,
                )
            )
        else:
            relations[name] = draw(relation_histories())
    return World(streams, relations)


def worlds_of(text: str, *, max_rows: int = 12) -> st.SearchStrategy[World]:
    """Histories of the streams and relations that a query names: of others it hears nothing."""
    named = set(re.findall(r"\w+", text))
    return worlds(max_rows=max_rows, names=[name for name in EVERYTHING if name in named])


def random_world(seed: int, *, rows: int = 6, names: Sequence[str] = EVERYTHING) -> World:
    """Return the world that a seed makes, with so many rows a stream: for search."""
    rng = Random(seed)
    streams = {name: StreamHistory() for name in STREAMS}
    relations = {name: RelationHistory() for name in (RELATION, NRR)}

    def some(*domains: Sequence[object]) -> Row:
        return tuple(map(rng.choice, domains))

    for position, name in enumerate(names):
        if name in streams:
            steps = [
                (rng.choice(GAPS), some(KEYS, NUMBERS, TEXTS, REALS, IDS)) for _ in range(rows)
            ]
            streams[name] = _stream(rng.choice(STARTS), steps, 1 + 100 * position)
        else:
            first = [some(KEYS, NUMBERS, TEXTS) for _ in range(2)]
            updates = [
                (
                    rng.choice(GAPS),
                    rng.choice(ACTIONS),
                    some(KEYS, NUMBERS, TEXTS),
                    rng.randrange(4),
                )
                for _ in range(rows)
            ]
            relations[name] = _relation(first, rng.choice(STARTS), updates)
    return World(streams, relations)


def disordered(history: StreamHistory, slack: int) -> st.SearchStrategy[list[Row]]:
    """The tuples in an order of arrival in which none comes more than `slack` late.

    A tuple that arrives after one of time t has itself a time of at least t - slack.
    """
    delays = st.lists(st.integers(0, slack), min_size=len(history.rows), max_size=len(history.rows))

    def arrange(late: list[int]) -> list[Row]:
        arrivals = [time + delay for time, delay in zip(history.times, late, strict=True)]
        order = sorted(range(len(arrivals)), key=arrivals.__getitem__)
        return [history.rows[i] for i in order]

    return delays.map(arrange)


def in_order(arrivals: Sequence[Row]) -> StreamHistory:
    """The history that tuples in this order of arrival make: ties stay as they arrived."""
    return StreamHistory(sorted(arrivals, key=lambda row: row[0]))  # type: ignore[arg-type,return-value]


def cut_times(world: World) -> list[int]:
    """Every instant at which something happens in the world, ascending."""
    streams = (t for history in world.streams.values() for t in history.times)
    relations = (t for history in world.relations.values() for t in history.times)
    return sorted({*streams, *relations})


def until(world: World, at: int) -> World:
    """The world as it had been up to and at `at`."""
    return World(
        {
            name: StreamHistory([row for row in h.rows if row[0] <= at])  # type: ignore[operator]
            for name, h in world.streams.items()
        },
        {
            name: RelationHistory([change for change in h.changes if change[0] <= at])
            for name, h in world.relations.items()
        },
    )
