"""SET early_aggregation: what it takes, what EXPLAIN tells, and what is refused."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.golden import FOLDER, check_golden

import windrow as wr
from windrow.cli.explain import as_text
from windrow.cli.terminal import join_notes
from windrow.core.errors import BindError, SemanticError, StateError
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.optimize.showing import DECLARATIONS
from windrow.plan.explain import explain_json
from windrow.plan.nodes import Query
from windrow.plan.session import Session
from windrow.runtime.local.database import Database
from windrow.runtime.local.early import watched
from windrow.runtime.local.handle import QueryHandle
from windrow.runtime.local.query import RunningQuery
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.program import Program

STREAMS = "".join(
    f"CREATE STREAM {name} (t BIGINT, k BIGINT, g BIGINT, x BIGINT) TIMESTAMP BY t;"
    for name in ("s1", "s2", "s3")
)
TEXT = (
    "SELECT a.g, SUM(b.x) AS s, COUNT(*) AS n FROM s1 AS a [RANGE 100], s2 AS B [RANGE 100] "
    "WHERE a.k = b.k GROUP BY a.g"
)
LATE = TEXT.replace("COUNT(*)", "SUM(a.x * b.x)")
BETWEEN = (
    "SELECT a.g, COUNT(*) FROM s1 AS a, s2 AS b WHERE a.k = b.k AND WINDOW(a, b) = 5 GROUP BY a.g"
)
ENDLESS = TEXT.replace("B [RANGE 100]", "B [UNBOUNDED]")


def database() -> Database:
    db = wr.connect()
    assert isinstance(db, Database)
    db.execute(STREAMS)
    return db


def push(db: Database, start: int, stop: int, *, keys: int = 3, groups: int = 2) -> None:
    t = np.arange(start, stop)
    for name in ("s1", "s2", "s3"):
        db.push(name, pa.table({"t": t, "k": t % keys, "g": t % groups, "x": t % 7}))


def push_in_steps(db: Database, start: int, stop: int) -> None:
    for at in range(start, stop, 100):
        push(db, at, at + 100)


def told(*handles: QueryHandle) -> list[list[str]]:
    return [sorted(map(str, h.changes().to_pylist())) for h in handles]


def placement(db: Database, q: QueryHandle) -> str:
    (placed,) = db.running(q.name).placements.values()
    return placed


def joins_of(db: Database, q: QueryHandle) -> int:
    stages = db.running(q.name).flow.stages
    return sum(isinstance(s.task, AggregationJoinTask) for s in stages)


def rules(text: str) -> str:
    """Return what rules 1 and 2 give for a query, without the costs of its placements."""
    [query] = [q for q in Session().execute(DECLARATIONS + text) if isinstance(q, Query)]
    lines = [line.strip() for note in join_notes(query) for line in note.lines]
    return "\n".join(x for x in lines if x.startswith(("entries of", "folded"))) or "nothing"


def test_rules_1_and_2_give_what_is_written_down() -> None:
    check_golden(FOLDER / "early_rules.plan", rules)


@pytest.mark.parametrize("said", ["{a, b}", "'{b,A}'", '{"a",b,a}'])
def test_names_are_those_of_from_in_any_case_and_order(said: str) -> None:
    db = database()
    db.execute(f"SET early_aggregation = {said}; CREATE QUERY q AS {TEXT}")
    assert placement(db, db.query("q")) == "{a,B}"
    assert joins_of(db, db.query("q")) == 1
    (settings,) = db.session.execute("SHOW SETTINGS")
    assert "early_aggregation" in settings["name"].to_pylist()


@pytest.mark.parametrize("said", ["none", "{}"])
def test_with_none_the_plan_is_a_join_and_a_group_by(said: str) -> None:
    db = database()
    q = db.query(TEXT, early_aggregation=said)
    assert joins_of(db, q) == 0
    text = q.explain()
    assert "early aggregation: none; early_aggregation is none" in text
    assert "► none: " in text
    assert all(f"  {name}: " in text for name in ("{a}", "{B}", "{a,B}"))
    assert watched(db.running(q.name))[0].watch.replans is False


def test_with_none_asked_for_explain_still_tells_what_the_others_would_cost() -> None:
    session = Session()
    session.execute(STREAMS + "SET early_aggregation = none")
    [query] = session.execute(TEXT)
    assert isinstance(query, Query)
    text = as_text(query, patterns=True)
    assert "early aggregation: none; early_aggregation is none" in text
    assert "► none: " in text
    assert "{a,B}: " in text


@pytest.mark.parametrize("said", ["auto", "none", "{a,f}"])
def test_all_placements_of_six_inputs_are_told(said: str) -> None:
    names = "abcdef"
    froms = ", ".join(f"s{1 + i % 3} AS {name} [RANGE 9]" for i, name in enumerate(names))
    same = " AND ".join(f"a.k = {name}.k" for name in names[1:])
    q = database().query(
        f"SELECT a.g, SUM(f.x) AS s FROM {froms} WHERE {same} GROUP BY a.g", early_aggregation=said
    )
    text = q.explain()
    lines = [line for line in text.splitlines() if line.endswith(" contributions")]
    assert len(lines) == 64
    assert sum("► " in line for line in lines) == 1
    assert "dearer ones" not in text


def test_unknown_names_are_told_with_those_that_there_are() -> None:
    db = database()
    with pytest.raises(SemanticError, match=r"\{c\} names what no GROUP BY") as refused:
        db.query(TEXT, early_aggregation="{c}")
    assert "Joined and grouped are a, B." in str(refused.value.detail)
    with pytest.raises(SemanticError, match="names what no GROUP BY") as refused:
        db.query("SELECT k, COUNT(*) FROM s1 AS a [NOW] GROUP BY k", early_aggregation="{a}")
    assert "no GROUP BY over a join" in str(refused.value.detail)
    with pytest.raises(BindError, match="early_aggregation cannot be some") as wrong:
        db.query(TEXT, early_aggregation="some")
    assert "{a,b}" in str(wrong.value.hint)


OTHERS = (
    "SELECT k FROM s1 [RANGE 5]",
    "SELECT k, COUNT(*) AS n FROM s1 [RANGE 5] GROUP BY k",
    "SELECT a.k FROM s1 AS a [RANGE 5], s2 AS b [RANGE 5] WHERE a.k = b.k",
)
"""Queries without a GROUP BY over a join."""


@pytest.mark.parametrize("text", OTHERS)
def test_a_setting_is_for_queries_that_join_and_group(text: str) -> None:
    db = database()
    db.execute("SET early_aggregation = {a}")
    q = db.query(text)
    assert joins_of(db, q) == 0
    with pytest.raises(SemanticError, match=r"early_aggregation = \{a\} names what no GROUP BY"):
        db.query(text, early_aggregation="{a}")
    with pytest.raises(SemanticError, match=r"early_aggregation = \{a\} names what no GROUP BY"):
        q.reoptimize(early_aggregation="{a}")
    db.execute(f"CREATE QUERY q AS {text}; SET early_aggregation = 'auto'")
    plain = db.query(text)
    push(db, 1, 30)
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) > 0


def test_a_setting_that_a_grouped_join_has_no_names_for_is_refused_by_its_name() -> None:
    db = database()
    db.execute("SET early_aggregation = {c}")
    with pytest.raises(SemanticError, match=r"early_aggregation = \{c\}") as refused:
        db.query(TEXT)
    assert "Joined and grouped are a, B." in str(refused.value.detail)
    assert "SET early_aggregation = 'auto'" in str(refused.value.hint)
    assert joins_of(db, db.query(TEXT, early_aggregation="{b}")) == 1
    db.execute(f"SET early_aggregation = 'auto'; CREATE QUERY q AS {TEXT}")


def test_on_shards_names_are_refused_alike() -> None:
    for text in OTHERS:
        script = f"{STREAMS} SET early_aggregation = {{a}}; CREATE QUERY q AS {text};"
        assert layout_of(Program(script, ("q",))).levels > 0
    for said in ("{c}", "{a,c}"):
        script = f"{STREAMS} SET early_aggregation = {said}; CREATE QUERY q AS {TEXT};"
        with pytest.raises(SemanticError, match="names what no GROUP BY") as refused:
            layout_of(Program(script, ("q",)))
        assert "Joined and grouped are a, B." in str(refused.value.detail)


def test_placements_that_cannot_be_say_why() -> None:
    db = database()
    with pytest.raises(SemanticError, match=r"early_aggregation \{a\} cannot be") as refused:
        db.query(BETWEEN, early_aggregation="{a}")
    assert "WINDOW(a, b)" in str(refused.value.detail)
    assert "not early: WINDOW(a, b)" in db.query(BETWEEN).explain()
    with pytest.raises(SemanticError, match="cannot be with join_algorithm tree"):
        db.query(TEXT, early_aggregation="{a}", join_algorithm="tree")


VERSIONS = "CREATE NON RETROACTIVE RELATION n (k BIGINT, w BIGINT);"
MEETS = (
    "SELECT n.w, SUM(b.x) AS s FROM s1 AS a [RANGE 100], s2 AS b [RANGE 100], n "
    "WHERE a.k = b.k AND a.k = n.k GROUP BY n.w"
)
MEETS_ALONE = "SELECT n.w, COUNT(*) AS c FROM s1 AS a [RANGE 100], n WHERE a.k = n.k GROUP BY n.w"
MET_BELOW = (
    "SELECT c.w, SUM(b.x) AS s FROM (SELECT a.k, n.w FROM s1 AS a [RANGE 100], n WHERE a.k = n.k)"
    " AS c, s2 AS b [RANGE 100] WHERE c.k = b.k GROUP BY c.w"
)


def assert_alike_as_versions_come(db: Database, q: QueryHandle, plain: QueryHandle) -> None:
    assert joins_of(db, q) == 1
    for start in range(1, 400, 100):
        db.push("n", [{"k": k, "w": start + k} for k in range(3)])
        push(db, start, start + 100)
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) > 100


@pytest.mark.parametrize("said", ["{a}", "{b}", "{A,b}", "{n}", "{a,b,n}"])
@pytest.mark.parametrize("text", [MEETS, MEETS_ALONE])
def test_what_meets_versions_is_summed_up_by_version(text: str, said: str) -> None:
    db = database()
    db.execute(VERSIONS)
    if text == MEETS_ALONE and "b" in said:
        with pytest.raises(SemanticError, match="names what no GROUP BY"):
            db.query(text, early_aggregation=said)
        return
    q, plain = (db.query(text, early_aggregation=e) for e in (said, "none"))
    assert_alike_as_versions_come(db, q, plain)


@pytest.mark.parametrize("said", ["{a}", "{b}", "{A,b}", "{n}"])
def test_a_count_window_that_meets_a_version_cannot_be_summed_up_before(said: str) -> None:
    db = database()
    db.execute(VERSIONS)
    counted = MEETS.replace("b [RANGE 100]", "b [ROWS 100]")
    with pytest.raises(SemanticError, match=r"early_aggregation .* cannot be") as refused:
        db.query(counted, early_aggregation=said)
    assert "n is a NON RETROACTIVE RELATION" in str(refused.value.detail)
    assert "must be of time windows" in str(refused.value.detail)
    assert "one stream in a sub-query of FROM" in str(refused.value.hint)
    q = db.query(counted)
    with pytest.raises(SemanticError, match=r"early_aggregation .* cannot be"):
        q.reoptimize(early_aggregation=said)
    db.execute(f"SET early_aggregation = {said}")
    with pytest.raises(SemanticError, match=r"early_aggregation .* cannot be"):
        db.execute(f"CREATE QUERY q AS {counted}")


def test_with_versions_other_names_are_told() -> None:
    db = database()
    db.execute(VERSIONS)
    for text, known in ((MEETS, "n, a, b"), (MEETS.replace("RANGE", "ROWS"), "a, b, n")):
        with pytest.raises(SemanticError, match="names what no GROUP BY") as refused:
            db.query(text, early_aggregation="{c}")
        assert f"Joined and grouped are {known}." in str(refused.value.detail)
    alone = MEETS_ALONE.replace("RANGE", "ROWS")
    with pytest.raises(SemanticError, match="cannot be") as refused:
        db.query(alone, early_aggregation="{a}")
    assert "sub-query" not in str(refused.value.hint)
    db.execute(f"SET early_aggregation = {{c}}; CREATE QUERY q AS {alone}")


@pytest.mark.parametrize("text", [MEETS, MEETS_ALONE])
def test_explain_tells_that_results_meet_versions(text: str) -> None:
    db = database()
    db.execute(VERSIONS)
    text = text.replace("RANGE", "ROWS")
    line = "early aggregation: none; not all that meets a version of n says when it expires"
    assert line in db.query(text).explain()
    assert line not in db.query(text, early_aggregation="none").explain()
    session = Session()
    [*_, query] = session.execute(STREAMS + VERSIONS + text)
    assert isinstance(query, Query)
    assert line in as_text(query, patterns=True)


@pytest.mark.parametrize("said", ["{c}", "{b}", "{c,b}"])
def test_a_stream_that_meets_its_version_in_a_sub_query_is_an_input_like_others(said: str) -> None:
    db = database()
    db.execute(VERSIONS)
    q, plain = (db.query(MET_BELOW, early_aggregation=e) for e in (said, "none"))
    assert_alike_as_versions_come(db, q, plain)


def test_explain_tells_costs_entries_and_calls() -> None:
    session = Session()
    session.execute(STREAMS + "SET early_aggregation = {b}")
    [query] = session.execute(LATE)
    assert isinstance(query, Query)
    text = as_text(query, patterns=True)
    assert "early aggregation: {B}; early_aggregation is {b}" in text
    assert all(f" {name}: " in text for name in ("none", "{a}", "{a,B}"))
    assert "► {B}: " in text
    assert "entries of B by B.k, B.x" in text
    assert "folded before the join: SUM(b.x) in B" in text
    assert "folded after it: SUM(a.x * b.x)" in text
    (told,) = explain_json(query, joins=join_notes(query))["joins"]  # type: ignore[misc]
    assert [p["early_aggregation"] for p in told["placements"]].count("{a,B}") == 1
    assert told["entries"]["a"] == ["a.k", "a.g", "a.x"]
    assert told["calls"][0] == {"call": "SUM(b.x)", "early": "B"}
    json.dumps(told)


def test_auto_changes_its_placement_while_it_runs_and_nobody_sees_it() -> None:
    """First few entries stand for many tuples, then every tuple is an entry of its own."""
    db = database()
    q, plain = db.query(TEXT), db.query(TEXT, early_aggregation="none")
    assert placement(db, q) == "none"
    for start in range(1, 1_000, 100):
        push(db, start, start + 100)
    assert placement(db, q) == "{a,B}"
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) > 1_000
    assert "changed 1 times while it ran" in q.explain()
    for start in range(1_001, 12_000, 500):
        push(db, start, start + 500, keys=10_007, groups=10_009)
    assert placement(db, q) == "none"
    mine, theirs = told(q, plain)
    assert mine == theirs


def test_a_placement_is_saved_with_the_state() -> None:
    db = database()
    q, plain = db.query(TEXT), db.query(TEXT, early_aggregation="none")
    push(db, 1, 300)
    q.reoptimize()
    assert placement(db, q) == "{a,B}"
    running = db.running(q.name)
    saved = from_bytes(to_bytes(running.snapshot()))
    db._running[q.name] = RunningQuery.resumed(running.query, saved)
    assert placement(db, q) == "{a,B}"
    push(db, 300, 400)
    mine, theirs = told(q, plain)
    assert mine == theirs


def test_states_from_before_there_was_a_choice_go_on() -> None:
    db = database()
    q, plain = (db.query(TEXT, early_aggregation="none") for _ in range(2))
    push(db, 1, 300)
    saved = from_bytes(to_bytes(db.running(q.name).snapshot()))
    del saved["early_aggregation"], saved["placements"]
    db._running[q.name] = RunningQuery.resumed(db.query(TEXT)._db.running(q.name).query, saved)
    push(db, 300, 400)
    mine, theirs = told(q, plain)
    assert mine == theirs


def test_tuples_that_never_leave_cannot_be_told_apart_again() -> None:
    """Refused, the query goes on as it was."""
    db = database()
    q, plain = db.query(ENDLESS, early_aggregation="none"), db.query(ENDLESS)
    push(db, 1, 50)
    assert "none → {b}" in q.reoptimize(early_aggregation="{b}")
    push(db, 50, 90)
    with pytest.raises(StateError, match="never expire"):
        q.reoptimize(early_aggregation="none")
    push(db, 90, 130)
    assert placement(db, q) == "{B}"
    mine, theirs = told(q, plain)
    assert mine == theirs


def test_an_instant_with_more_contributions_than_fit_is_told_once() -> None:
    text = TEXT.replace("COUNT(*)", "COUNT(DISTINCT a.x), COUNT(DISTINCT b.x)")
    db = database()
    q, plain = (db.query(text, early_aggregation=said) for said in ("{b}", "none"))
    push(db, 1, 3)
    told(q, plain)
    many = np.arange(300)
    for name in ("s1", "s2"):
        db.push(name, pa.table({"t": many * 0 + 5, "k": many * 0, "g": many % 2, "x": many}))
    db.advance(6)
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) == 4


@pytest.mark.parametrize("fact", ["1 = 1", "COALESCE(NULL, TRUE)", "1 > 2", "1 = NULL"])
@pytest.mark.parametrize("said", ["{a}", "{a,b}", "auto"])
def test_a_condition_without_columns_lets_all_results_pass_or_none(fact: str, said: str) -> None:
    text = "SELECT COUNT(*) AS n FROM s1 AS a [RANGE 100] JOIN s2 AS b [RANGE 100] ON a.k = b.k"
    db = database()
    q, plain = (db.query(f"{text} AND {fact}", early_aggregation=e) for e in (said, "none"))
    push_in_steps(db, 1, 300)
    q.reoptimize()
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) > 100 or fact in ("1 > 2", "1 = NULL")


@pytest.mark.parametrize(
    "broken", ["early.better_placements", "handover.transfer", "handover._show"]
)
def test_a_change_that_fails_leaves_the_plan_and_is_told(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for it: a push that it comes with must not fail."""

    def fails(*_: object) -> None:
        raise AssertionError("the new plan has another answer")

    db = database()
    q, plain = db.query(TEXT), db.query(TEXT, early_aggregation="none")
    monkeypatch.setattr(f"windrow.runtime.local.{broken}", fails)
    with pytest.warns(UserWarning, match="goes on as it was: .* has another answer") as warned:
        push_in_steps(db, 1, 1_500)
    assert len(warned) == 1, "it is not tried again"
    assert placement(db, q) == "none"
    mine, theirs = told(q, plain)
    assert mine == theirs
    assert len(mine) > 1_000
    assert "stays as it is: a change of early aggregation failed" in q.explain()
    assert "another answer" in str(q.stats())


@pytest.mark.parametrize("said", ["{a}", "{b}", "{a,b}"])
def test_sums_are_exact_when_a_group_has_more_results_than_32_bits_count(said: str) -> None:
    many = 50_000
    db = wr.connect()
    for name in ("s1", "s2"):
        db.execute(
            f"CREATE STREAM {name} (t BIGINT, k BIGINT, i BIGINT, d DECIMAL(9, 2),"
            " w DECIMAL(20, 3)) TIMESTAMP BY t"
        )
    calls = "SUM(b.i) AS i, SUM(b.i * 4000000000) AS o, SUM(b.d) AS d, SUM(b.w) AS w, COUNT(*) AS n"
    q = db.query(
        f"SELECT {calls} FROM s1 AS a [RANGE 100], s2 AS b [RANGE 100] WHERE a.k = b.k",
        early_aggregation=said,
    )
    cents, large = (Decimal("-0.07"), Decimal("-12345678901234567.891"))
    rows = {
        "t": np.ones(many, np.int64),
        "k": np.zeros(many, np.int64),
        "i": np.full(many, -1),
        "d": pa.array([cents] * many, pa.decimal128(9, 2)),
        "w": pa.array([large] * many, pa.decimal128(20, 3)),
    }
    for name in ("s1", "s2"):
        db.push(name, pa.table(rows))
    db.advance(2)
    n = many**2
    assert q.answer().to_pylist() == [
        {"i": -n, "o": None, "d": n * cents, "w": n * large, "n": n},
    ]


def test_a_merge_of_count_windows_may_be_aggregated_before_it_is_joined() -> None:
    db = wr.connect()
    for name in "ab":
        db.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
    merged = "(SELECT k FROM b [ROWS 2] UNION ALL SELECT k FROM a [ROWS 4]) AS m"
    query = db.query(f"SELECT COUNT(*) AS n FROM {merged}, a AS s [RANGE 5] WHERE m.k = s.k")
    db.push("a", [{"ts": 1, "k": 1}, {"ts": 2, "k": 1}])
    db.push("b", [{"ts": 2, "k": 1}])
    db.advance(2)
    assert query.answer().to_pylist() == [{"n": 6}]
