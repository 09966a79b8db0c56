"""Every rule keeps the answer: the oracle gives the same changes before it and after it."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.grammar import AGGREGATES
from tests.generate.queries import queries
from tests.generate.streams import worlds
from tests.reference.histories import Row, World
from tests.reference.oracle import Oracle, same_rows

from windrow.optimize.filters import push_filter_below_project
from windrow.optimize.negations import pull_negation_above_join, push_negation_below_join
from windrow.optimize.projections import merge_projections
from windrow.optimize.rewriting import Rule
from windrow.optimize.rules import PREPARING, RULES, apply_rules
from windrow.plan.nodes import Plan

pytestmark = pytest.mark.long

ALONE: tuple[tuple[Rule, ...], ...] = (
    *((rule,) for rule in (*PREPARING, *RULES)),
    (push_negation_below_join,),
    (pull_negation_above_join,),
)
TOGETHER: tuple[tuple[Rule, ...], ...] = (
    RULES,
    (*RULES, push_negation_below_join),
    (*RULES, pull_negation_above_join),
)

EXACT = tuple(name for name in AGGREGATES if "approx" not in name.lower())
"""Approximate aggregates may differ between plans; the oracle has no truth for them."""

JOIN = "a [RANGE 5], b [RANGE 3] WHERE a.k = b.k"
NEGATION = "NOT EXISTS (SELECT * FROM c [RANGE 4] WHERE c.k = {}.k)"

BY_HAND = (
    "SELECT k FROM a [RANGE 5] WHERE v > 0",
    "SELECT k FROM a [UNBOUNDED] WHERE v > 0",
    "SELECT k FROM a [SINCE 2] WHERE v > 0",
    "SELECT k FROM a [NOW] WHERE v > 0 OR k IS NULL",
    "SELECT k FROM a [ROWS 2] WHERE v > 0",
    "SELECT k FROM a [ROWS 3 SLIDE 2] WHERE v > 0",
    "SELECT v FROM a [PARTITION BY k ROWS 1] WHERE k > 1",
    "SELECT v FROM a [PARTITION BY k ROWS 1] WHERE v > 0",
    "SELECT v FROM a [PARTITION BY k, s ROWS 1] WHERE s <> 'a' OR k = 1",
    "SELECT k FROM a [RANGE 5 SLIDE 2] WHERE v > 0",
    "RSTREAM(SELECT k FROM a [RANGE 5 SLIDE 2] WHERE v > 0) RESTORE",
    "ISTREAM(SELECT k FROM a [RANGE 5] WHERE v > 0)",
    "DSTREAM(SELECT k FROM a [RANGE 5] WHERE v > 0)",
    "WSTREAM(SELECT k FROM a [RANGE 5] WHERE v > 0)[ROWS 2]",
    "SELECT q FROM (SELECT k AS q, v AS w FROM a [RANGE 5] WHERE v > 0) AS z WHERE q = 1",
    "SELECT q + q FROM (SELECT k * 2 AS q FROM a [RANGE 5]) AS z WHERE q > 2",
    "SELECT q + 1 FROM (SELECT k * 2 AS q FROM a [RANGE 5]) AS z",
    "SELECT q FROM (SELECT k AS q, id FROM a [RANGE 5]) AS z [ROWS 2] WHERE q = 1",
    "SELECT q FROM (SELECT k AS q, id FROM a [RANGE 5]) AS z [RANGE 2] WHERE q = 1",
    "SELECT q FROM (SELECT DISTINCT k AS q, s FROM a [RANGE 5]) AS z WHERE q = 1",
    "SELECT q FROM (SELECT k AS q FROM a [RANGE 5] UNION ALL SELECT v FROM b [ROWS 2]) AS z "
    "WHERE q = 1",
    "SELECT q FROM (SELECT k AS q FROM a [RANGE 5] EXCEPT ALL SELECT v FROM b [ROWS 2]) AS z "
    "WHERE q = 1",
    "SELECT q FROM (SELECT k AS q FROM a [RANGE 5] INTERSECT SELECT v FROM b [RANGE 2]) AS z "
    "WHERE q = 1",
    "SELECT q FROM (SELECT k AS q FROM a [RANGE 5] ORDER BY v, id LIMIT 2) AS z WHERE q = 1",
    "SELECT a.v, b.v FROM a [RANGE 5 INTERNAL], b [RANGE 3 INTERNAL] WHERE a.k = b.k",
    f"WSTREAM(SELECT a.v, b.v AS w FROM {JOIN} AND a.v > 0)[RANGE 4]",
    f"SELECT a.v, b.v FROM {JOIN} AND a.v > 0 AND b.v < 3 AND a.v <> b.v",
    f"SELECT x.v FROM (SELECT a.v, b.v AS w FROM {JOIN}) AS x WHERE v > 0 AND w < 3",
    f"SELECT x.v FROM (SELECT a.v, b.v AS w FROM {JOIN}) AS x WHERE v = w",
    "SELECT x.w FROM (SELECT a.k, b.k AS j, a.v, b.v AS w FROM a [RANGE 5], b [RANGE 3]) AS x "
    "WHERE (k = j AND v > 0) OR (j = k AND w < 3)",
    "SELECT x.w FROM (SELECT a.v, n.w FROM a [RANGE 5], n WHERE a.k = n.k) AS x WHERE v = w",
    *(
        f"SELECT a.v, b.v FROM a [RANGE 5] {side} JOIN b [RANGE 3] ON a.k = b.k AND a.v < b.v "
        f"WHERE {condition}"
        for side in ("LEFT", "RIGHT", "FULL")
        for condition in (
            *("a.v > 0", "b.v > 0", "a.v + b.v > 0", "b.v IN (1, NULL)", "NOT b.v > 1"),
            *("b.k IS NULL AND a.v > 0", "b.v IS NULL", "b.id IS NULL", "a.k IS NULL"),
            *("b.s IS NULL", "COALESCE(b.v, 1) > 0", "a.v > 0 OR b.v > 0", "b.v IS NOT NULL"),
            "a.id IS NULL",
        )
    ),
    f"SELECT a.v FROM {JOIN} AND {NEGATION.format('a')}",
    f"SELECT a.v FROM {JOIN} AND {NEGATION.format('b')}",
    f"SELECT a.v FROM {JOIN} AND a.v NOT IN (SELECT v FROM c [RANGE 4])",
    f"SELECT a.v FROM {JOIN} AND b.v NOT IN (SELECT v FROM c [ROWS 1])",
    f"SELECT a.v FROM {JOIN} AND EXISTS (SELECT * FROM c [RANGE 4] WHERE c.k = a.k)",
    f"SELECT a.v FROM {JOIN} AND NOT EXISTS (SELECT * FROM c [NOW])",
    f"SELECT a.v FROM {JOIN} AND "
    "NOT EXISTS (SELECT * FROM c [RANGE 4] WHERE c.k = a.k AND c.v > b.v)",
    "SELECT a.v FROM a [RANGE 5], r WHERE a.k = r.k AND "
    "NOT EXISTS (SELECT * FROM c [RANGE 4] WHERE c.k = a.k)",
    "SELECT a.v FROM a [RANGE 5], n WHERE a.k = n.k AND n.w > 0 AND a.v > 0",
    "SELECT a.v, n.w FROM a [RANGE 5], r, n WHERE a.k = r.k AND r.w = n.w AND a.v > 0",
    "SELECT x.v, n.w FROM (SELECT a.k, a.v FROM a [ROWS 2], r WHERE a.k = r.k UNION ALL "
    "SELECT k, w FROM r) AS x, n WHERE x.k = n.k",
    f"SELECT a.k, COUNT(*), SUM(b.v) FILTER (WHERE a.x > 0) FROM {JOIN} AND a.id > 1 "
    "GROUP BY a.k HAVING a.k = 1",
    "SELECT COUNT(*) FROM a [RANGE 5] WHERE v > 0",
    "SELECT a.v FROM a [RANGE 5 INTERNAL], b [RANGE 3] WHERE a.k = b.k AND a.v > 0",
    "SELECT a.v FROM a, b WHERE a.k = b.k AND WINDOW(a, b) = 3 AND b.v > 0",
)


def changes(plan: Plan, world: World) -> list[Row]:
    """The changelog as rows; an endless stream of whole answers is cut at one instant."""
    return [(ts, sign, *row) for ts, sign, row in Oracle(plan, world, until=60).changes()]


def bases(plan: Plan) -> tuple[Plan, ...]:
    """The plan, and forms of it in which other rules find something to do."""
    bared = apply_rules(plan, (merge_projections, push_filter_below_project))
    negated = apply_rules(plan, (push_negation_below_join,))
    pushed = apply_rules(plan, RULES[:-2])
    return plan, bared, negated, pushed


def assert_same_answers(plan: Plan, world: World) -> None:
    rewritten = {apply_rules(base, rules) for base in bases(plan) for rules in ALONE}
    rewritten |= {apply_rules(plan, rules) for rules in TOGETHER}
    truth = changes(plan, world)
    for other in rewritten - {plan}:
        assert same_rows(truth, changes(other, world))


def names(rules: tuple[Rule, ...]) -> str:
    return rules[0].__name__ if len(rules) == 1 else f"{len(rules)} rules"  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", BY_HAND)
@given(world=worlds(max_rows=8))
@examples(2)
def test_rules_keep_the_answers_of_queries_by_hand(text: str, world: World) -> None:
    assert_same_answers(bind(text).root, world)


@given(text=queries(aggregates=EXACT), world=worlds(max_rows=8))
@examples(25)
def test_rules_keep_the_answers_of_random_queries(text: str, world: World) -> None:
    assert_same_answers(bind(text).root, world)


@pytest.mark.parametrize("rules", ALONE, ids=names)
def test_each_rule_has_something_to_do_among_the_queries_by_hand(rules: tuple[Rule, ...]) -> None:
    plans = [base for text in BY_HAND for base in bases(bind(text).root)]
    assert any(apply_rules(plan, rules) != plan for plan in plans)


def test_pulling_up_undoes_pushing_down() -> None:
    plan = bind(f"SELECT a.v FROM {JOIN} AND {NEGATION.format('a')}").root
    below = apply_rules(plan, (push_negation_below_join,))
    assert below != plan
    assert apply_rules(below, (pull_negation_above_join,)) == plan
