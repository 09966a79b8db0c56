"""A join of many goes on by another algorithm, or says why it cannot and goes on as it was."""

from __future__ import annotations

from itertools import permutations
from random import Random
from unittest.mock import patch

import pytest

import windrow as wr
from windrow.core.errors import SemanticError, StateError
from windrow.operators.join.multi.rows import MultiJoinRows
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle
from windrow.runtime.local.query import RunningQuery

pytestmark = pytest.mark.long

STREAMS = ("a", "b", "c")
COMPUTED = {
    "keys": "SELECT a.t FROM a [RANGE 9], b [RANGE 9], c [RANGE 9] WHERE a.x = b.x AND b.k = c.x",
    "keys of all": "SELECT a.t, c.t AS w FROM a [RANGE 9], b [RANGE 5], c [RANGE 7] "
    "WHERE a.k = b.x AND b.x = c.k",
    "keys below a condition": "SELECT a.t, b.t AS u FROM a [RANGE 9], b [RANGE 9], c [RANGE 9] "
    "WHERE a.x = b.x AND COALESCE(b.k, 1) = c.k AND b.v > 0 AND c.v < 3",
    "comparisons": "SELECT a.t, b.v FROM a [RANGE 9], b [RANGE 9], c [RANGE 4] "
    "WHERE a.k = b.k AND b.v + 1 < c.x AND a.v + b.v > c.v",
}
DEPARTING = {
    "a count window": "SELECT a.t FROM a [RANGE 9], b [ROWS 4], c [RANGE 9] "
    "WHERE a.x = b.x AND b.k = c.x",
    "a window by a column": "SELECT a.t FROM a [RANGE 9], b [PARTITION BY v ROWS 2], c [RANGE 9] "
    "WHERE a.x = b.x AND b.k = c.x",
    "a relation": "SELECT a.t, r.w FROM a [RANGE 9], b [RANGE 5], r "
    "WHERE a.x = b.x AND b.k + 1 = r.w + 1",
}
BETWEEN = (
    "SELECT a.t, b.t AS u, c.t AS w FROM a, b, c "
    "WHERE a.k = b.k AND b.k = c.k AND DWINDOW(a, b) = 2 AND DWINDOW(b, c) = 20"
)


def database() -> Database:
    db = wr.connect()
    assert isinstance(db, Database)
    for name in STREAMS:
        columns = "(t BIGINT, k BIGINT, v BIGINT, x DOUBLE)"
        db.execute(f"CREATE STREAM {name} {columns} TIMESTAMP BY t")
    db.execute("CREATE RELATION r (w BIGINT)")
    db.push("r", [{"_ts": 0, "_sign": 1, "w": w} for w in (0, 1, 1)])
    return db


def push(db: Database, start: int, stop: int) -> None:
    random = Random(start)
    for name in STREAMS:
        rows = [
            {
                "t": t,
                "k": random.choice((0, 1, 2, None)),
                "v": random.randrange(4),
                "x": random.choice((0.0, 1.0, 2.0, 2.5)),
            }
            for t in range(start, stop)
        ]
        db.push(name, rows)
    db.advance(stop - 1)


def told(*handles: QueryHandle) -> list[list[str]]:
    return [sorted(map(str, h.changes().to_pylist())) for h in handles]


def assert_unseen(text: str, algorithms: tuple[str, ...]) -> None:
    """From each algorithm to each other: the changelog is that of a tree that stays."""
    db = database()
    q, plain = (db.query(text, join_algorithm="tree") for _ in range(2))
    found = 0
    pairs = list(permutations(algorithms, 2))
    for step, pair in enumerate(pairs):
        for half, algorithm in enumerate(pair):
            start = 1 + 6 * step + 3 * half
            push(db, start, start + 3)
            q.reoptimize(join_algorithm=algorithm)
            db.running(q.name).flow.check()
            mine, theirs = told(q, plain)
            assert mine == theirs
            found += len(mine)
    assert found > len(pairs)


@pytest.mark.parametrize("text", COMPUTED.values(), ids=COMPUTED)
def test_columns_that_one_plan_computes_elsewhere_do_not_hinder_a_switch(text: str) -> None:
    assert_unseen(text, ("tree", "hash", "loops", "naive", "auto"))


@pytest.mark.parametrize("text", DEPARTING.values(), ids=DEPARTING)
def test_nor_do_they_where_departures_travel(text: str) -> None:
    assert_unseen(text, ("tree", "hash", "loops"))


@pytest.mark.parametrize("algorithm", ["hash", "auto", "hash_w"])
def test_results_that_outlive_their_tuples_stay_in_a_tree(algorithm: str) -> None:
    """Refused, the query goes on as it was; once the results have left, it switches."""
    db = database()
    q, plain = (db.query(BETWEEN, join_algorithm="tree") for _ in range(2))
    db.push("a", [{"t": 1, "k": 1, "v": 0, "x": 0.0}])
    db.push("b", [{"t": 2, "k": 1, "v": 0, "x": 0.0}])
    db.advance(10)
    with pytest.raises(StateError, match="outlive the tuples") as refused:
        q.reoptimize(join_algorithm=algorithm)
    assert "try again once such results have expired" in str(refused.value.hint)
    assert q.stats()["join_algorithm"] == "tree"
    db.push("c", [{"t": 12, "k": 1, "v": 0, "x": 0.0}])
    db.advance(12)
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) == 1
    db.advance(40)
    assert f"→ {algorithm}" in q.reoptimize(join_algorithm=algorithm)
    push(db, 41, 60)
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) > 10


@pytest.mark.parametrize("algorithm", ["naive", "merge_w"])
def test_a_strategy_that_stands_in_the_way_is_named(algorithm: str) -> None:
    db = database()
    with pytest.raises(SemanticError, match=f"{algorithm} cannot") as refused:
        db.query(BETWEEN, strategy="negative", join_algorithm=algorithm)
    assert "strategy negative" in str(refused.value.detail)
    counted = COMPUTED["keys"].replace("b [RANGE 9]", "b [ROWS 9]")
    with pytest.raises(SemanticError, match=f"{algorithm} cannot") as refused:
        db.query(counted, strategy="negative", join_algorithm=algorithm)
    assert 'Departures of "b"' in str(refused.value.detail)


def test_a_step_of_a_signed_join_does_not_look_at_all_rows() -> None:
    db = database()
    q = db.query(DEPARTING["a relation"], join_algorithm="hash")
    push(db, 1, 20)
    with patch.object(MultiJoinRows, "taken", side_effect=AssertionError("all rows are looked at")):
        push(db, 20, 40)
        (join,) = [s.task for s in db.running(q.name).flow.stages if s.label == "Join"]
        assert join is not None
        assert join.state_rows() > 0
    join.check()
    assert len(q.changes()) > 0


@pytest.mark.parametrize("text", [COMPUTED["keys"], DEPARTING["a relation"]], ids=["ends", "signs"])
def test_states_from_before_algorithms_were_saved_go_on(text: str) -> None:
    """All joins were trees before there was a choice."""
    db = database()
    q, plain = (db.query(text, join_algorithm="tree") for _ in range(2))
    push(db, 1, 10)
    saved = from_bytes(to_bytes(db.running(q.name).snapshot()))
    del saved["join_algorithm"]
    db._running[q.name] = RunningQuery.resumed(db.running(q.name).query, saved)
    push(db, 10, 20)
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) > 0
