"""Joins of many streams at work: settings, counters, and orders that follow the streams."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.core.errors import BindError, SemanticError
from windrow.operators.interner import Interner
from windrow.optimize.statistics import Statistics
from windrow.runtime.local.database import Database
from windrow.runtime.local.handover import measured
from windrow.runtime.local.query import RunningQuery

STREAMS = ("a", "b", "c")
TEXT = (
    "SELECT a.k, a.t, b.t AS u, c.t AS w FROM a [RANGE 1000], b [RANGE 1000], c [RANGE 1000] "
    "WHERE a.k = b.k AND b.k = c.k"
)


def database() -> Database:
    db = wr.connect()
    assert isinstance(db, Database)
    for name in STREAMS:
        db.execute(f"CREATE STREAM {name} (t BIGINT, k BIGINT) TIMESTAMP BY t")
    db.execute("CREATE RELATION r (k BIGINT)")
    return db


def tuples(start: int, stop: int, every: int, keys: int, seed: int) -> pa.Table:
    times = np.arange(start, stop, every)
    return pa.table({"t": times, "k": np.random.default_rng(seed).integers(0, keys, len(times))})


def operator(stats: dict[str, object]) -> dict[str, object]:
    operators = stats["operators"]
    assert isinstance(operators, list)
    (found,) = [o for o in operators if o["operator"] == "Join"]
    return dict(found)


def test_a_setting_counts_for_the_queries_after_it() -> None:
    db = database()
    db.execute(f"CREATE QUERY first AS {TEXT}; SET join_algorithm = 'loops';")
    db.execute(f"CREATE QUERY second AS {TEXT}")
    assert db.query("first").stats()["join_algorithm"] == "auto"
    assert operator(db.query("second").stats())["algorithm"] == "loops"
    assert operator(db.query(TEXT, join_algorithm="HASH").stats())["algorithm"] == "hash"
    with pytest.raises(BindError, match="join_algorithm cannot be merge"):
        db.query(TEXT, join_algorithm="merge")
    with pytest.raises(SemanticError, match="naive cannot do this join"):
        db.query("SELECT a.k FROM a [NOW], r WHERE a.k = r.k", join_algorithm="naive")


@pytest.mark.parametrize(
    "window", ["[RANGE 2000]", "[ROWS 2000]"], ids=["time window", "count window"]
)
@pytest.mark.parametrize("condition", ["a.t + a.k > b.k + 9000", "a.k * b.k > 980000"])
def test_pairs_that_no_equality_names_are_compared_before_they_are_made(
    window: str, condition: str
) -> None:
    """Eight million of them: 64 MB for one column of numbers."""
    given = {name: tuples(0, 4_000, 1, 1_000, seed) for seed, name in enumerate("ab")}
    db = database()
    query = db.query(f"ISTREAM(SELECT a.t, b.t AS u FROM a {window}, b {window} WHERE {condition})")
    tracemalloc.start()
    for start in range(0, 4_000, 2_000):
        for name, table in given.items():
            db.push(name, table.slice(start, 2_000))
        db.advance(start + 1_999)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    db.drain()
    assert peak < 50e6
    (t, k), (u, m) = ([c.to_numpy() for c in table.columns] for table in given.values())
    pairs = k[:, None] * m > 980_000 if "*" in condition else (t + k)[:, None] > m + 9_000
    near = np.abs(t[:, None] - u) < 2_000
    assert query.changes().num_rows == np.count_nonzero(pairs & near)


def test_orders_follow_a_swap_of_rates_and_no_result_is_lost() -> None:
    """c is fast and becomes slow, b the other way round: new tuples of a meet the fewest first."""
    db = database()
    q, tree = (db.query(TEXT, join_algorithm=name) for name in ("hash", "tree"))
    every = {"a": 20, "b": 40, "c": 2}
    told, orders = [], []
    for phase in range(2):
        for step in range(8):
            start = (phase * 8 + step) * 1000
            for i, name in enumerate(STREAMS):
                db.push(name, tuples(start, start + 1000, every[name], 200, start + i))
            rows = [sorted(map(str, t.changes().to_pylist())) for t in (q, tree)]
            assert rows[0] == rows[1]
            told.append(len(rows[0]))
        orders.append(operator(q.stats())["orders"])
        every = {"a": 20, "b": 2, "c": 40}
    assert sum(told) > 1_000
    assert [o[0] for o in orders] == ["a b c", "a c b"]
    assert operator(q.stats())["reorderings"] == 2
    assert "orders changed 2 times" in q.explain()
    assert "new a: a ► c ► b" in q.explain()


def test_another_algorithm_goes_on_where_one_has_stopped() -> None:
    db = database()
    q = db.query(TEXT, join_algorithm="tree")
    plain = db.query(TEXT, join_algorithm="tree")
    for step, algorithm in enumerate(("hash", "loops", "naive", "tree", "auto")):
        for i, name in enumerate(STREAMS):
            db.push(name, tuples(step * 300, step * 300 + 300, 7, 20, step + i))
        assert f"→ {algorithm}" in q.reoptimize(join_algorithm=algorithm)
        same = [sorted(map(str, handle.changes().to_pylist())) for handle in (q, plain)]
        assert same[0] == same[1]
    assert len(plain.answer()) > 100


def test_a_query_that_starts_again_keeps_its_orders() -> None:
    db = database()
    q = db.query(TEXT, join_algorithm="hash")
    for i, (name, every) in enumerate(zip(STREAMS, (20, 2, 40), strict=True)):
        db.push(name, tuples(0, 9_000, every, 200, i))
    before = operator(q.stats())["orders"]
    assert before != operator(database().query(TEXT, join_algorithm="hash").stats())["orders"]
    q.restore(q.snapshot())
    assert operator(q.stats())["orders"] == before


def test_an_input_that_is_empty_for_a_while_is_still_found_by_its_key() -> None:
    """New tuples of a stream whose window is empty go by the index, not through all rows."""
    db = database()
    q = db.query(TEXT, join_algorithm="hash")
    for i, name in enumerate(("b", "c")):
        db.push(name, tuples(0, 9_000, 1, 200, i))
    db.advance(9_000)
    db.push("a", tuples(9_000, 9_100, 1, 200, 9))
    db.advance(9_100)
    assert "new a: a ► b ► c" in q.explain()
    assert int(str(operator(q.stats())["comparisons"])) < 100 * 200


COPIES = "rows with their copies"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("a.k, a.t, b.t AS u, c.t AS w", "ring × ring × ring"),
        ("b.t", f"{COPIES} × ring × {COPIES}"),
        ("a.k", f"{COPIES} × {COPIES} × {COPIES}"),
    ],
)
def test_count_windows_are_rings_whose_order_outlives_a_switch(told: str, kept: str) -> None:
    """Equal rows come again and leave in turn: a tree knows how many there are, but no order."""
    db = database()
    text = (
        f"SELECT {told} FROM a [ROWS 7], b [ROWS 5], c [RANGE 9] WHERE a.k = b.k AND b.k = c.k "
        "AND a.k < 4"
    )
    q, plain = (db.query(text, join_algorithm="tree") for _ in range(2))
    changes = 0
    for step in range(24):
        for i, name in enumerate(STREAMS):
            db.push(name, tuples(step * 5, step * 5 + 5, 1, 5, 10 * step + i))
        db.advance(step * 5 + 4)
        rows = [sorted(map(str, t.changes().to_pylist())) for t in (q, plain)]
        assert rows[0] == rows[1]
        changes += len(rows[0])
        q.reoptimize(join_algorithm=("hash", "tree", "loops")[step % 3])
        db.running(q.name).flow.check()
    assert changes > 100
    assert f"loops of 3: {kept}" in q.explain()


WITHIN = (
    "SELECT a.t, b.t AS u, c.t AS w FROM a, b, c "
    "WHERE a.k {op} b.k AND b.k {op} c.k AND WINDOW(a, b) = 100 AND WINDOW(b, c) = 100"
)


@pytest.mark.parametrize(("algorithm", "op"), [("nested_w", "<"), ("hash_w", "=")])
def test_orders_of_joins_within_windows_follow_the_streams(algorithm: str, op: str) -> None:
    """c is fast and becomes slow, a the other way round: new tuples of b meet the fewest first."""
    db = database()
    q, tree = (db.query(WITHIN.format(op=op), join_algorithm=n) for n in (algorithm, "tree"))
    every, told, orders = {"a": 60, "b": 20, "c": 2}, 0, []
    for phase in range(2):
        for step in range(8):
            start = (phase * 8 + step) * 600
            for i, name in enumerate(STREAMS):
                db.push(name, tuples(start, start + 600, every[name], 8, start + i))
            rows = [sorted(map(str, t.changes().to_pylist())) for t in (q, tree)]
            assert rows[0] == rows[1]
            told += len(rows[0])
        orders.append(operator(q.stats())["orders"])
        every = {"a": 2, "b": 20, "c": 60}
    assert told > 300
    assert [o[1] for o in orders] == ["b a c", "b c a"]
    swings = measured(db.running(q.name)).swings
    assert swings["a"] > 10
    assert swings["c"] > 10
    assert swings["b"] < 2


def test_a_rate_that_swings_is_known_where_joins_are_chosen() -> None:
    """Merged loops have less to look at while a stream is slow: what they cost is less."""
    db = database()
    query = db.query(WITHIN.format(op="="), join_algorithm="auto")
    rates = dict.fromkeys(STREAMS, 1.0)

    def cost(swings: dict[str, float]) -> float:
        known = Statistics(rates, keys=50.0, swings=swings)
        running = RunningQuery(db.running(query.name).query, "auto", Interner(), known)
        (reason,) = [s.watch.facts()["reason"] for s in running.flow.stages if s.watch]
        return float(re.findall("merge_w ([0-9.e+]+)", str(reason))[0])

    assert cost({"c": 1_000.0}) < 0.8 * cost({})
