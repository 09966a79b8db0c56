"""SET expiry on shards: when a batch lets time pass, and that all settings tell the same."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from tests.reference.drive import read
from tests.reference.shards import ShardSet

from windrow.runtime.local.database import Database
from windrow.runtime.shards.program import Program

STREAMS = """
    CREATE STREAM a (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
"""
SETTINGS = ("auto", "piggyback", "negative", "input_triggered")


def shards_of(expiry: str, query: str, more: str = "") -> ShardSet:
    script = f"SET expiry = '{expiry}'; {more} {STREAMS} CREATE QUERY q AS {query};"
    return ShardSet(Program(script, ("q",), shards=2))


def tuples(*times: int, keys: int = 100) -> pa.Table:
    """Tuples of these times, whose key is the time modulo so many keys."""
    ts = pa.array(times, pa.int64())
    return pa.table({"_ts": ts, "ts": ts, "k": pa.array([t % keys for t in times], pa.int64())})


def told(tables: list[pa.Table]) -> Counter[tuple[int, tuple[object, ...]]]:
    found: Counter[tuple[int, tuple[object, ...]]] = Counter()
    for table in tables:
        for ts, sign, row in read(table):
            found[ts, row] += sign
    return Counter({change: n for change, n in found.items() if n})


@pytest.mark.parametrize("expiry", SETTINGS)
def test_a_batch_without_rows_lets_time_pass_unless_only_input_does(expiry: str) -> None:
    shards = shards_of(expiry, "SELECT k FROM a [RANGE 10]")
    shards.batch({0: tuples(1, 2)}, {})
    shown = told(shards.batch({}, {"a": 50}))
    waiting = expiry == "input_triggered"
    assert shown == ({} if waiting else {(11, (1,)): -1, (12, (2,)): -1})
    later = told(shards.batch({0: tuples(60)}, {}))
    due = {(11, (1,)): -1, (12, (2,)): -1} if waiting else {}
    assert later == {(60, (60,)): 1, **due}


JOIN = "SELECT a.k, COUNT(*) AS n FROM a [RANGE 7], b [RANGE 5] WHERE a.k = b.k GROUP BY a.k"
NEGATION = (
    "SELECT a.k FROM a [RANGE 7] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)"
)
BATCHES: tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...] = (
    ((1, 2, 3), (2,), 3),  # times of a, times of b, how far both have come
    ((), (), 6),  # nothing but time
    ((7, 8, 10), (8, 10), 10),
    ((), (), 30),
    ((31, 33), (33, 34), 34),
    ((), (), 45),
)
KEYS = 3


def truth_of(query: str, hold: int) -> Counter[tuple[int, tuple[object, ...]]]:
    """What one engine tells, that hears of every batch's end."""
    db = Database()
    db.execute(f"{STREAMS} SET hold = {hold}")
    q = db.query(query)
    for *rows, until in BATCHES:
        for stream, times in zip("ab", rows, strict=True):
            db.push(stream, tuples(*times, keys=KEYS).drop_columns("_ts"))
        db.advance(until)
    db.drain()
    return told([q.changes()])


@pytest.mark.parametrize("expiry", SETTINGS)
@pytest.mark.parametrize("pace", ["off", 1])
@pytest.mark.parametrize(("query", "hold"), [(JOIN, 0), (NEGATION, 0), (NEGATION, 2)])
def test_what_one_engine_tells_is_told_over_restarts(
    query: str, hold: int, pace: int | str, expiry: str
) -> None:
    shards = shards_of(expiry, query, f"SET hold = {hold}; SET expiry_pace = {pace};")
    ports = {p.entry.name: p.number for p in shards.layout.ports if p.entry is not None}
    tables = []
    for *rows, until in BATCHES:
        came = {n: tuples(*times, keys=KEYS) for n, times in zip("ab", rows, strict=True) if times}
        inputs = {ports[stream]: table for stream, table in came.items()}
        tables += shards.batch(inputs, {"a": until, "b": until})
        shards.restart()
    tables += shards.batch({}, {}, drain=True)
    assert told(tables) == truth_of(query, hold)


@pytest.mark.parametrize("expiry", SETTINGS)
def test_a_pace_and_a_silence_go_together(expiry: str) -> None:
    """What input has told of time goes on, a tuple a batch, also while nothing comes."""
    shards = shards_of(expiry, "SELECT k FROM a [RANGE 10]", "SET expiry_pace = 1;")
    shards.batch({0: tuples(1, 2, 3)}, {})
    batches = [told(shards.batch({0: tuples(40)}, {}))]
    while shards.behind:
        batches.append(told(shards.batch({}, {"a": 40})))
    assert batches == [
        {(11, (1,)): -1},
        {(12, (2,)): -1},
        {(13, (3,)): -1, (40, (40,)): 1},
    ]
