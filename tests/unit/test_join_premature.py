"""Results that end early: every form of a negation counts them as the definition does."""

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.measure import measured_statistics
from windrow.runtime.local.database import Database

WIDTH = 10
NEGATION = (
    f"SELECT a.k, a.v FROM a [RANGE {WIDTH}] "
    f"WHERE NOT EXISTS (SELECT * FROM b [RANGE {WIDTH}] WHERE b.k = a.k)"
)
STRATEGIES = ("negative", "direct", "upa", "auto")

Tuples = list[tuple[int, int, int]]
"""Time, key, value. Few values: many rows are equal."""


def tuples(rng: random.Random, count: int) -> Tuples:
    drawn = ((rng.randrange(1, 60), rng.randrange(3), rng.randrange(2)) for _ in range(count))
    return sorted(drawn)


def by_definition(lefts: Tuples, rights: Tuples, last: int) -> int:
    """Count tuples that were in the answer an instant ago, still live, and are in it no more."""

    def blocked(key: int, now: int) -> bool:
        return any(k == key and ts <= now < ts + WIDTH for ts, k, _ in rights)

    return sum(
        blocked(key, now) and not blocked(key, now - 1)
        for ts, key, _ in lefts
        for now in range(ts + 1, min(ts + WIDTH, last + 1))
    )


def counted(strategy: str, lefts: Tuples, rights: Tuples, cuts: list[int]) -> tuple[int, int]:
    """Run the negation; return its early ends, and the results that it told."""
    db = Database()
    for name in "ab":
        db.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts")
    query = db.query(NEGATION, strategy=strategy)
    for low, high in zip([0, *cuts], [*cuts, 100], strict=True):
        for name, events in (("a", lefts), ("b", rights)):
            piece = [event for event in events if low <= event[0] < high]
            columns = zip(*piece, strict=True) if piece else ([], [], [])
            arrays = [pa.array(list(column), pa.int64()) for column in columns]
            db.push(name, pa.table(dict(zip(("ts", "k", "v"), arrays, strict=True))))
        db.advance(high - 1)
    operators = query.stats()["operators"]
    early, emitted = (sum(op[name] for op in operators) for name in ("premature", "emitted"))
    share = measured_statistics(db.running(query.name).physical, 100).premature
    assert share == (min(1.0, early / emitted) if emitted else None)
    return early, emitted


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_early_ends_are_those_of_the_definition(strategy: str, seed: int) -> None:
    rng = random.Random(seed)
    lefts, rights = tuples(rng, rng.randrange(40)), tuples(rng, rng.randrange(12))
    cuts = sorted(rng.sample(range(1, 90), rng.randrange(4)))
    early, emitted = counted(strategy, lefts, rights, cuts)
    assert early == by_definition(lefts, rights, 99)
    assert early <= emitted


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_copy_that_is_blocked_counts(strategy: str) -> None:
    assert counted(strategy, [(1, 0, 0)] * 5, [(4, 0, 0)], []) == (5, 5)
