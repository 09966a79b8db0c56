"""Which form a negation takes and where it stands: by cost under auto, by rarity under upa."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.generate.catalog import bind

from windrow.operators.interner import Interner
from windrow.operators.join import AntiJoinTask, PartlySignedAntiJoin
from windrow.operators.measure import measured_statistics
from windrow.operators.open import OpenPlan, open_plan
from windrow.optimize.context import PlanContext
from windrow.optimize.cost import EdgeKind, model_of
from windrow.optimize.negations import choose_form, place_negations
from windrow.optimize.passes import optimize
from windrow.optimize.rules import MOVES, apply_rules
from windrow.optimize.statistics import UNKNOWN, Statistics, measured
from windrow.plan.nodes import AntiJoin, Join, Plan, inputs_of
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

NEGATION = (
    "SELECT a.k, a.v FROM a [RANGE 10] "
    "WHERE NOT EXISTS (SELECT * FROM b [RANGE 10] WHERE b.k = a.k)"
)
ITSELF = NEGATION.replace("FROM b [", "FROM a AS b [")
UNKEYED = "SELECT a.k FROM a [RANGE 10] WHERE NOT EXISTS (SELECT * FROM b [RANGE 10])"
JOINED = (
    "SELECT a.v FROM a [RANGE 10], c [RANGE 10] WHERE a.k = c.k "
    "AND NOT EXISTS (SELECT * FROM b [RANGE 10] WHERE b.k = a.k)"
)


def first(plan: Plan, kind: type) -> Plan:
    if isinstance(plan, kind):
        return plan
    found = [f for p in inputs_of(plan) if (f := first(p, kind)) is not None]
    return found[0] if found else None  # type: ignore[return-value]


def negation(text: str) -> AntiJoin:
    found = first(bind(text).root, AntiJoin)
    assert isinstance(found, AntiJoin)
    return found


def lowered(text: str, strategy: str, statistics: Statistics = UNKNOWN) -> OpenPlan:
    (plan,) = optimize([bind(text)], PlanContext(strategy, statistics))
    return open_plan(plan, Interner())


def is_mixed(physical: OpenPlan) -> bool:
    return any(isinstance(s.task, PartlySignedAntiJoin) for s in physical.stages)


@pytest.mark.parametrize("strategy", ["upa", "auto"])
def test_rare_early_ends_make_a_mixed_edge_and_frequent_ones_a_signed_one(strategy: str) -> None:
    assert is_mixed(lowered(NEGATION, strategy))
    assert is_mixed(lowered(NEGATION, strategy, Statistics(premature=0.0)))
    assert not is_mixed(lowered(NEGATION, strategy, Statistics(premature=0.9)))


@pytest.mark.parametrize("strategy", ["negative", "direct"])
def test_other_strategies_tell_every_departure(strategy: str) -> None:
    assert not is_mixed(lowered(NEGATION, strategy, Statistics(premature=0.0)))


@pytest.mark.parametrize(
    "text",
    [
        NEGATION.replace("a [RANGE 10]", "a [ROWS 3]"),
        NEGATION.replace("a [RANGE 10]", "a [UNBOUNDED]"),
        NEGATION.replace("b.k = a.k", "b.k = a.k AND b.v > a.v"),
        "SELECT a.k FROM a [RANGE 10] WHERE a.k NOT IN (SELECT k FROM b [RANGE 10])",
        "SELECT a.k FROM a [RANGE 10] WHERE EXISTS (SELECT * FROM b [RANGE 10] WHERE b.k = a.k)",
    ],
)
def test_only_negations_by_keys_over_tuples_with_known_ends_can_be_mixed(text: str) -> None:
    assert not is_mixed(lowered(text, "auto", Statistics(premature=0.0)))


def test_early_ends_are_expected_where_the_same_stream_is_negated_or_any_tuple_blocks() -> None:
    shares = [
        choose_form(negation(t), UNKNOWN, by_cost=False).early for t in (NEGATION, ITSELF, UNKEYED)
    ]
    assert shares == sorted(shares)
    assert shares[0] < 0.25 < shares[1] < shares[2]


def test_the_mixed_form_costs_more_as_results_are_taken_back_more_often() -> None:
    plan = negation(NEGATION)
    costs = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8):
        choice = choose_form(plan, Statistics(premature=share), by_cost=True)
        costs.append(choice.partly_signed_cost / choice.signed_cost)
        assert choice.partly_signed == (choice.partly_signed_cost <= choice.signed_cost)
    assert costs == sorted(costs)
    assert costs[0] < 1 < costs[-1]


def test_costs_grow_with_rates_and_widths() -> None:
    plan = bind(JOINED).root
    slow, fast = (Statistics({"a": r, "b": r, "c": r}) for r in (1.0, 10.0))
    assert model_of(plan, slow).total(plan) < model_of(plan, fast).total(plan)
    wide = bind(JOINED.replace("c [RANGE 10]", "c [RANGE 1000]")).root
    assert model_of(plan, slow).total(plan) < model_of(wide, slow).total(wide)


def test_an_edge_carries_what_its_sort_says() -> None:
    signed, partly_signed = model_of(bind(NEGATION).root, Statistics(premature=0.5)).negations(
        negation(NEGATION)
    )
    assert (signed.edge_kind, partly_signed.edge_kind) == (EdgeKind.SIGNED, EdgeKind.PARTLY_SIGNED)
    assert signed.changes == 2 * signed.rate
    assert partly_signed.changes == 1.5 * partly_signed.rate


def test_a_negation_stands_above_a_join_unless_it_spares_it_much() -> None:
    plan = apply_rules(bind(JOINED).root, MOVES)
    above, told = place_negations(plan, UNKNOWN)
    assert isinstance(first(above, AntiJoin).left, Join)
    assert told[0].text.startswith("above the join by cost, below costs ")
    many = Statistics({"a": 1.0, "b": 20.0, "c": 100.0}, keys=10.0)
    below, told = place_negations(plan, many)
    assert isinstance(first(below, Join).left, AntiJoin)
    assert told[0].text.startswith("below the join by cost, above costs ")


def test_a_plan_without_a_choice_stays_as_it_is() -> None:
    plan = apply_rules(bind(NEGATION).root, MOVES)
    assert place_negations(plan, UNKNOWN) == (plan, ())


def running(text: str, strategy: str) -> tuple[Database, QueryHandle]:
    db = Database()
    for name in "abc":
        db.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts")
    return db, db.query(text, strategy=strategy)


def push(db: Database, name: str, times: range, key: int) -> None:
    rows = {"ts": list(times), "k": [key] * len(times), "v": list(times)}
    db.push(name, pa.table(rows))


def test_explain_says_what_was_taken_and_what_the_other_costs() -> None:
    _, query = running(JOINED, "auto")
    shown = query.explain()
    assert "counters by key, natural ends by timestamp" in shown
    assert "negation: partly signed edge; by cost: " in shown
    assert "% of results expected to end early, signed costs " in shown
    assert "  placed above the join by cost, below costs " in shown
    _, query = running(NEGATION, "upa")
    assert (
        "negation: partly signed edge; partly signed if rare: 9% of results expected to end early,"
        " rare" in query.explain()
    )


def test_a_state_depends_on_the_form_and_not_on_why_it_was_chosen() -> None:
    one, other = (lowered(NEGATION, "auto", Statistics(premature=p)) for p in (0.0, 0.1))
    assert one.signature == other.signature
    signed = lowered(NEGATION, "auto", Statistics(premature=0.9))
    assert one.signature != signed.signature


@pytest.mark.parametrize(("key", "blocks"), [(1, False), (0, True)])
@pytest.mark.parametrize(
    ("strategy", "task"), [("upa", PartlySignedAntiJoin), ("negative", AntiJoinTask)]
)
def test_what_ran_is_measured(key: int, blocks: bool, strategy: str, task: type) -> None:
    """Ten tuples of key 0, and one that blocks those that are there if its key is 0 too."""
    db, query = running(NEGATION, strategy)
    push(db, "a", range(1, 11), 0)
    push(db, "b", range(9, 10), key)
    db.advance(30)
    physical = db.running(query.name).physical
    (counters,) = (s.task.counters for s in physical.stages if isinstance(s.task, task))
    statistics = measured_statistics(physical, 20)
    assert statistics.rates == {"a": 0.5, "b": 0.05}
    assert statistics.premature is not None
    assert statistics.premature == pytest.approx(counters.premature / counters.emitted)
    assert (counters.premature > 0) == blocks
    if task is PartlySignedAntiJoin:
        assert counters.negatives_out == counters.premature
    else:
        assert counters.negatives_out >= counters.emitted


def test_nothing_is_measured_before_anything_ran() -> None:
    assert measured({}, 0) == UNKNOWN
    assert measured_statistics(lowered(NEGATION, "auto"), 10) == UNKNOWN


@pytest.mark.parametrize("strategy", ["upa", "auto", "direct", "negative"])
def test_rows_without_end_are_in_the_answer(strategy: str) -> None:
    """An expirer forgets them, so the answer must not be read from it."""
    union = "SELECT k FROM a [UNBOUNDED] UNION ALL SELECT k FROM b [RANGE 5]"
    negated = (
        f"SELECT u.k FROM ({union}) AS u WHERE NOT EXISTS (SELECT * FROM c [NOW] WHERE c.k = u.k)"
    )
    for text in (union, negated, "SELECT k FROM a [UNBOUNDED]"):
        db, query = running(text, strategy)
        push(db, "a", range(1, 2), 7)
        push(db, "b", range(2, 3), 8)
        push(db, "c", range(2, 3), 9)
        db.advance(3)
        answer = db.running(query.name).answer().column(0).to_pylist()
        assert sorted(answer) == ([7, 8] if "UNION" in text else [7])
