"""Versions of a non-retroactive relation, and tuples that know which one they meet."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

import windrow as wr
from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.kernels.versions import OPEN
from windrow.operators.delta import Delta
from windrow.operators.join.versions import StampTask, VersionsTask
from windrow.operators.vector import Vector

SCHEMA = Schema(
    (Field("n.w", BIGINT), Field("n.#first", BIGINT, False), Field("n.#end", BIGINT, False))
)
Steps = list[tuple[int, list[tuple[int, int, int]]]]
"""By clock: changes (ts, row, weight)."""


def table(changes: list[tuple[int, int, int]]) -> Delta:
    ts, rows, weights = np.array(changes, np.int64).reshape(-1, 3).T.copy()
    return Delta(ts, {"n.w": Vector(BIGINT, rows)}, None, weights)


def told(delta: Delta) -> list[tuple[int, tuple[int, int, int], int]]:
    rows = zip(*(delta.columns[n].data.tolist() for n in SCHEMA.names), strict=True)
    return list(zip(delta.ts.tolist(), rows, delta.weights().tolist(), strict=True))


@st.composite
def histories(draw: st.DrawFn) -> Steps:
    """Steps of a table that rows enter and leave, some at the instant of the step before."""
    there: Counter[int] = Counter()
    now, steps = 0, []
    for _ in range(draw(st.integers(1, 6))):
        changes = []
        for _ in range(draw(st.integers(0, 4))):
            now += draw(st.sampled_from([0, 0, 1, 2]))
            row, leaves = draw(st.integers(0, 2)), draw(st.booleans())
            weight = -1 if leaves and there[row] else draw(st.integers(1, 2))
            there[row] += weight
            changes.append((now, row, weight))
        now += draw(st.sampled_from([0, 1, 3]))
        steps.append((now, changes))
    return steps


def versions_of(steps: Steps) -> list[tuple[int, Counter[int]]]:
    """Return when each version begins, and what is in it."""
    found, rows = list[tuple[int, Counter[int]]](), Counter[int]()
    for _, changes in steps:
        net: dict[int, Counter[int]] = {}
        for ts, row, weight in changes:
            net.setdefault(ts, Counter())[row] += weight
        for ts, both in net.items():
            if any(both.values()):
                rows = Counter({r: n for r in rows | both if (n := rows[r] + both[r])})
                found.append((ts, rows))
    return found


@given(histories(), st.integers(1, 5) | st.just(FOREVER), st.integers(0, 6))
@examples(200)
def test_every_version_has_its_rows_for_as_long_as_it_may_be_met(
    steps: Steps, life: int, restart: int
) -> None:
    task = VersionsTask(SCHEMA, life)
    net: Counter[tuple[int, int, int]] = Counter()
    for i, (clock, changes) in enumerate(steps):
        if i == restart:
            saved, task = task.save(), VersionsTask(SCHEMA, life)
            task.load(saved)
        out = told(task.step((table(changes),), clock))
        assert [ts for ts, _, _ in out] == sorted(ts for ts, _, _ in out)
        for _, row, weight in out:
            net[row] += weight
        task.check()
        assert all(n >= 0 for n in net.values())
        known = versions_of(steps[: i + 1])
        for v, (_, rows) in enumerate(known, 1):
            until = known[v][0] if v < len(known) else None
            if until is not None and clock > until + life:
                continue  # nobody meets it any more
            met = Counter[int]()
            for (w, first, end), n in net.items():
                if first <= v < end:
                    met[w] += n
            assert +met == rows, f"version {v} at {clock}"
    task.step((table([]),), min(FOREVER, steps[-1][0] + life + 1))
    task.check()
    assert task.state_rows() == len(versions_of(steps)[-1][1] if versions_of(steps) else ())


def test_tuples_meet_the_version_of_their_own_time_though_an_instant_comes_in_two_steps() -> None:
    task = StampTask("s.#met n", ("n.#first", "n.#end"))
    versions = VersionsTask(SCHEMA, 5)

    def met(tuples: list[int], changes: list[tuple[int, int, int]], clock: int) -> list[int]:
        ts = np.array(tuples, np.int64)
        given = Delta(ts, {}, ts + 5)
        made = task.step((given, versions.step((table(changes),), clock)), clock)
        return list(made.columns["s.#met n"].data.tolist())

    assert met([1, 2, 3], [(2, 7, 1), (3, 8, 1)], 3) == [0, 1, 2]
    assert met([3, 4], [(3, 9, 1)], 4) == [3, 3]  # late: the tuple before keeps what it met
    assert met([9], [], 20) == [3]  # nothing has changed, whatever is withdrawn
    assert versions.check() is None


DECLARED = """
CREATE STREAM a (t BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY t;
CREATE STREAM b (t BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY t;
CREATE NON RETROACTIVE RELATION n (k BIGINT, w BIGINT, PRIMARY KEY (k));
CREATE RELATION r (k BIGINT, w BIGINT);
"""
TEXT = """
SELECT n.w, COUNT(*) AS c, SUM(a.v) AS s, MAX(b.v) AS m
FROM a [RANGE 5], b [RANGE 7], n WHERE a.k = b.k AND n.k = a.k GROUP BY n.w
"""


OF_RELATION = """
SELECT b.v, COUNT(*) AS c, SUM(n.w) AS s, MAX(n.w) AS m, MIN(n.w + a.v) AS l, BOOL_OR(n.w > 2) AS o
FROM a [RANGE 5], b [RANGE 4], n WHERE a.k = b.k AND n.k <= a.k GROUP BY b.v
"""


@st.composite
def pushes(draw: st.DrawFn) -> list[tuple[str, int, dict[str, int]]]:
    """What is pushed, one by one: also updates at an instant that tuples have come at."""
    now, found = 0, []
    small = st.integers(0, 2)
    for _ in range(draw(st.integers(1, 25))):
        now += draw(st.sampled_from([0, 0, 1, 1, 3]))
        name = draw(st.sampled_from("aabbn"))
        row = {"k": draw(small), "w" if name == "n" else "v": draw(st.integers(0, 5))}
        found.append((name, now, row if name == "n" else {"t": now, **row}))
    return found


def answers(text: str, early: str, given: list[tuple[str, int, dict[str, int]]]) -> list[list[str]]:
    db = wr.connect()
    db.execute(DECLARED)
    q = db.query(text, early_aggregation=early)
    found = []
    for name, now, row in given:
        if name == "n":
            db.advance(now)
        db.push(name, [row])
        found.append(sorted(map(str, q.answer().to_pylist())))
    last = given[-1][1]
    for now in range(last, last + 9):
        db.advance(now)
        found.append(sorted(map(str, q.answer().to_pylist())))
    return found


@given(
    pushes(),
    st.sampled_from([TEXT, OF_RELATION]),
    st.sampled_from(["{a}", "{n}", "{a,b}", "{b,n}", "{a,b,n}"]),
)
@examples(40)
def test_updates_that_come_late_are_met_by_those_that_come_later(
    given: list[tuple[str, int, dict[str, int]]], text: str, early: str
) -> None:
    """As the join of results with the relation has it: it knows each result's step."""
    assert answers(text, early, given) == answers(text, "none", given)


@pytest.mark.parametrize(
    "call", ["MAX(m.w)", "MIN(m.w)", "SUM(m.w)", "COUNT(m.w)", "BOOL_OR(m.w > 4)"]
)
@pytest.mark.parametrize("early", ["{m}", "{a,m}", "{a}"])
def test_rows_that_came_together_and_part_are_taken_back_as_they_were(
    call: str, early: str
) -> None:
    """An entry of the relation has several rows, one of which is taken out."""
    db = wr.connect()
    db.execute(DECLARED + "CREATE NON RETROACTIVE RELATION m (w BIGINT);")
    text = f"SELECT a.k, {call} AS x FROM a [RANGE 5], m GROUP BY a.k"
    mine, plain = (db.query(text, early_aggregation=e) for e in (early, "none"))
    db.push("m", [{"w": 1}, {"w": 5}, {"w": 3}])
    for now in range(1, 12):
        if now < 5:
            db.push("a", [{"t": now, "k": now % 2, "v": now}])
        db.advance(now)
        if now in (2, 4):
            db.push("m", [{"w": 5 if now == 2 else 1, "_sign": -1}])
        assert sorted(map(str, mine.answer().to_pylist())) == sorted(
            map(str, plain.answer().to_pylist())
        )
    assert mine.answer().num_rows == 0


UNENDING = (
    ("SELECT n.w, COUNT(*) AS c, SUM(a.v) AS s FROM a [UNBOUNDED], n WHERE a.k = n.k GROUP BY n.w"),
    ("SELECT n.w, a.k, COUNT(*) AS c FROM a [SINCE 1], n WHERE a.k = n.k GROUP BY n.w, a.k"),
    (
        "SELECT n.w, COUNT(*) AS c, SUM(a.v) AS s FROM (SELECT a.k, a.v FROM a [RANGE 5] UNION ALL"
        " SELECT b.k, b.v FROM b [UNBOUNDED]) AS a, n WHERE a.k = n.k GROUP BY n.w"
    ),
    (
        "SELECT n.w, COUNT(*) AS c, SUM(a.v) AS s FROM (SELECT a.k + 0 AS k, a.v + b.v AS v"
        " FROM a [RANGE 5], b [UNBOUNDED] WHERE a.k = b.k) AS a, n WHERE a.k = n.k GROUP BY n.w"
    ),
)


@pytest.mark.parametrize("early", ["{a}", "{n}", "{a,n}"])
@pytest.mark.parametrize("text", UNENDING)
def test_groups_of_rows_that_left_long_ago_stay_as_long_as_their_results(
    text: str, early: str
) -> None:
    db = wr.connect()
    db.execute(DECLARED)
    mine, plain = (db.query(text, early_aggregation=e) for e in (early, "none"))
    for now in range(1, 15):
        db.push("n", [{"k": 1, "w": 10 * now}])
        for name in "ab":
            db.push(name, [{"t": now, "k": 1, "v": now}] if now < 5 else [])
        db.advance(now)
        assert sorted(map(str, mine.answer().to_pylist())) == sorted(
            map(str, plain.answer().to_pylist())
        )


def test_a_query_is_made_anew_with_the_placement_that_it_has() -> None:
    db = wr.connect()
    db.execute(DECLARED)
    text = TEXT.replace("RANGE 5", "RANGE 2000").replace("RANGE 7", "RANGE 2000")
    late, early = (db.query(text, early_aggregation=e) for e in ("auto", "{a,b}"))
    db.push("n", [{"k": k, "w": k} for k in range(10)])
    for name in "ab":
        db.push(name, [{"t": t, "k": t % 10, "v": 1} for t in range(4000)])
    for q in (late, early):
        before = q.answer().to_pylist()
        assert "every operator keeps its form" in q.reoptimize()
        assert q.answer().to_pylist() == before


def test_groups_beside_those_that_meet_versions_change_as_ever() -> None:
    db = wr.connect()
    db.execute(DECLARED)
    other = (
        "SELECT a.k AS w, COUNT(*) AS c, SUM(a.v) AS s, MAX(b.v) AS m FROM a [RANGE 5], b [RANGE 7]"
    )
    text = f"{TEXT} UNION ALL {other} WHERE a.k = b.k GROUP BY a.k"
    mine, plain = (db.query(text, early_aggregation=e) for e in ("{a}", "none"))
    for now in range(1, 20):
        db.push("n", [{"k": now % 3, "w": now}])
        for name in "ab":
            db.push(name, [{"t": now, "k": now % 3, "v": now}])
        db.advance(now)
        if now == 8:
            with pytest.raises(wr.WindrowError, match="keep the versions"):
                mine.reoptimize(early_aggregation="none")
        assert sorted(map(str, mine.answer().to_pylist())) == sorted(
            map(str, plain.answer().to_pylist())
        )


def test_an_update_costs_nothing_that_grows_with_what_has_met_the_relation() -> None:
    db = wr.connect()
    db.execute(DECLARED)
    q = db.query(TEXT, early_aggregation="{a}")
    db.push("n", [{"k": 1, "w": 1}])
    for name in "ab":
        db.push(name, [{"t": 5, "k": 1, "v": i} for i in range(300)])
    db.advance(5)

    def looked() -> int:
        return sum(o["comparisons"] for o in _operators(q))

    before = looked()
    for w in range(20):
        db.push("n", [{"k": 1, "w": w}])
    assert q.answer().num_rows == 1
    assert looked() == before


def _operators(q: Any) -> list[dict[str, int]]:
    found: list[dict[str, int]] = q.stats()["operators"]
    return found


def test_versions_that_nobody_meets_any_more_are_forgotten() -> None:
    db = wr.connect()
    db.execute(DECLARED)
    q = db.query(TEXT, early_aggregation="{a,b}")
    rows = []
    for now in range(0, 600, 2):
        db.push("a", [{"t": now, "k": 1, "v": 1}])
        db.push("b", [{"t": now, "k": 1, "v": 1}])
        db.push("n", [{"k": 1, "w": now}])
        db.advance(now + 1)
        rows.append(q.stats()["state_rows"])
    assert max(rows[100:]) <= max(rows[:100])


@pytest.mark.parametrize("other", ["{a,b}", "none", "{n}"])
def test_a_placement_stays_as_results_keep_what_they_met(other: str) -> None:
    db = wr.connect()
    db.execute(DECLARED)
    q = db.query(TEXT, early_aggregation="{a}")
    db.push("n", [{"k": 1, "w": 1}])
    for name in "ab":
        db.push(name, [{"t": 1, "k": 1, "v": 2}])
    db.advance(1)
    with pytest.raises(wr.WindrowError, match="keep the versions"):
        q.reoptimize(early_aggregation=other)
    assert q.answer().to_pylist() == [{"w": 1, "c": 1, "s": 2, "m": 2}]
    db.advance(6)
    assert q.answer().num_rows == 0


@pytest.mark.parametrize("second", ["b [ROWS 3]"])
def test_what_does_not_say_when_it_leaves_is_refused_with_the_reason(second: str) -> None:
    db = wr.connect()
    db.execute(DECLARED)
    text = f"SELECT n.w, COUNT(*) AS c FROM a [RANGE 5], {second}, n WHERE a.k = n.k GROUP BY n.w"
    with pytest.raises(wr.WindrowError, match="NON RETROACTIVE RELATION: each result meets"):
        db.query(text, early_aggregation="{a}")
    q = db.query(text)
    assert "not all that meets a version of n says when it expires" in q.explain()


def test_where_operators_wait_for_their_turn_nothing_is_summed_up_by_version() -> None:
    db = wr.connect(processor=wr.Processor(other=wr.Costs(1.0)))
    db.execute(DECLARED)
    with pytest.raises(wr.WindrowError, match="no processor"):
        db.query(TEXT, early_aggregation="{a}")
    assert "versions of n are not followed under a processor" in db.query(TEXT).explain()
    with pytest.raises(wr.WindrowError, match="expiry 'auto'"):
        wr.connect().execute(
            f"SET expiry = 'negative'; SET early_aggregation = {{a}}; {DECLARED} CREATE QUERY q AS"
            f" {TEXT}"
        )


def test_auto_goes_by_what_streams_declare_and_tells_that_it_stays() -> None:
    db = wr.connect()
    db.execute(DECLARED.replace("BY t;", "BY t OPTIONS (expect_rate '1000', expect_keys '10');"))
    text = TEXT.replace("RANGE 5", "RANGE 1000").replace("RANGE 7", "RANGE 1000")
    told = db.query(text).explain()
    assert "early aggregation: {" in told
    assert "stays as it is: results keep the versions that they met" in told
    db.execute(
        DECLARED.replace("STREAM a", "STREAM c")
        .replace("STREAM b", "STREAM d")
        .partition("CREATE NON")[0]
    )
    rare = TEXT.replace("FROM a [", "FROM c AS a [").replace("b [", "d AS b [")
    assert "early aggregation: none; " in db.query(rare).explain()


def test_open_is_later_than_any_version() -> None:
    assert np.iinfo(np.int64).max == OPEN
