"""How time goes on in the engine: heartbeats, slack, late tuples, idle streams, two clocks."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from windrow.core.errors import InputError
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

ROWS = [{"ts": 1, "k": 7, "s": "a"}, {"ts": 2, "k": None, "s": "b"}]


@pytest.fixture
def db() -> Database:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, s STRING) TIMESTAMP BY ts")
    return db


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def rows(query: QueryHandle) -> list[dict]:
    return query.answer().to_pylist()


def changes(query: QueryHandle) -> list[tuple]:
    return [tuple(row.values()) for row in query.changes().to_pylist()]


# -- clocks ------------------------------------------------------------------------------------


def test_an_answer_changes_when_nothing_arrives(db: Database) -> None:
    query = db.query("SELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k")
    db.push("s", [{"ts": 3, "k": 1}, {"ts": 8, "k": 1}])
    assert rows(query) == [{"k": 1, "n": 2}]
    db.advance(13)
    assert rows(query) == [{"k": 1, "n": 1}]
    db.advance(18)
    assert rows(query) == []
    told = Counter(changes(query))
    assert told == Counter(
        [(3, 1, 1, 1), (8, -1, 1, 1), (8, 1, 1, 2), (13, -1, 1, 2), (13, 1, 1, 1), (18, -1, 1, 1)]
    )


@pytest.mark.parametrize("strategy", ["auto", "upa", "direct", "negative"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT k FROM s [RANGE 10]",
        "SELECT DISTINCT k FROM s [RANGE 10]",
        "SELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k",
        "SELECT a.k FROM s AS a [RANGE 10], s AS b [RANGE 20] WHERE a.k = b.k",
        "SELECT k FROM s [RANGE 10] WHERE k IN (SELECT k FROM s [RANGE 30])",
    ],
)
def test_an_expiry_shows_at_the_next_heartbeat_without_any_input(
    db: Database, text: str, strategy: str
) -> None:
    query = db.query(text, strategy=strategy)
    db.push("s", [{"ts": 3, "k": 1}])
    db.advance(12)
    assert [change[:2] for change in changes(query)] == [(3, 1)]
    db.advance(13)
    assert [change[:2] for change in changes(query)] == [(13, -1)]
    assert rows(query) == []


def test_late_tuples_are_counted_and_kept(db: Database) -> None:
    query = db.query("SELECT k FROM s [RANGE 10]")
    assert len(db.late("s")) == 0
    db.push("s", [{"ts": 5, "k": 1}, {"ts": 3, "k": 2}, {"ts": 5, "k": 3}])
    db.advance(7)
    db.push("s", [{"ts": 6, "k": 4}])
    assert [row["k"] for row in rows(query)] == [1, 3]
    assert [row["k"] for row in db.late("s").to_pylist()] == [2, 4]
    assert query.stats()["late"] == 2
    assert query.stats()["late_by_stream"] == {"s": 2}


@pytest.fixture
def slack() -> Database:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SLACK 5")
    return db


def test_slack_holds_tuples_back_and_sorts_them(slack: Database) -> None:
    query = slack.query("SELECT k FROM s [RANGE 100]")
    slack.push("s", [{"ts": 10, "k": 1}, {"ts": 7, "k": 2}, {"ts": 5, "k": 3}, {"ts": 4, "k": 4}])
    assert rows(query) == [{"k": 3}]
    slack.push("s", [{"ts": 13, "k": 5}])
    assert [change[:3] for change in changes(query)] == [(5, 1, 3), (7, 1, 2)]
    slack.advance(11)
    assert [change[:3] for change in changes(query)] == [(10, 1, 1)]
    assert [row["k"] for row in slack.late("s").to_pylist()] == [4]
    slack.drain()
    assert [change[:3] for change in changes(query)] == [(13, 1, 5)]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.data())
def test_how_a_stream_is_cut_into_pushes_is_invisible(times: list[int], data) -> None:
    """Late tuples, and the net changes of a window, depend on the tuples alone."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(times)))))
    tuples = [{"ts": ts, "k": i} for i, ts in enumerate(times)]
    told = []
    for bounds in ([0, len(times)], [0, *cuts, len(times)]):
        db = windrow.connect()
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SLACK 4")
        query = db.query("SELECT k FROM s [RANGE 6]")
        net: Counter = Counter()
        for start, stop in pairwise(bounds):
            db.push("s", tuples[start:stop])
            for ts, sign, k in changes(query):
                net[ts, k] += sign
        db.drain()
        for ts, sign, k in changes(query):
            net[ts, k] += sign
        late = [row["k"] for row in db.late("s").to_pylist()]
        told.append(({change: n for change, n in net.items() if n}, late))
    newest = 0
    late = []
    for i, ts in enumerate(times):
        if i and ts < newest - 4:
            late.append(i)
        newest = max(newest, ts)
    assert told[0] == told[1]
    assert told[0][1] == late
    assert sorted(k for (_, k), n in told[0][0].items() if n > 0) == sorted(
        set(range(len(times))) - set(late)
    )


@pytest.fixture
def two() -> Database:
    db = windrow.connect()
    db.execute("""
        CREATE STREAM a (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
        CREATE STREAM b (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
    """)
    return db


JOIN = "SELECT a.k FROM a [RANGE 10] JOIN b [RANGE 10] ON a.k = b.k"


def test_an_idle_stream_holds_the_clock(two: Database) -> None:
    query = two.query(JOIN)
    assert query.stats()["held_back_by"] is None
    two.push("a", [{"ts": 5, "k": 1}])
    assert (query.stats()["held_back_by"], query.stats()["clock"]) == ("b", None)
    two.push("b", [{"ts": 3, "k": 1}])
    assert rows(query) == []
    two.advance(5, stream="B")
    assert (query.stats()["held_back_by"], query.stats()["clock"]) == (None, 5)
    assert rows(query) == [{"k": 1}]


def test_one_stream_is_advanced_by_name(two: Database) -> None:
    alone = two.query("SELECT k FROM a [RANGE 10]")
    both = two.query(JOIN)
    two.push("a", [{"ts": 5, "k": 1}])
    two.push("b", [{"ts": 5, "k": 1}])
    two.advance(20, stream="a")
    assert rows(alone) == []
    assert rows(both) == [{"k": 1}]
    assert both.stats()["held_back_by"] == "b"
    two.advance(20)
    assert rows(both) == []


@pytest.fixture
def clocks() -> Database:
    db = windrow.connect()
    db.execute("""
        CREATE STREAM m (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
        CREATE STREAM t (tick BIGINT, k BIGINT) TIMESTAMP BY tick;
        CREATE RELATION names (k BIGINT, name STRING);
    """)
    return db


def test_two_clocks_do_not_disturb_each_other(clocks: Database) -> None:
    moments = clocks.query("SELECT k FROM m [RANGE 1 MINUTE]")
    ticks = clocks.query("SELECT k FROM t [RANGE 10]")
    clocks.push("m", [{"ts": NOON, "k": 1}])
    clocks.push("t", [{"tick": 5, "k": 2}])
    clocks.advance(14)
    assert (rows(moments), rows(ticks)) == ([{"k": 1}], [{"k": 2}])
    clocks.advance("2026-01-01T12:00:30Z")
    assert (rows(moments), rows(ticks)) == ([{"k": 1}], [{"k": 2}])
    clocks.advance(15)
    clocks.advance(NOON + timedelta(minutes=1))
    assert (rows(moments), rows(ticks)) == ([], [])


def test_draining_two_clocks_ends_each_at_its_own_last_time(clocks: Database) -> None:
    ticks = clocks.query("SELECT k FROM t [RANGE 10]")
    clocks.push("m", [{"ts": NOON, "k": 1}])
    clocks.push("t", [{"tick": 5, "k": 2}])
    clocks.drain()
    assert rows(ticks) == [{"k": 2}]


@pytest.mark.parametrize("early", [True, False])
def test_a_relation_meets_queries_of_both_clocks_when_it_is_pushed(clocks, early: bool) -> None:
    texts = [
        f"SELECT name FROM {s} [RANGE {r}] JOIN names ON {s}.k = names.k"
        for s, r in (("m", "1 MINUTE"), ("t", "10"))
    ]
    queries = [clocks.query(text) for text in texts] if early else []
    clocks.push("m", [{"ts": NOON - timedelta(minutes=5), "k": 0}])
    clocks.push("names", [{"k": 1, "name": "one"}])
    queries = queries or [clocks.query(text) for text in texts]
    clocks.push("m", [{"ts": NOON, "k": 1}])
    clocks.push("t", [{"tick": 5, "k": 1}])
    assert [rows(query) for query in queries] == [[{"name": "one"}]] * 2


def test_two_clocks_do_not_meet_in_one_query(clocks: Database) -> None:
    with pytest.raises(windrow.WindrowError):
        clocks.query("SELECT m.k FROM m [RANGE 10] JOIN t [RANGE 10] ON m.k = t.k")


def test_a_drained_database_takes_nothing_more(db: Database) -> None:
    query = db.query("SELECT COUNT(*) AS n FROM s [RANGE 10 SLIDE 10]")
    db.push("s", [{"ts": 5, "k": 1}])
    db.drain()
    for late in (lambda: db.push("s", ROWS), lambda: db.advance(99)):
        with pytest.raises(InputError, match="has ended"):
            late()
    db.drain()
    assert len(query.changes()) >= 1
