"""Relations and queries of the engine: how they come, change and go."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pyarrow as pa
import pytest

import windrow
from windrow.core.errors import BindError, InputError, SemanticError, StateError
from windrow.operators.aggregate.user_defined import REGISTERED
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.plan.functions import AGGREGATES
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

ROWS = [{"ts": 1, "k": 7, "s": "a"}, {"ts": 2, "k": None, "s": "b"}]


@pytest.fixture
def db() -> Database:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, s STRING) TIMESTAMP BY ts")
    return db


def rows(query: QueryHandle) -> list[dict]:
    return query.answer().to_pylist()


def changes(query: QueryHandle) -> list[tuple]:
    return [tuple(row.values()) for row in query.changes().to_pylist()]


@pytest.fixture
def moments() -> Database:
    db = windrow.connect()
    db.execute("CREATE STREAM m (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    return db


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# -- relations ---------------------------------------------------------------------------------


@pytest.fixture
def shop() -> Database:
    db = windrow.connect()
    db.execute("""
        CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
        CREATE RELATION owners (k BIGINT, owner STRING, PRIMARY KEY (k));
        CREATE RELATION bag (k BIGINT, word STRING);
        CREATE NON RETROACTIVE RELATION prices (k BIGINT, price BIGINT, PRIMARY KEY (k));
    """)
    return db


OWNED = "SELECT s.k, owner FROM s [RANGE 100] JOIN owners ON s.k = owners.k"


def test_a_relation_alone_is_answered_before_any_stream_begins(shop: Database) -> None:
    query = shop.query("SELECT * FROM bag")
    total = shop.query("SELECT COUNT(*) AS n FROM bag")
    shop.push("bag", [{"k": 1, "word": "a"}])
    late = shop.query("SELECT word FROM bag")
    assert rows(query) == [{"k": 1, "word": "a"}]
    assert (rows(total), rows(late)) == ([{"n": 1}], [{"word": "a"}])
    shop.push("bag", [{"k": 1, "word": "a", "_sign": -1}])
    assert (rows(query), rows(total)) == ([], [{"n": 0}])


def test_a_row_replaces_the_row_of_its_key(shop: Database) -> None:
    query = shop.query(OWNED)
    shop.push("owners", [{"k": 1, "owner": "ada"}, {"k": 2, "owner": "bob"}])
    shop.push("s", [{"ts": 5, "k": 1}])
    assert rows(query) == [{"k": 1, "owner": "ada"}]
    shop.push("owners", [{"k": 1, "owner": "eve"}])
    assert rows(query) == [{"k": 1, "owner": "eve"}]
    shop.push("owners", [{"k": 1, "owner": None, "_sign": -1}])
    shop.push("owners", [{"k": 9, "owner": None, "_sign": -1}])
    assert rows(query) == []


def test_a_relation_may_be_told_of_its_future_in_any_order(shop: Database) -> None:
    query = shop.query("SELECT s.k, word FROM s [RANGE 100] JOIN bag ON s.k = bag.k")
    shop.push("s", [{"ts": 5, "k": 1}])
    shop.push("bag", [{"k": 1, "word": "later", "_ts": 30}])
    shop.push("bag", [{"k": 1, "word": "soon", "_ts": 20}])
    shop.push("bag", [{"k": 1, "word": "now"}])
    seen = []
    for at in (5, 20, 30):
        shop.advance(at)
        seen.append(sorted(row["word"] for row in rows(query)))
    assert seen == [["now"], ["now", "soon"], ["later", "now", "soon"]]


def test_a_key_does_not_go_back_in_time(shop: Database) -> None:
    query = shop.query(OWNED)
    shop.push("s", [{"ts": 5, "k": 1}])
    shop.push("owners", [{"k": 1, "owner": "future", "_ts": 30}])
    shop.push("owners", [{"k": 1, "owner": "now"}])
    (rejected,) = shop.rejected("owners").to_pylist()
    reason = "its key has changed at a later time"
    assert (rejected["_reason"], rejected["owner"]) == (reason, "now")
    shop.advance(30)
    assert rows(query) == [{"k": 1, "owner": "future"}]


def test_a_key_that_has_ended_does_not_go_back_in_time(shop: Database) -> None:
    query = shop.query(OWNED)
    shop.push("s", [{"ts": 5, "k": 1}])
    shop.push("owners", [{"k": 1, "owner": "ada", "_ts": 6}])
    shop.push("owners", [{"k": 1, "owner": None, "_ts": 9, "_sign": -1}])
    shop.push("owners", [{"k": 1, "owner": "eve", "_ts": 7}])
    assert [row["owner"] for row in shop.rejected("owners").to_pylist()] == ["eve"]
    shop.push("owners", [{"k": 1, "owner": "joe", "_ts": 12}])
    seen = []
    for at in (6, 9, 12):
        shop.advance(at)
        seen.append([row["owner"] for row in rows(query)])
    assert seen == [["ada"], [], ["joe"]]


def test_zero_is_one_key_whatever_its_sign(shop: Database) -> None:
    shop.execute("CREATE RELATION rates (x DOUBLE PRIMARY KEY, name STRING)")
    query = shop.query("SELECT name FROM rates")
    shop.push("rates", [{"x": 0.0, "name": "old"}, {"x": -0.0, "name": "new"}])
    assert rows(query) == [{"name": "new"}]


def test_a_row_that_is_not_there_cannot_be_deleted(shop: Database) -> None:
    query = shop.query("SELECT word FROM bag")
    twice = [{"k": 1, "word": "a"}] * 2
    shop.push("bag", twice)
    gone = {"k": 1, "word": "a", "_sign": -1}
    shop.push("bag", [gone, gone, gone, {"k": 2, "word": None, "_sign": -1}])
    assert rows(query) == []
    assert shop.rejected("bag").to_pylist() == [
        {"_reason": "there is no such row to delete", "k": "1", "word": "a"},
        {"_reason": "there is no such row to delete", "k": "2", "word": None},
    ]
    shop.push("bag", [{"k": 1, "word": "a"}])
    assert rows(query) == [{"word": "a"}]


def test_a_row_is_not_deleted_before_it_is_there(shop: Database) -> None:
    query = shop.query("SELECT s.k, word FROM s [RANGE 100] JOIN bag ON s.k = bag.k")
    shop.push("s", [{"ts": 5, "k": 1}])
    shop.push("bag", [{"k": 1, "word": "a", "_ts": 30}])
    shop.push("bag", [{"k": 1, "word": "a", "_ts": 20, "_sign": -1}])
    assert len(shop.rejected("bag")) == 1
    shop.push("bag", [{"k": 1, "word": "a", "_ts": 40, "_sign": -1}])
    shop.advance(30)
    assert rows(query) == [{"k": 1, "word": "a"}]
    shop.advance(40)
    assert rows(query) == []


def test_a_sign_is_one_way_or_the_other(shop: Database) -> None:
    with pytest.raises(InputError, match="must be 1 or -1"):
        shop.push("bag", [{"k": 1, "word": "a", "_sign": 2}])


def test_updates_of_an_nrr_do_not_reach_back(shop: Database) -> None:
    query = shop.query("SELECT s.ts, price FROM s [RANGE 100] JOIN prices ON s.k = prices.k")
    shop.push("prices", [{"k": 1, "price": 2}])
    shop.push("s", [{"ts": 8, "k": 1}])
    shop.push("prices", [{"k": 1, "price": 3, "_ts": 10}])
    shop.push("s", [{"ts": 10, "k": 1}])
    assert rows(query) == [{"ts": 8, "price": 2}, {"ts": 10, "price": 3}]


def test_times_of_a_relation_may_be_moments(moments: Database) -> None:
    moments.execute("CREATE RELATION r (k BIGINT, w STRING)")
    query = moments.query("SELECT w FROM m [RANGE 1 HOUR] JOIN r ON m.k = r.k")
    moments.push("m", [{"ts": NOON, "k": 1}])
    moments.push(
        "r", [{"k": 1, "w": "x", "_ts": "2026-01-01T12:00:10Z"}, {"k": 1, "w": "y", "_ts": None}]
    )
    moments.push("r", pa.table({"k": [1], "w": ["z"], "_ts": [NOON + timedelta(seconds=20)]}))
    seen = []
    for seconds in (0, 10, 20):
        moments.advance(NOON + timedelta(seconds=seconds))
        seen.append(sorted(row["w"] for row in rows(query)))
    assert seen == [["y"], ["x", "y"], ["x", "y", "z"]]


def test_a_relation_has_no_heartbeat(shop: Database) -> None:
    with pytest.raises(InputError, match="no heartbeat"):
        shop.advance(5, stream="bag")


def test_a_change_behind_the_clock_is_late_and_changes_nothing(shop: Database) -> None:
    """The issue: "it is late: count it and show it as late rows are shown"."""
    query = shop.query("SELECT s.k, word FROM s [RANGE 100] JOIN bag ON s.k = bag.k")
    shop.push("bag", [{"k": 1, "word": "early", "_ts": 3}])
    shop.push("s", [{"ts": 10, "k": 1}])
    shop.push("bag", [{"k": 1, "word": "late", "_ts": 9}, {"k": 1, "word": "now", "_ts": 10}])
    shop.push("bag", [{"k": 1, "word": "early", "_ts": 5, "_sign": -1}])
    shop.push("bag", [{"k": 1, "word": "untimed"}])
    assert sorted(row["word"] for row in rows(query)) == ["early", "now", "untimed"]
    assert shop.late("bag").to_pylist() == [
        {"_ts": 9, "_sign": 1, "k": 1, "word": "late"},
        {"_ts": 5, "_sign": -1, "k": 1, "word": "early"},
    ]
    stats = query.stats()
    assert (stats["late"], stats["late_by_relation"]) == (2, {"bag": 2})
    assert len(shop.rejected("bag")) == 0


def test_a_change_is_not_late_if_nobody_has_looked(shop: Database) -> None:
    shop.push("s", [{"ts": 10, "k": 1}])
    shop.push("bag", [{"k": 1, "word": "a", "_ts": 3}])
    assert (len(shop.late("bag")), shop.late("bag").column_names[:2]) == (0, ["_ts", "_sign"])
    query = shop.query("SELECT word FROM bag")
    assert rows(query) == [{"word": "a"}]
    shop.execute(f"DROP QUERY {query.name}")
    shop.push("bag", [{"k": 2, "word": "b", "_ts": 4}])
    assert len(shop.late("bag")) == 1, "the query had answered for 4 before it was dropped"


def test_a_late_row_of_a_key_is_late_and_not_rejected(shop: Database) -> None:
    query = shop.query(OWNED)
    shop.push("owners", [{"k": 1, "owner": "ada", "_ts": 8}])
    shop.push("s", [{"ts": 10, "k": 1}])
    shop.push("owners", [{"k": 1, "owner": "eve", "_ts": 7}, {"k": 2, "owner": "bob", "_ts": 9}])
    assert (len(shop.late("owners")), len(shop.rejected("owners"))) == (2, 0)
    assert rows(query) == [{"k": 1, "owner": "ada"}]


def test_a_new_query_sees_rows_with_times_at_once(shop: Database) -> None:
    shop.push("s", [{"ts": 10, "k": 1}])
    shop.push("bag", [{"k": n, "word": "a", "_ts": n} for n in (1, 2, 3, 20)])
    query = shop.query("SELECT COUNT(*) AS n FROM bag")
    assert rows(query) == [{"n": 3}]
    shop.advance(20)
    assert [tuple(row.values())[1:] for row in query.changes().to_pylist()] == [
        (1, 3),
        (-1, 3),
        (1, 4),
    ]


def test_a_view_of_relations_alone_is_kept_and_not_made_anew(shop: Database) -> None:
    query = shop.query("SELECT k, COUNT(*) AS n FROM bag GROUP BY k")
    for word in "ab":
        shop.push("bag", [{"k": 1, "word": word}])
    told = [(row["_sign"], row["n"]) for row in query.changes().to_pylist()]
    assert told in ([(1, 1), (-1, 1), (1, 2)], [(1, 2)])
    shop.push("bag", [{"k": 1, "word": "a", "_sign": -1}])
    changes = query.changes().to_pylist()
    assert [(row["_sign"], row["n"]) for row in changes] == [(-1, 2), (1, 1)]
    assert query.stats()["operators"][0]["tuples_in"] == 3
    shop.advance(7)
    shop.push("bag", [{"k": 1, "word": "c"}])
    assert {row["_ts"] for row in query.changes().to_pylist()} == {
        EPOCH + timedelta(microseconds=7)
    }


def test_without_streams_rows_without_times_take_effect_after_those_with() -> None:
    db = windrow.connect()
    db.execute("CREATE RELATION r (k BIGINT PRIMARY KEY, w STRING)")
    query = db.query("SELECT w FROM r")
    db.push("r", [{"k": 1, "w": "a", "_ts": 5}])
    db.push("r", [{"k": 1, "w": "b"}])
    assert rows(query) == [{"w": "b"}]
    db.push("r", [{"k": 1, "w": "c", "_ts": 4}])
    assert (rows(query), len(db.late("r")), len(db.rejected("r"))) == ([{"w": "b"}], 1, 0)


# -- queries come and go -----------------------------------------------------------------------


def test_a_query_that_comes_late_starts_empty(db: Database) -> None:
    db.push("s", [{"ts": 1, "k": 1}])
    query = db.query("SELECT k FROM s [RANGE 10]")
    total = db.query("SELECT COUNT(*) AS n FROM s [RANGE 10]")
    assert (rows(query), rows(total)) == ([], []), "a query begins with its first event"
    db.push("s", [{"ts": 2, "k": 2}])
    assert (rows(query), rows(total)) == ([{"k": 2}], [{"n": 1}])


def test_a_dropped_query_cannot_be_read_and_its_name_is_free(db: Database) -> None:
    query = db.query("SELECT k FROM s [RANGE 10]", name="q")
    with pytest.raises(BindError, match='"q" exists already'):
        db.query("SELECT k FROM s [RANGE 10]", name="q")
    with pytest.raises(BindError, match='"s" exists already'):
        db.query("SELECT k FROM s [RANGE 10]", name="s")
    db.execute("DROP QUERY q")
    with pytest.raises(InputError, match="has been dropped"):
        query.answer()
    assert rows(db.query("SELECT k FROM s [RANGE 10]", name="q")) == []


def test_a_query_that_exists_goes_on_where_it_is(db: Database) -> None:
    db.execute("CREATE QUERY q AS SELECT k FROM s [RANGE 10]")
    db.push("s", [{"ts": 1, "k": 1}])
    db.execute("CREATE QUERY IF NOT EXISTS q AS SELECT k FROM s [RANGE 10]")
    assert rows(db.query("q")) == [{"k": 1}]
    db.execute("CREATE OR REPLACE QUERY q AS SELECT k FROM s [RANGE 10]")
    assert rows(db.query("Q")) == []


def test_a_query_with_an_unknown_strategy_is_not_registered(db: Database) -> None:
    with pytest.raises(BindError, match='unknown strategy "best"'):
        db.query("SELECT k FROM s [RANGE 10]", strategy="best", name="q")
    assert db.query("SELECT k FROM s [RANGE 10]", name="q").name == "q"


def test_an_input_that_is_read_cannot_be_dropped(db: Database) -> None:
    query = db.query("SELECT k FROM s [RANGE 10]", name="q")
    with pytest.raises(BindError, match='"s" is read by q'):
        db.execute("DROP STREAM S")
    db.push("s", [{"ts": 1, "k": 1}])
    assert rows(query) == [{"k": 1}]
    db.execute("DROP QUERY q; DROP STREAM s")
    db.execute("CREATE STREAM s (ts TIMESTAMP, other STRING) TIMESTAMP BY ts")
    fresh = db.query("SELECT other FROM s [RANGE 10]")
    db.push("s", [{"ts": NOON, "other": "x"}])
    assert rows(fresh) == [{"other": "x"}]


def test_a_closed_database_says_so(db: Database) -> None:
    with db:
        query = db.query("SELECT k FROM s [RANGE 10]")
    for use in (
        query.answer,
        query.changes,
        lambda: db.push("s", ROWS),
        lambda: db.advance(5),
        lambda: db.execute("SHOW STREAMS"),
        lambda: db.query("SELECT k FROM s [NOW]"),
    ):
        with pytest.raises(InputError, match="is closed"):
            use()


def test_an_answer_of_the_past_is_refused_and_of_the_future_is_told(db: Database) -> None:
    query = db.query("SELECT k FROM s [RANGE 10]")
    db.push("s", [{"ts": 5, "k": 1}])
    assert len(query.answer(at=14)) == 1
    assert len(query.answer(at=15)) == 0
    assert len(query.answer()) == 1
    with pytest.raises(InputError, match="has passed"):
        query.answer(at=4)
    stream = db.query("ISTREAM(SELECT k FROM s [RANGE 10])")
    with pytest.raises(SemanticError, match="no current answer"):
        stream.answer()


# -- snapshots ---------------------------------------------------------------------------------

JOINED = "SELECT a.k, owner FROM a [RANGE 10] JOIN owners ON a.k = owners.k"


def opened(text: str = JOINED) -> tuple[Database, QueryHandle]:
    db = windrow.connect()
    db.execute("""
        CREATE STREAM a (ts BIGINT, k BIGINT) TIMESTAMP BY ts SLACK 2;
        CREATE RELATION owners (k BIGINT, owner STRING, PRIMARY KEY (k));
    """)
    db.push("owners", [{"k": 1, "owner": "ada"}])
    return db, db.query(text)


def test_a_query_goes_on_from_its_snapshot() -> None:
    db, query = opened()
    db.push("a", [{"ts": 3, "k": 1}, {"ts": 6, "k": 1}])
    saved = query.snapshot()
    again, other = opened()
    other.restore(saved)
    assert (rows(other), rows(query)) == ([{"k": 1, "owner": "ada"}],) * 2
    again.push("a", [{"ts": 3, "k": 1}, {"ts": 6, "k": 1}])  # one is late now, one was held back
    assert len(again.late("a")) == 1
    for each in (db, again):
        each.push("owners", [{"k": 1, "owner": "eve"}])
        each.advance(13)
    assert rows(other) == rows(query) == [{"k": 1, "owner": "eve"}]
    assert changes(other)[-2:] == changes(query)[-2:]


def test_an_older_snapshot_takes_the_query_back_and_not_its_streams() -> None:
    """In a new database the streams, too, are as they were then."""
    first, again = Database(), Database()
    for db in (first, again):
        db.execute("CREATE STREAM s (t BIGINT, k BIGINT) TIMESTAMP BY t")
    text = "SELECT COUNT(*) AS n FROM s [RANGE 100]"
    query = first.query(text)
    first.push("s", [{"t": 1, "k": 1}])
    saved = query.snapshot()
    between = [{"t": 5, "k": 1}, {"t": 10, "k": 1}]
    first.push("s", between)
    query.restore(saved)
    assert query.answer().to_pylist() == [{"n": 1}]
    first.push("s", between)
    assert first.late("s")["t"].to_pylist() == [5]
    assert query.answer().to_pylist() == [{"n": 2}]

    back = again.query(text)
    back.restore(saved)
    again.push("s", between)
    assert again.late("s").num_rows == 0
    assert back.answer().to_pylist() == [{"n": 3}]


def test_a_snapshot_of_another_query_is_refused() -> None:
    _, query = opened()
    _, other = opened("SELECT k FROM a [ROWS 2]")
    with pytest.raises(StateError, match="does not belong"):
        other.restore(query.snapshot())
    for nonsense in (b"", b"nonsense", query.snapshot()[:-70]):
        with pytest.raises(StateError):
            query.restore(nonsense)


def test_a_snapshot_of_another_plan_of_the_query_says_so() -> None:
    """Another version of windrow may make another plan of one text; old ones kept no text."""
    _, query = opened()
    saved = from_bytes(query.snapshot())
    state = saved["query"]
    assert isinstance(state, dict)
    state["plan"] = "Join|of old|('k',)|()"
    with pytest.raises(StateError, match="made under another plan") as refused:
        query.restore(to_bytes(saved))
    assert "another version of windrow" in str(refused.value.detail)
    assert "start the query anew" in str(refused.value.hint)
    del state["text"]
    with pytest.raises(StateError, match="does not belong") as refused:
        query.restore(to_bytes(saved))
    assert "or by another windrow" in str(refused.value.detail)


@patch.dict(AGGREGATES)
@patch.dict(REGISTERED)
def test_an_aggregate_of_the_users_own() -> None:
    class Longest:
        def init(self) -> str:
            return ""

        def add(self, state: str, word: str) -> str:
            return max(state, word, key=len)

        def result(self, state: str) -> str:
            return state

    windrow.register_aggregate("longest_word", Longest, (pa.string(),), pa.string())
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, w STRING) TIMESTAMP BY ts")
    query = db.query("SELECT longest_word(w) AS w FROM s [RANGE 10]")
    db.push("s", [{"ts": 1, "w": "sliding"}, {"ts": 5, "w": "sum"}])
    assert rows(query) == [{"w": "sliding"}]
    db.advance(11)
    assert rows(query) == [{"w": "sum"}]


EXPLAINED = "SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k"


def test_explain_returns_the_plan_that_a_query_would_have() -> None:
    db = windrow.connect()
    db.execute("CREATE STREAM s (t BIGINT, k BIGINT) TIMESTAMP BY t")
    text = db.execute(f"EXPLAIN {EXPLAINED}")
    q = db.query(EXPLAINED, name="q")
    assert text is not None
    assert text.partition("\n")[2] == q.explain().partition("\n")[2], "but for the name"
    assert "Aggregate (signed, groups" in text


def test_explain_of_a_name_tells_what_the_query_keeps_now() -> None:
    db = windrow.connect()
    db.execute(
        f"CREATE STREAM s (t BIGINT, k BIGINT) TIMESTAMP BY t; CREATE QUERY q AS {EXPLAINED}"
    )
    db.push("s", [{"t": t, "k": t % 2} for t in range(4)])
    assert db.execute("EXPLAIN Q") == db.query("q").explain()
    assert "rows kept" in str(db.execute("EXPLAIN q"))
    with pytest.raises(BindError, match='unknown query "p"'):
        db.execute("EXPLAIN p")


def test_explain_has_its_other_formats_and_scripts_return_all_that_they_ask_for() -> None:
    db = windrow.connect()
    script = f"CREATE STREAM s (t BIGINT, k BIGINT) TIMESTAMP BY t; CREATE QUERY q AS {EXPLAINED}"
    assert db.execute(script) is None
    assert db.execute("SET strategy = 'negative'") is None
    assert json.loads(str(db.execute("EXPLAIN FORMAT json q")))["query"] == "q"
    assert str(db.execute("EXPLAIN FORMAT dot q")).startswith("digraph")
    assert str(db.execute("EXPLAIN FORMAT mermaid q")).startswith("flowchart")
    both = str(db.execute(f"EXPLAIN q; EXPLAIN {EXPLAINED}"))
    assert "strategy auto" in both
    assert "strategy negative" in both
    assert len(db.session.queries) == 1, "nothing is registered"


@pytest.mark.parametrize("kind", ["RELATION", "NON RETROACTIVE RELATION"])
@pytest.mark.parametrize("filled", [(), ("r",), ("n",), ("r", "n")], ids=str)
@pytest.mark.parametrize("streams", ["", "CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts;"])
def test_of_relations_alone_the_changes_add_up_to_the_answer_from_the_start(
    kind: str, filled: tuple[str, ...], streams: str
) -> None:
    db = windrow.connect()
    db.execute(f"{streams} CREATE RELATION r (k BIGINT); CREATE {kind} n (k BIGINT)")
    for name in filled:
        db.push(name, [{"k": 1}])
    query = db.query("SELECT n.k, c.m FROM (SELECT COUNT(*) AS m FROM r) AS c, n")
    total: Counter[tuple[object, ...]] = Counter()
    for name in (None, "r", "n"):
        if name is not None:
            db.push(name, [{"k": 2}])
        for change in query.changes().to_pylist():
            total[change["k"], change["m"]] += change["_sign"]
        assert +total == Counter((row["k"], row["m"]) for row in rows(query)), name
