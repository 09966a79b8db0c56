"""MAX AHEAD: one wrong date does not advance a stream's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

import windrow
from windrow.core.errors import BindError, InputError, ParseError
from windrow.core.time import UNITS
from windrow.language.parse import parse_statement
from windrow.language.printing import print_statement
from windrow.runtime.local.database import Database

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DECLARATION = (
    "CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts SLACK 1 MINUTE MAX AHEAD 1 HOUR"
)
REASON = "ts is more than 1 HOUR ahead of the wall clock"


def opened(now=lambda: NOON) -> Database:
    db = windrow.connect(now=now)
    db.execute(DECLARATION)
    return db


def test_a_row_too_far_ahead_is_rejected_counted_and_kept() -> None:
    db = opened()
    query = db.query("SELECT k FROM s [RANGE 1 DAY]")
    far = NOON + timedelta(hours=1, microseconds=1)
    db.push("s", [{"ts": far, "k": 1}, {"ts": NOON, "k": 2}, {"ts": "2062-01-01", "k": 3}])
    db.push("s", [{"ts": NOON + timedelta(hours=1), "k": 4}])
    db.push("s", [{"ts": NOON + timedelta(minutes=59, seconds=30), "k": 5}])
    db.drain()
    assert sorted(row["k"] for row in query.answer().to_pylist()) == [2, 4, 5]
    assert [(r["_reason"], r["k"]) for r in db.rejected("s").to_pylist()] == [
        (REASON, "1"),
        (REASON, "3"),
    ]
    stats = query.stats()
    assert (stats["rejected"], stats["rejected_by_input"], stats["late"]) == (2, {"s": 2}, 0)


def test_other_faults_of_a_row_are_named_beside_it() -> None:
    db = opened()
    db.push("s", [{"ts": "2062-01-01", "k": "one"}, {"ts": 2**62, "k": 1}, {"ts": None, "k": 1}])
    assert db.rejected("s")["_reason"].to_pylist() == [
        f"k is not BIGINT; {REASON}",
        "ts is out of range",
        "ts is NULL",
    ]


def test_it_is_off_unless_it_is_said() -> None:
    db = windrow.connect(now=lambda: NOON)
    db.execute("CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    db.push("s", [{"ts": "2062-01-01", "k": 1}])
    assert len(db.rejected("s")) == 0


def test_the_machines_clock_is_the_wall_clock() -> None:
    db = windrow.connect()
    db.execute(DECLARATION)
    now = datetime.now(UTC)
    db.push("s", [{"ts": now + timedelta(minutes=50)}, {"ts": now + timedelta(minutes=70)}])
    assert len(db.rejected("s")) == 1


@examples(40)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 3)), max_size=12),
    st.lists(st.integers(1, 5), min_size=1, max_size=12),
)
def test_what_is_rejected_goes_by_the_clock_at_arrival(rows, cuts) -> None:
    """A row is rejected if its time is after now + max, however pushes are cut at one time."""
    wall = [0]
    hour = UNITS["HOUR"]
    db = windrow.connect(now=lambda: wall[0] * hour)
    db.execute("CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts MAX AHEAD 2 HOURS")
    query = db.query("SELECT k FROM s [UNBOUNDED]")
    wanted, at = [], 0
    for ahead, gap in rows:
        wall[0] += gap
        at = max(at, wall[0] + ahead) if ahead <= 2 else at
        ts = at if ahead <= 2 else wall[0] + ahead
        if ts <= wall[0] + 2:
            wanted.append(ts)
        db.push("s", [{"ts": ts * hour, "k": ts}] * cuts[0])
    assert sorted(r["k"] for r in query.answer().to_pylist()) == sorted(wanted * cuts[0])
    assert len(db.rejected("s")) == (len(rows) - len(wanted)) * cuts[0]


def test_an_integer_clock_has_no_wall_clock() -> None:
    with pytest.raises(BindError, match="its time counts ticks") as caught:
        Database().execute("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts MAX AHEAD 10")
    assert caught.value.span is not None
    assert "leave MAX AHEAD out" in caught.value.hint


@pytest.mark.parametrize("text", ["MAX AHEAD 1 HOUR", "MAX AHEAD 90", "SLACK 2 MAX AHEAD 1 DAY"])
def test_it_prints_as_it_parses(text: str) -> None:
    statement = parse_statement(f"CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts {text}")
    assert statement.max_ahead is not None
    assert parse_statement(print_statement(statement)) == statement


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE RELATION r (k BIGINT) MAX AHEAD 1 HOUR", "a relation has no MAX AHEAD"),
        ("CREATE STREAM s (ts TIMESTAMP) MAX 1 HOUR", "Write MAX AHEAD and a length of time"),
        ("CREATE STREAM s (ts TIMESTAMP) AHEAD 1 HOUR", "Write MAX AHEAD and a length of time"),
        ("CREATE STREAM s (ts TIMESTAMP) MAX AHEAD", "MAX AHEAD"),
        ("CREATE STREAM s (ts TIMESTAMP) MAX AHEAD 1 HOUR MAX AHEAD 2 HOURS", "written twice"),
    ],
)
def test_it_is_refused_where_it_does_not_fit(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_statement(text)


def test_a_wall_clock_is_a_function_of_a_time() -> None:
    with pytest.raises(BindError, match="now is a function"):
        windrow.connect(now=NOON)  # type: ignore[call-overload]
    with pytest.raises(BindError, match="takes no wall clock"):
        windrow.connect("spark", now=lambda: 0)  # type: ignore[call-overload]
    db = opened(now=lambda: "soon")
    with pytest.raises(InputError, match="'soon' is no instant"):
        db.push("s", [{"ts": NOON}])
