"""Periodic reports: as of every multiple of a period, exactly, and what they leave alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.drive import read
from tests.unit.expiry_stories import APPROACHES, DECLARATIONS

from windrow.core.errors import BindError, InputError, SemanticError
from windrow.operators.queued import Costs, Processor
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

COUNT = "SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k"

QUERIES = (
    COUNT,
    "SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM r [RANGE 7]",
    "SELECT k, v FROM s [RANGE 6 SLIDE 3]",
    "SELECT COUNT(*) FROM (ISTREAM(SELECT DISTINCT k FROM s [RANGE 3])) [RANGE 4] AS z",
    "SELECT k FROM s [RANGE 9] ORDER BY v DESC, k LIMIT 2",
)

Seen = list[tuple[object, list[tuple]]]


def opened(text: str, **how: object) -> tuple[Database, QueryHandle]:
    db = Database(how.pop("processor", None))  # type: ignore[arg-type]
    db.execute(DECLARATIONS)
    return db, db.query(text, name="q", **how)  # type: ignore[arg-type]


def rows(table: pa.Table) -> list[tuple]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def reported(query: QueryHandle, every: object) -> Seen:
    """Return a list that fills with what is reported."""
    seen: Seen = []
    query.report(every=every, to=lambda at, table: seen.append((at, rows(table))))
    return seen


def push(db: Database, ts: int, k: int = 7, stream: str = "s") -> None:
    db.push(stream, [{"ts": ts, "k": k, "v": ts}])


def test_a_report_is_made_once_its_instant_is_over() -> None:
    db, query = opened(COUNT)
    seen = reported(query, 5)
    push(db, 3)
    push(db, 5)
    assert seen == [], "more may come at 5"
    push(db, 5, k=8)
    push(db, 6)
    assert seen == [(5, [(7, 2), (8, 1)])]


def test_a_jump_over_several_reports_each_as_it_was() -> None:
    db, query = opened(COUNT)
    seen = reported(query, 2)
    db.push("s", [{"ts": t, "k": 7, "v": 0} for t in (1, 2, 4, 11)])
    db.advance(15)
    counts = [(2, 2), (4, 3), (6, 2), (8, 1), (10, 0), (12, 1), (14, 1)]
    assert seen == [(at, [(7, n)] if n else []) for at, n in counts]


def test_the_end_reports_the_last_instant() -> None:
    db, query = opened(COUNT)
    seen = reported(query, 5)
    push(db, 10)
    assert seen == []
    db.drain()
    assert seen == [(10, [(7, 1)])]


def test_who_comes_later_starts_from_the_answer_then() -> None:
    db, query = opened(COUNT)
    push(db, 1)
    push(db, 4)
    query.changes()
    seen = reported(query, 3)
    db.advance(10)
    assert seen == [(6, [(7, 1)]), (9, [])]


def test_changes_are_not_eaten() -> None:
    plain, watched = opened(COUNT), opened(COUNT)
    reported(watched[1], 2)
    for db, _ in (plain, watched):
        push(db, 1)
        db.advance(9)
    assert read(watched[1].changes()) == read(plain[1].changes())


def test_it_stops_when_told_also_by_what_it_calls() -> None:
    db, query = opened(COUNT)
    seen = []
    recipient = query.report(every=1, to=lambda at, _: (seen.append(at), recipient.stop()))
    other = reported(query, 1)
    push(db, 1)
    db.advance(5)
    assert seen == [1]
    assert [at for at, _ in other] == [1, 2, 3, 4]
    db.advance(7)
    assert seen == [1]


def test_what_is_raised_comes_out_and_the_report_is_not_repeated() -> None:
    db, query = opened(COUNT)
    seen = []

    def once(at: object, _: pa.Table) -> None:
        seen.append(at)
        if at == 2:
            raise RuntimeError("no room")

    query.report(every=2, to=once)
    push(db, 1)
    with pytest.raises(RuntimeError, match="no room"):
        db.advance(3)
    db.advance(7)
    assert seen == [2, 4, 6]


def test_a_hand_over_and_a_restored_snapshot_go_on() -> None:
    db, query = opened(COUNT)
    seen = reported(query, 2)
    push(db, 1)
    query.reoptimize("direct")
    db.advance(3)
    saved = query.snapshot()
    push(db, 4, k=9)
    db.advance(5)
    assert seen == [(2, [(7, 1)]), (4, [(7, 1), (9, 1)])]
    query.restore(saved)
    db.advance(7)
    assert seen[2:] == [(4, [(7, 1)]), (6, [])]


def test_text_that_a_report_still_needs_is_not_forgotten() -> None:
    db = Database()
    db.execute("CREATE STREAM t (ts BIGINT, name STRING) TIMESTAMP BY ts")
    query = db.query("SELECT name FROM t [RANGE 3]")
    seen = reported(query, 10)
    db.push("t", [{"ts": t, "name": f"n{t}"} for t in range(8, 12)])
    query.changes()
    db.running(query.name)._sweep()
    db.advance(21)
    assert seen == [(10, [("n10",), ("n8",), ("n9",)]), (20, [])]


def test_instants_of_timestamps_are_datetimes() -> None:
    db = Database()
    db.execute("CREATE STREAM t (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    query = db.query("SELECT k FROM t [RANGE 10 SECONDS]")
    seen = reported(query, "10 seconds")
    db.push("t", [{"ts": "2026-01-01T12:00:03Z", "k": 1}, {"ts": "2026-01-01T12:00:14Z", "k": 2}])
    assert seen == [(datetime(2026, 1, 1, 12, 0, 10, tzinfo=UTC), [(1,)])]


@pytest.mark.parametrize("every", ["soon", 0, -1, None, "2 seconds", "0.5"])
def test_what_is_no_period(every: object) -> None:
    _, query = opened(COUNT)
    with pytest.raises((InputError, BindError), match=r"no period|integer clock|every must be"):
        query.report(every=every, to=print)


def test_a_stream_has_no_answer_to_report() -> None:
    _, query = opened(f"ISTREAM({COUNT})")
    with pytest.raises(SemanticError, match="no current answer"):
        query.report(every=2, to=print)


@given(
    st.sampled_from(QUERIES),
    st.sampled_from((None, *APPROACHES)),
    st.integers(1, 7),
    st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from("srrs-"), st.integers(1, 3)), max_size=12
    ),
)
@settings(max_examples=25, deadline=None)
def test_a_report_is_the_answer_at_its_instant(
    text: str, approach: str | None, period: int, events: list[tuple[int, str, int]]
) -> None:
    """Asked for beforehand of a query to which nothing else has come: the definition."""
    how = {} if approach is None else APPROACHES[approach]
    db, query = opened(text, **how)
    seen = reported(query, period)
    history, ts = [], 1
    for gap, stream, k in [*events, (3 * period, "s", 1)]:
        ts += gap
        if stream != "-":
            history.append((ts, stream, k))
            push(db, ts, k, stream)
        db.advance(ts)
    db.drain()
    start = next(when for when, stream, _ in history if f"{stream} [" in text)
    multiples = range(-(-start // period) * period, ts + 1, period)
    assert [at for at, _ in seen] == list(multiples)
    if approach == "input_triggered":
        return  # what was told by then, which another test tells exactly
    for at, answer in seen:
        truth, right = opened(text)
        for when, stream, k in history:
            if when <= at:
                push(truth, when, k, stream)
        truth.advance(at + 1)
        truth.drain()
        changes = [c for c in read(right.changes()) if c[0] <= at]
        bag = {}
        for _, sign, row in changes:
            bag[row] = bag.get(row, 0) + sign
        assert answer == sorted(row for row, n in bag.items() for _ in range(n))


def test_who_waits_for_tuples_reports_what_was_told() -> None:
    db, query = opened("SELECT COUNT(*) FROM s [RANGE 5]", expiry="input_triggered")
    seen = reported(query, 3)
    for ts in (1, 2):
        push(db, ts)
    db.advance(10)
    push(db, 13)
    db.advance(16)
    assert seen == [(3, [(2,)]), (6, [(2,)]), (9, [(2,)]), (12, [(0,)]), (15, [(1,)])]


def test_on_a_processor_a_report_has_what_is_done() -> None:
    processor = Processor({"Expire": Costs(3.0)})
    db, query = opened("SELECT k FROM s [RANGE 50]", processor=processor)
    seen = reported(query, 2)
    for ts in (0, 1, 2):
        push(db, ts, k=ts)
    for ts in range(3, 12):
        db.advance(ts)
    told = {0: 0, 2: 1, 4: 1, 6: 2, 8: 3, 10: 3}
    assert seen == [(at, [(k,) for k in range(n)]) for at, n in told.items()]
