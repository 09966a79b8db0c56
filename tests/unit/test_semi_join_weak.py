"""EXISTS and IN over tuples that say when they leave: no departure travels to them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import windrow
from windrow.operators.join import ExpiringSemiJoin, HashJoin, SemiJoinTask
from windrow.operators.task import Task
from windrow.runtime.local.database import STRATEGIES, Database
from windrow.runtime.local.handle import QueryHandle

EXISTS = (
    "SELECT a.k, a.v FROM a [RANGE 10] WHERE EXISTS (SELECT * FROM b [RANGE 6] WHERE b.k = a.k)"
)
ABOVE = {
    "alone": EXISTS,
    "computed": "SELECT v FROM a [RANGE 5] WHERE k + 1 IN (SELECT k + v FROM b [RANGE 9])",
    "grouped": f"SELECT k, COUNT(*), MAX(v) FROM ({EXISTS}) AS z GROUP BY k",
    "joined": f"SELECT z.v, c.v FROM ({EXISTS}) AS z, c [RANGE 4] WHERE z.k = c.k",
    "distinct": f"SELECT DISTINCT v FROM ({EXISTS}) AS z",
    "endless": "SELECT k, v FROM a [UNBOUNDED] WHERE k IN (SELECT k FROM b [UNBOUNDED])",
    "kept keys": "SELECT k, v FROM a [RANGE 4] WHERE k IN (SELECT k FROM b [UNBOUNDED])",
    "nested": "SELECT v FROM a [RANGE 8] WHERE k IN "
    "(SELECT k FROM b [RANGE 6] WHERE v IN (SELECT v FROM c [RANGE 3]))",
}


def opened(text: str, strategy: str) -> tuple[Database, QueryHandle]:
    db = windrow.connect()
    for name in "abc":
        db.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;")
    return db, db.query(text, strategy=strategy)


def push(db: Database, rng: random.Random, start: int, stop: int) -> None:
    for name in "abc":
        rows = [
            {"ts": t, "k": rng.choice([0, 1, 2, None]), "v": rng.randrange(4)}
            for t in range(start, stop)
            for _ in range(rng.randrange(3))
        ]
        db.push(name, rows)


def told(query: QueryHandle) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in query.changes().to_pylist())


def tasks(db: Database, query: QueryHandle) -> list[Task]:
    return [s.task for s in db.running(query.name).flow.stages if s.task is not None]


@pytest.mark.parametrize("text", ABOVE.values(), ids=ABOVE)
@pytest.mark.parametrize("seed", range(3))
def test_all_strategies_tell_the_same_also_after_a_restart(text: str, seed: int) -> None:
    logs = []
    for strategy in STRATEGIES:
        db, query = opened(text, strategy)
        rng = random.Random(seed)
        for start in range(1, 40, 13):
            push(db, rng, start, start + 13)
            query.restore(query.snapshot())
            for task in tasks(db, query):
                task.check()
        db.drain()
        logs.append(told(query))
    assert logs.count(logs[0]) == len(logs)
    assert logs[0]


@pytest.mark.parametrize("strategy", ["upa", "auto"])
def test_no_departure_travels_to_it(strategy: str) -> None:
    negatives = {}
    for chosen, form in ((strategy, ExpiringSemiJoin), ("negative", SemiJoinTask)):
        db, query = opened(EXISTS, chosen)
        push(db, random.Random(1), 1, 60)
        (semi,) = (t for t in tasks(db, query) if isinstance(t, form))
        below = tasks(db, query)[: tasks(db, query).index(semi)]
        negatives[chosen] = sum(t.counters.negatives_out for t in below)
    assert negatives[strategy] == 0
    assert negatives["negative"] > 0


def test_a_join_above_it_is_of_tuples_that_say_when_they_leave() -> None:
    db, query = opened(ABOVE["joined"], "upa")
    assert sum(isinstance(t, HashJoin) for t in tasks(db, query)) == 2
    assert "δ*" in query.explain()


def test_a_match_that_lasts_longer_is_no_change() -> None:
    db, query = opened(EXISTS, "upa")
    db.push("a", [{"ts": 1, "k": 1, "v": 7}])
    db.push("b", [{"ts": t, "k": 1, "v": 0} for t in (1, 4, 8)])
    db.advance(20)
    changes = [tuple(row.values()) for row in query.changes().to_pylist()]
    assert changes == [(1, 1, 1, 7), (11, -1, 1, 7)]
