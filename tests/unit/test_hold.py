"""Holds: the operator against its equation, what it counts and keeps, and SET hold."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.changelogs import (
    KEY,
    ROW,
    Change,
    Driver,
    answers,
    changes_between,
    delta,
    histories,
    keys,
    net,
    rows,
    signed_changes,
)

from windrow.core.errors import BindError, StateError
from windrow.core.time import FOREVER
from windrow.kernels.holds import WAITING
from windrow.operators.hold import HoldTask
from windrow.operators.interner import Interner
from windrow.plan.session import Session
from windrow.runtime.local.database import Database
from windrow.runtime.spark.database import SparkDatabase

LAST = 90


def held(bags, length):
    """The equation: of a row, the fewest copies of the last `length` instants and of now."""
    found = {}
    for now in bags:
        before = [bags.get(t, Counter()) for t in range(now - length, now + 1)]
        least = {r: min(bag[r] for bag in before) for r in bags[now]}
        found[now] = Counter({r: n for r, n in least.items() if n})
    return found


@pytest.mark.parametrize("row", [keys, rows], ids=["keys", "rows"])
@given(st.data())
def test_a_row_is_told_once_it_has_lasted(row, data):
    schema, interner = (KEY if row is keys else ROW), Interner()
    history = data.draw(histories(row))
    length = data.draw(st.sampled_from((1, 2, 3, 5, 9, 200)))
    tasks = []

    def make():
        tasks.append(HoldTask(schema, length))
        return tasks[-1]

    made = Driver(data.draw, (schema,), interner).run(make, history, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    assert net(got) == changes_between(held(answers(history, LAST), length))
    counted = [t.counters for t in tasks]
    assert sum(c.negatives_out for c in counted) == sum(c.weight < 0 for c in got)
    told = sum(n for n in net(got).values() if n > 0)
    lasted = sum(c.held for c in counted) - sum(c.suppressed for c in counted)
    assert lasted == told + tasks[-1].rows[:, WAITING].sum()


def stepped(task, interner, *steps):
    """Tell of each step, (clock, changes): the changes that come out."""
    told = []
    for clock, *changes in steps:
        out = task.step((delta([Change(*c) for c in changes], KEY, interner),), clock)
        task.check()
        told.append([(c.ts, c.row[0], c.weight) for c in signed_changes(out, interner)])
    return told


A, B = (1,), (2,)


def test_what_leaves_in_time_is_never_told():
    task, interner = HoldTask(KEY, 3), Interner()
    steps = [(1, (1, A)), (3, (3, A, -1)), (4,), (9, (9, A)), (12,), (13, (13, A, -1))]
    assert stepped(task, interner, *steps) == [[], [], [], [], [(12, 1, 1)], [(13, 1, -1)]]
    task.step((delta([], KEY, interner),), 50)
    assert (task.counters.held, task.counters.suppressed) == (2, 1)
    assert task.counters.negatives_out == 1
    assert task.state_rows() == 0


def test_at_the_very_end_of_its_hold_a_row_may_still_leave():
    task, interner = HoldTask(KEY, 3), Interner()
    assert stepped(task, interner, (1, (1, A)), (4, (4, A, -1)), (9,)) == [[], [], []]


def test_an_instant_that_goes_on_is_told_anew():
    """At 4 the row is told, taken back as it leaves, and told again as it comes back at once."""
    task, interner = HoldTask(KEY, 3), Interner()
    told = stepped(task, interner, (1, (1, A)), (4,), (4, (4, A, -1)), (4, (4, A)), (20,))
    assert told == [[], [(4, 1, 1)], [(4, 1, -1)], [(4, 1, 1)], []]


def test_a_row_that_goes_and_comes_at_one_instant_has_lasted():
    task, interner = HoldTask(KEY, 3), Interner()
    told = stepped(task, interner, (1, (1, A)), (2, (2, A, -1)), (2, (2, A)), (9,))
    assert told == [[], [], [], [(4, 1, 1)]]


def test_of_several_copies_the_newest_leave_first():
    task, interner = HoldTask(KEY, 3), Interner()
    steps = [(1, (1, A)), (3, (3, A, 2)), (5, (5, A, -1)), (9,), (9, (9, A, -2))]
    assert stepped(task, interner, *steps) == [
        [], [], [(4, 1, 1)], [(6, 1, 1)], [(9, 1, -2)],
    ]  # fmt: skip


def test_all_is_told_in_one_step_as_in_many():
    task, interner = HoldTask(KEY, 2), Interner()
    told = stepped(task, interner, (9, (1, A), (2, B), (4, B, -1), (5, A, -1), (5, B)))
    assert told == [[(3, 1, 1), (5, 1, -1), (7, 2, 1)]]


def test_a_hold_beyond_the_end_of_time_tells_nothing():
    task, interner = HoldTask(KEY, FOREVER - 1), Interner()
    assert stepped(task, interner, (5, (5, A)), (FOREVER - 1,)) == [[], []]


def test_a_hold_as_long_as_all_time_holds_for_ever(db):
    q = db.query(TICKS, hold=FOREVER - 1)
    for ts in (5, 12, 19):
        db.push("s", [{"ts": ts, "k": 1}])
        db.advance(ts + 1)
        db.running(q.name).check()
    assert q.changes().num_rows == 0


def test_rows_that_no_longer_wait_are_forgotten_and_the_ring_shrinks():
    task, interner = HoldTask(KEY, 5), Interner()
    many = [(t, (t,)) for t in range(2000)]
    stepped(task, interner, (1999, *many))
    assert task.state_rows() == 6
    most = len(task.ring)
    stepped(task, interner, (3000,), (3001, (3001, A)), (3002, (3002, B)))
    assert task.state_rows() == 2
    assert len(task.ring) < most


def test_a_state_goes_on_in_the_midst_of_an_instant():
    task, interner = HoldTask(KEY, 3), Interner()
    stepped(task, interner, (1, (1, A)), (4, (4, B)))
    other = HoldTask(KEY, 3)
    other.load(task.save())
    assert stepped(other, interner, (4, (4, A, -1), (4, B)), (8,)) == [[(4, 1, -1)], [(7, 2, 2)]]


DECLARED = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
CREATE STREAM t (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
CREATE RELATION r (k BIGINT); CREATE RELATION q (k BIGINT);
"""
MINUTES = "SELECT k FROM a [RANGE 1 MINUTE] EXCEPT SELECT k FROM b [RANGE 1 MINUTE]"
TICKS = "SELECT k FROM s [RANGE 9] WHERE NOT EXISTS (SELECT * FROM t [RANGE 9] WHERE t.k = s.k)"
ALONE = "SELECT k FROM r EXCEPT SELECT k FROM q"


def plan(said, text):
    session = Session()
    [*_, query] = session.execute(f"{DECLARED} SET hold = {said}; {text}")
    return query.root


@pytest.mark.parametrize(
    "said, length",
    [
        ("'2 seconds'", 2_000_000),
        ("'500 milliseconds'", 500_000),
        ("'500ms'", 500_000),
        ("2", 2_000_000),
        ("0.25", 250_000),
        ("'1 min'", 60_000_000),
    ],
)
def test_a_length_on_timestamps(said, length):
    assert plan(said, MINUTES).length == length


def test_a_bare_number_is_ticks_on_an_integer_clock():
    assert plan("3", TICKS).source.length == 3
    assert plan("'3'", TICKS).source.length == 3


@pytest.mark.parametrize("said", ["0", "'none'", "none", "'0 seconds'"])
def test_no_hold_changes_nothing(said):
    assert plan(said, TICKS) == plan("'none'", TICKS)
    assert "Hold" not in repr(plan(said, MINUTES))


def test_queries_without_negation_ignore_it():
    assert "Hold" not in repr(plan("'2 seconds'", "SELECT k FROM s [RANGE 9]"))


@pytest.mark.parametrize("said", ["'soon'", "-1", "TRUE", "'2 months'", "'2 seconds ago'", "{a}"])
def test_other_values_are_refused(said):
    with pytest.raises(BindError, match="hold cannot be") as refused:
        plan(said, TICKS)
    assert "how long results of a negation must last" in str(refused.value.detail)
    assert "'2 seconds'" in str(refused.value.hint)


@pytest.mark.parametrize(
    "said, text, message",
    [
        ("'2 seconds'", TICKS, "hold = 2 seconds, but an integer clock has no seconds"),
        ("0.5", TICKS, "hold must be a positive whole number of ticks"),
        ("'0.1 us'", MINUTES, "hold must be a positive whole number of microseconds"),
        ("2", ALONE, "hold = 2 of what"),
    ],
)
def test_lengths_that_the_clock_cannot_tell_are_refused(said, text, message):
    with pytest.raises(BindError, match=message):
        plan(said, text)
    assert plan("'2 seconds'", ALONE).length == 2_000_000


def test_only_the_outermost_negation_is_held():
    text = f"SELECT z.k FROM ({TICKS}) AS z WHERE z.k NOT IN (SELECT k FROM t [RANGE 3])"
    assert repr(plan("3", text)).count("Hold(") == 1
    union = f"{TICKS} UNION ALL SELECT k FROM s [NOW] EXCEPT ALL SELECT k FROM t [NOW]"
    assert repr(plan("3", union)).count("Hold(") == 1
    apart = f"SELECT x.k FROM ({TICKS}) AS x, ({TICKS}) AS y WHERE x.k = y.k"
    assert repr(plan("3", apart)).count("Hold(") == 2


@pytest.fixture
def db():
    made = Database()
    made.execute(DECLARED)
    return made


def test_a_hold_of_one_query(db):
    q, at_once = db.query(TICKS, hold=3), db.query(TICKS)
    db.push("s", [{"ts": 1, "k": 1}, {"ts": 2, "k": 2}])
    db.push("t", [{"ts": 3, "k": 2}])
    db.advance(4)
    assert q.answer().to_pylist() == at_once.answer().to_pylist() == [{"k": 1}]
    assert [(r["_ts"], r["_sign"], r["k"]) for r in q.changes().to_pylist()] == [(4, 1, 1)]
    assert len(at_once.changes()) == 3
    assert q.answer(at=20).to_pylist() == []
    [hold] = [o for o in q.stats()["operators"] if o["operator"] == "Hold"]
    assert (hold["held"], hold["suppressed"], hold["negatives_out"]) == (2, 1, 0)
    assert "Hold 3 " in q.explain()
    assert "rows that came in the last 3; answers come that much later at most" in q.explain()
    assert db.session.settings["hold"] == "none"


@pytest.mark.parametrize("hold", [1e30, 10**30])
def test_a_hold_beyond_all_time_is_told_as_such(db, hold):
    with pytest.raises(BindError) as caught:
        db.query(TICKS, hold=hold)
    assert "at most 9223372036854775806" in caught.value.message
    assert caught.value.detail == f"1{'0' * 30} is 1e+30 ticks."
    assert caught.value.hint == "Write a shorter time."


def test_a_hold_of_microseconds_in_seconds():
    db = Database()
    db.execute("CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    text = "SELECT k FROM s [RANGE 9 SECONDS] EXCEPT SELECT k FROM s [NOW]"
    assert "Hold 10 MICROSECONDS" in db.query(text, hold=1e-5).explain()


def test_a_query_that_runs_keeps_its_hold(db):
    db.execute(f"SET hold = 3; CREATE QUERY slow AS {TICKS}; SET hold = 'none'")
    db.push("s", [{"ts": 1, "k": 1}])
    db.advance(2)
    q = db.query("slow")
    assert "strategy" in q.reoptimize("negative")
    saved = q.snapshot()
    db.advance(3)
    assert q.answer().num_rows == 0
    db.advance(4)
    assert q.answer().num_rows == 1
    q.restore(saved)
    assert q.answer(at=3).num_rows == 0
    assert q.answer(at=4).num_rows == 1


def test_a_state_fits_only_the_hold_that_it_was_made_with(db):
    saved = db.query(TICKS, hold=3).snapshot()
    with pytest.raises(StateError, match="made under another plan"):
        db.query(TICKS, hold=4).restore(saved)
    with pytest.raises(StateError, match="made under another plan"):
        db.query(TICKS).restore(saved)


def test_a_hold_of_one_query_on_spark():
    db = SparkDatabase()
    db.execute(DECLARED)
    for name, hold in (("slow", 3), ("fast", None)):
        db.query(TICKS, name=name, hold=hold)
    slow, fast = db.program("slow"), db.program("fast")
    assert repr(slow.bound()[0].root).count("Hold(") == 1
    assert repr(fast.bound()[0].root).count("Hold(") == 0
    assert slow.fingerprint != fast.fingerprint
    assert db.session.settings["hold"] == "none"
