"""Errors in one query: all others are exactly as without it, and it is never silently wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

import windrow
from windrow.core.errors import InputError, RunError, WindrowError
from windrow.core.scheduling import RoundRobin
from windrow.operators.queued import Costs, Processor
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

DECLARATIONS = """
    CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
    CREATE STREAM z (ts BIGINT, k BIGINT) TIMESTAMP BY ts SLACK 2;
    CREATE RELATION r (k BIGINT, w BIGINT);
"""
SOUND = (
    "SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k",
    "SELECT s.k, w FROM s [RANGE 6] JOIN r ON s.k = r.k",
    "SELECT s.k FROM s [RANGE 4], z [ROWS 3] WHERE s.k = z.k",
    "ISTREAM(SELECT DISTINCT k FROM z [RANGE 3])",
    "SELECT SUM(k) AS total FROM s [RANGE 8 SLIDE 4]",
)
TOUCHY = (
    "SELECT touchy(k) AS n FROM s [RANGE 5]",
    "SELECT k, touchy(k) AS n FROM z [RANGE 4] GROUP BY k",
    "SELECT touchy(w) AS n FROM s [RANGE 6] JOIN r ON s.k = r.k",
    "SELECT touchy_undoing(k) AS n FROM s [ROWS 2]",
)
ODD = 13


class Touchy:
    """Counts values, and cannot bear 13."""

    def init(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        if value == ODD:
            raise ZeroDivisionError("13 was added")
        return state + 1

    def result(self, state: int) -> int:
        return state


class TouchyUndoing(Touchy):
    """Cannot bear that 12 is removed."""

    def remove(self, state: int, value: int) -> int:
        if value == ODD - 1:
            raise ZeroDivisionError("12 was removed")
        return state - 1


windrow.register_aggregate("touchy", Touchy, (pa.int64(),), pa.int64())
windrow.register_aggregate("touchy_undoing", TouchyUndoing, (pa.int64(),), pa.int64())


@dataclass
class Reports:
    """Reports of a query, some of which raise."""

    fail_at: frozenset[int] = frozenset()
    seen: list[tuple[object, list]] = field(default_factory=list)

    def __call__(self, at: int, answer: pa.Table) -> None:
        self.seen.append((at, bag(answer)))
        if at in self.fail_at:
            raise KeyError(f"report of {at}")


def bag(table: pa.Table) -> list[tuple]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def opened(processor: bool = False) -> Database:
    db = Database(Processor({"Join": Costs(1.0)}) if processor else None)
    db.execute(DECLARATIONS)
    return db


def feeding(event: tuple) -> Callable[[Database], None]:
    kind, at, k = event
    match kind:
        case "r":
            return lambda db: db.push("r", [{"k": k, "w": k, "_ts": at}])
        case "advance":
            return lambda db: db.advance(at)
        case _:
            return lambda db: db.push(kind, [{"ts": at, "k": k}])


def state(query: QueryHandle, reports: Reports | None) -> tuple:
    answer = None
    if not query._db.running(query.name).is_stream:
        answer = bag(query.answer())
    changes = Counter(tuple(row.values()) for row in query.changes().to_pylist())
    return answer, changes, None if reports is None else reports.seen


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["s", "s", "s", "z", "z", "r", "advance"]),
        st.integers(0, 3),
        st.sampled_from([1, 2, ODD - 1, ODD]),
    ),
    max_size=14,
)


@examples(12)
@given(
    EVENTS,
    st.permutations([*SOUND[:4], *TOUCHY[:2], SOUND[4], *TOUCHY[2:]]),
    st.frozensets(st.integers(0, 40), max_size=15),
    st.booleans(),
)
def test_others_are_as_without_the_errors(
    events: list[tuple], texts: list[str], fail_at: frozenset[int], processor: bool
) -> None:
    """Each step is taken by a database with errors, and by one with the sound queries alone."""
    db, calm = opened(processor), opened(processor)
    queries = {text: db.query(text) for text in texts}
    right = {text: calm.query(text) for text in texts if text in SOUND}
    wild, tame = {}, {}
    for text in SOUND[:3]:
        wild[text], tame[text] = Reports(fail_at), Reports()
        queries[text].report(every=2, to=wild[text])
        right[text].report(every=2, to=tame[text])
    at, steps = 0, []
    for kind, gap, k in events:
        at += gap
        steps.append(feeding((kind, at, k)))
    raised = 0
    for step in [*steps, lambda db: db.advance(at + 9), Database.drain]:
        step(calm)
        try:
            step(db)
        except (KeyError, ZeroDivisionError):
            raised += 1
        for text, query in right.items():
            assert state(queries[text], wild.get(text)) == state(query, tame.get(text))
    missed = sum(1 for reports in wild.values() for at, _ in reports.seen if at in fail_at)
    failed = [q for text, q in queries.items() if text in TOUCHY and q.stats()["failure"]]
    assert (raised > 0) == (missed > 0 or bool(failed)), "an error comes out of a call, and once"
    for query in failed:
        with pytest.raises(RunError, match="has failed"):
            query.answer()


def test_the_first_error_is_raised_and_has_the_others_as_notes() -> None:
    db = opened()
    for text in (TOUCHY[0], SOUND[0], TOUCHY[3]):
        db.query(text)
    db.query(SOUND[0]).report(every=1, to=Reports(frozenset({4})))
    with pytest.raises(ZeroDivisionError, match="13 was added") as caught:
        db.push("s", [{"ts": 4, "k": 1}, {"ts": 5, "k": ODD}])
    notes = "\n".join(caught.value.__notes__)
    assert 'query "query_1" has failed' in notes
    assert 'query "query_3" raised as well: ZeroDivisionError: 13 was added' in notes
    assert "query \"query_4\" raised as well: KeyError: 'report of 4'" in notes
    db.push("s", [{"ts": 6, "k": 1}])  # nothing raises again


def test_a_failed_query_gives_what_it_emitted_before_and_is_refused_then() -> None:
    db = opened()
    query = db.query(TOUCHY[0], name="q")
    db.push("s", [{"ts": 1, "k": 1}])
    saved = query.snapshot()
    with pytest.raises(ZeroDivisionError):
        db.push("s", [{"ts": 2, "k": ODD}])
    assert query.stats()["failure"] == "ZeroDivisionError: 13 was added"
    assert len(query.changes()) == 1
    assert "Aggregate" in query.explain()
    uses = (
        query.changes,
        query.answer,
        query.snapshot,
        query.reoptimize,
        lambda: query.report(every=2, to=print),
    )
    for use in uses:
        with pytest.raises(RunError, match="stopped in the midst of a step by ZeroDivisionError"):
            use()
    query.restore(saved)
    assert query.answer().to_pylist() == [{"n": 1}]
    db.push("s", [{"ts": 3, "k": 2}])
    assert query.answer().to_pylist() == [{"n": 2}]
    db.execute("DROP QUERY q")


def test_a_missed_report_is_not_made_again_and_changes_are_kept() -> None:
    db = opened()
    query = db.query(SOUND[0])
    reports = Reports(frozenset({2, 6}))
    query.report(every=2, to=reports)
    with pytest.raises(KeyError, match="report of 2") as caught:
        db.push("s", [{"ts": t, "k": 1} for t in (1, 9)])
    assert [at for at, _ in reports.seen] == [2, 4, 6, 8]
    assert any("report of 6" in note for note in caught.value.__notes__)
    assert [row["_ts"] for row in query.changes().to_pylist()] == [1, 6, 9]


def test_an_interrupt_goes_before_errors_and_others_get_their_rows() -> None:
    class Interrupted(Reports):
        def __call__(self, at: int, answer: pa.Table) -> None:
            raise KeyboardInterrupt

    db = opened()
    db.query(TOUCHY[0])
    db.query(SOUND[0]).report(every=1, to=Interrupted())
    last = db.query(SOUND[0])
    with pytest.raises(KeyboardInterrupt):
        db.push("s", [{"ts": 4, "k": 1}, {"ts": 5, "k": ODD}])
    assert len(last.answer()) == 2


def test_a_report_may_push_register_and_drop() -> None:
    """What a function does to the database comes after the rows that it reports of."""
    db = opened()
    first = db.query(SOUND[0], name="first")
    second = db.query("SELECT k FROM s [ROWS 9]", name="second")
    dropped = db.query(SOUND[0], name="dropped")
    dropped.report(every=1, to=lambda at, answer: pytest.fail("it was dropped"))

    def react(at: int, answer: pa.Table) -> None:
        if at == 4:
            db.execute("DROP QUERY dropped")
            db.push("s", [{"ts": 7, "k": 7}])
            db.query(SOUND[0], name="third")

    first.report(every=4, to=react)
    for ts in (4, 5, 8):
        db.push("s", [{"ts": ts, "k": ts}])
    assert second.answer().to_pylist() == [{"k": k} for k in (4, 5, 7, 8)]
    assert [row["_ts"] for row in second.changes().to_pylist()] == [4, 5, 7, 8]
    assert db.query("third").stats()["clock"] == 8


def test_rows_that_are_refused_reach_no_query() -> None:
    db = opened()
    queries = [db.query(text) for text in SOUND]
    bad = [
        ("s", [{"ts": 1, "nothing": 2}]),
        ("s", 5),
        ("r", [{"k": 1, "_sign": 7, "_ts": 3}]),
        ("r", [{"k": 1, "_sign": 7}, {"k": "one"}]),
    ]
    for name, rows in bad:
        with pytest.raises(InputError):
            db.push(name, rows)
    assert all(q.stats()["clock"] is None for q in queries)
    assert len(db.rejected("r")) == 0, "nothing of a push that is refused is kept"


class Moody(RoundRobin):
    """A scheduler that gives up after some turns."""

    turns = 3

    def choose(self, *args: object) -> object:
        self.turns -= 1
        if self.turns < 0:
            raise LookupError("no turn left")
        return super().choose(*args)


def test_a_scheduler_that_raises_stops_its_query_alone() -> None:
    db = Database(Processor({"Join": Costs(1.0)}, scheduler=Moody()))
    db.execute(DECLARATIONS)
    query = db.query(SOUND[1])
    with pytest.raises(LookupError):
        db.push("s", [{"ts": ts, "k": 1} for ts in range(9)])
    with pytest.raises(WindrowError, match="no turn left"):
        query.answer()
