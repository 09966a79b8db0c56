"""Joins of many streams at work: settings, counters, and orders that follow the streams."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.core.errors import BindError, SemanticError
from windrow.runtime.local.database import Database

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
