"""A running query goes on under another plan."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest

import windrow
from windrow.core.errors import BindError, StateError
from windrow.core.processor import Processor
from windrow.optimize.statistics import Statistics
from windrow.runtime.local.database import STRATEGIES, Database
from windrow.runtime.local.handle import QueryHandle
from windrow.runtime.local.handover import handed_over, what_changed

QUERIES = {
    "windows": "SELECT k, v + 1 AS z FROM a [RANGE 10] WHERE v > 0",
    "join": "SELECT a.v, b.v FROM a [RANGE 10], b [RANGE 6] WHERE a.k = b.k",
    "distinct": "SELECT DISTINCT a.k FROM a [RANGE 10], b [RANGE 6] WHERE a.k = b.k",
    "negation": "SELECT a.v FROM a [RANGE 10] "
    "WHERE NOT EXISTS (SELECT * FROM b [RANGE 6] WHERE a.k = b.k)",
    "exists": "SELECT a.v FROM a [RANGE 10] "
    "WHERE EXISTS (SELECT * FROM b [RANGE 6] WHERE a.k + 1 = b.k)",
    "groups": "SELECT k, COUNT(*), MIN(v), MAX(v) FROM a [RANGE 10] GROUP BY k",
}


STREAMS = {
    "births": "ISTREAM(SELECT ts, v + 1 AS z FROM a [RANGE 10] WHERE v > 0)",
    "births of a join": "ISTREAM(SELECT a.ts, b.ts AS t, a.v FROM a [RANGE 10], b [RANGE 6] "
    "WHERE a.k = b.k)",
    "what stays": "ISTREAM(SELECT k FROM a [UNBOUNDED])",
    "insertions": "ISTREAM(SELECT DISTINCT k FROM a [RANGE 3])",
    "deletions": "DSTREAM(SELECT k, v FROM a [RANGE 3])",
}
"""Those that close an instant before they speak, and those that need not."""


Log = list[tuple[object, ...]]


def opened(
    text: str, strategy: str, processor: Processor | None = None
) -> tuple[Database, QueryHandle]:
    db = windrow.connect(processor=processor)
    db.execute("""
        CREATE STREAM a (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
        CREATE STREAM b (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    """)
    return db, db.query(text, strategy=strategy)


def push(db: Database, start: int, stop: int) -> None:
    for name, keys in (("a", 3), ("b", 4)):
        rows = [{"ts": t, "k": t * t % keys, "v": t % 5} for t in range(start, stop)]
        db.push(name, rows)


def changes(query: QueryHandle) -> Log:
    rows = (tuple(row.values()) for row in query.changes().to_pylist())
    return sorted(rows, key=repr)


def rows(query: QueryHandle) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in query.answer().to_pylist()), key=repr)


@cache
def logged(text: str, first: str, second: str = "") -> Log:
    """What a query tells in all, under one strategy or over a switch to a second."""
    db, query = opened(text, first)
    push(db, 1, 20)
    if second:
        before = rows(query)
        query.reoptimize(second)
        assert rows(query) == before
        query.restore(query.snapshot())
        assert query.stats()["strategy"] == second
    push(db, 20, 30)
    db.drain()
    return changes(query)


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize(("first", "second"), list(permutations(STRATEGIES, 2)))
def test_no_pair_of_strategies_shows_the_switch(text: str, first: str, second: str) -> None:
    assert logged(text, first, second) == logged(text, first)


COMPUTED = {
    "sums": "SELECT a.v + b.v AS z FROM a [RANGE 10], b [RANGE 6] WHERE a.k = b.k",
    "groups of sums": "SELECT a.v + b.v AS z, COUNT(*) FROM a [RANGE 10], b [RANGE 6] "
    "WHERE a.k = b.k GROUP BY a.v + b.v",
}
"""What was before a projection is lost, so that departures wait on edges above it."""


@cache
def shown(text: str, first: str, second: str = "") -> list[Log]:
    """What a query tells at some instants, in batches or over a switch on queues."""
    db, query = opened(text, first, Processor() if second else None)
    push(db, 1, 20)
    told = [changes(query)]
    if second:
        query.reoptimize(second)
    for t in (*range(20, 24), 26, 29, 40):
        db.advance(t)
        told.append(changes(query))
    return told


@pytest.mark.parametrize("text", [*QUERIES.values(), *COMPUTED.values()], ids=[*QUERIES, *COMPUTED])
@pytest.mark.parametrize(("first", "second"), list(permutations(STRATEGIES, 2)))
def test_on_queues_what_was_alive_at_a_switch_leaves_on_time(
    text: str, first: str, second: str
) -> None:
    """On a processor that takes no time all shows at once, whoever must hear of it."""
    assert shown(text, first, second) == shown(text, first)


@pytest.mark.parametrize("text", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize(("first", "second"), list(permutations(STRATEGIES, 2)))
def test_a_switch_amid_an_instant_loses_and_repeats_nothing(
    text: str, first: str, second: str
) -> None:
    """Tuples of 19 come before it and after it; it goes to and fro at 22, without any step."""
    logs = []
    for switches in (False, True):
        db, query = opened(text, first)
        push(db, 1, 20)
        told = changes(query)
        if switches:
            query.reoptimize(second)
            query.restore(query.snapshot())
        push(db, 19, 23)
        if switches:
            query.reoptimize(first)
            query.reoptimize(second)
        push(db, 22, 30)
        db.drain()
        logs.append(sorted(told + changes(query), key=repr))
    assert logs[0] == logs[1]


def test_departures_that_wait_on_an_edge_are_gone_after_a_window() -> None:
    db, query = opened(QUERIES["windows"], "upa")
    push(db, 1, 20)
    query.reoptimize("negative")
    running = db.running(query.name)
    assert sum(map(len, running.flow.ends.values())) == len(query.answer()) > 0
    db.advance(29)
    assert not running.flow.ends
    assert len(query.answer()) == 0


def test_a_negation_moves_over_a_join_while_it_runs() -> None:
    text = """SELECT a.v FROM a [RANGE 10], b [RANGE 6] WHERE a.k = b.k
        AND NOT EXISTS (SELECT * FROM b AS c [RANGE 3] WHERE c.v = a.v)"""
    db, query = opened(text, "auto")
    push(db, 1, 20)
    old = db.running(query.name)
    told = [
        what_changed(old, handed_over(old, "auto", Statistics({"a": a, "b": b}, keys, early)))
        for a, b, keys, early in ((1.0, 9.0, 1.0, 0.0), (1.0, 1.0, 1000.0, 0.9))
    ]
    assert any("AntiJoin: stands elsewhere" in text for text in told)


def test_auto_chooses_the_form_by_what_was_measured() -> None:
    db, query = opened(QUERIES["negation"], "auto")
    db.push("a", [{"ts": t, "k": 1, "v": t} for t in range(1, 100)])
    db.push("b", [{"ts": t, "k": 1, "v": t} for t in range(1, 100, 9)])
    db.advance(100)
    assert "natural ends by timestamp" in query.explain()
    text = query.reoptimize()
    assert "AntiJoin: counters by key, natural ends by timestamp → counters by key" in text
    db.push("a", [{"ts": t, "k": t, "v": t} for t in range(101, 300)])
    db.advance(300)
    assert "AntiJoin: counters by key → counters by key, natural ends" in query.reoptimize()


def test_what_cannot_be_is_refused_and_the_query_goes_on() -> None:
    text = """SELECT x.v FROM (ISTREAM(SELECT v FROM a [RANGE 5])) AS x [RANGE 5], b [RANGE 5]
        WHERE x.v = b.v"""
    db, query = opened(text, "upa")
    push(db, 1, 9)
    with pytest.raises(StateError, match="derived stream"):
        query.reoptimize("negative")
    with pytest.raises(BindError, match="unknown strategy"):
        query.reoptimize("best")
    assert query.stats()["strategy"] == "upa"
    push(db, 9, 12)
    db.drain()
    with pytest.raises(StateError, match="has ended"):
        query.reoptimize("upa")


def test_a_merge_of_numbered_and_other_tuples_goes_on_under_another_plan() -> None:
    db = windrow.connect()
    for name in "ab":
        db.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
    query = db.query("SELECT k FROM a [ROWS 2 INTERNAL] UNION ALL SELECT k FROM b [ROWS 4]")
    db.push("a", [{"ts": 1, "k": 1}])
    query.reoptimize("negative")
    db.push("a", [{"ts": 2, "k": 1}])
    db.advance(5)
    assert query.answer().to_pylist() == [{"k": 1}, {"k": 1}]
