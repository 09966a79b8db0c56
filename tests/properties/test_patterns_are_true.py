"""Update patterns are what `pattern_of` says: not less, and not more than they must be.

Not less: on random queries and streams every node of the plan keeps its pattern's promise. Not
more: for each rule there is a stream on which the next simpler pattern would be a lie.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.expressions import EXACT_AGGREGATES
from tests.generate.queries import queries
from tests.generate.streams import EVERYTHING, cut_times, random_world, worlds_of
from tests.properties.pattern_laws import (
    check_patterns,
    has_no_one_lifetime,
    is_not_predictable,
    loses_something,
)
from tests.reference.histories import World

from windrow.plan.patterns import PatternKind, pattern_of

pytestmark = pytest.mark.long

MON, WKS, WK, STR = PatternKind

CUTS = st.lists(st.integers(0, 99), min_size=2, max_size=3)


def one_operator(operators: list[str]) -> st.SearchStrategy[str]:
    """Queries of these operators only, two sources at most, shown or refreshed."""
    return queries(
        operators=operators,
        aggregates=EXACT_AGGREGATES,
        outputs=["view", "restore"],
        max_sources=2,
        eager=True,
    )


def check(text: str, world: World, positions: list[int]) -> None:
    times = cut_times(world) or [0]
    check_patterns(bind(text).root, world, [times[i % len(times)] for i in positions])


def told(texts: st.SearchStrategy[str], max_rows: int = 5) -> st.SearchStrategy:
    """A query, and histories of what it reads."""
    return texts.flatmap(lambda text: st.tuples(st.just(text), worlds_of(text, max_rows=max_rows)))


@examples(25)
@given(told(queries(aggregates=EXACT_AGGREGATES)), CUTS)
def test_every_node_keeps_the_promise_of_its_pattern(case, positions):
    check(*case, positions)


ALONE = (
    *(["union all"], ["intersect all"], ["intersect"], ["except"], ["except all"], ["distinct"]),
    *(["not exists"], ["not in"], ["exists"], ["limit", "order"], ["group"], ["relation", "join"]),
    *(["join"], ["band"], ["nrr", "join"], ["windowed subquery"], ["stream subquery"]),
)
"""Operators by themselves: small plans, whose answers are seldom empty."""


@examples(35)
@given(told(st.sampled_from(ALONE).flatmap(one_operator), 7), CUTS)
def test_each_operator_alone_keeps_the_promise_of_its_pattern(case, positions):
    check(*case, positions)


@examples(30)
@given(told(queries(predictable_only=True, keep_ids=True)), CUTS)
def test_the_end_of_a_predictable_result_is_known_at_its_birth(case, positions):
    check(*case, positions)


@examples(10)
@given(told(queries(monotone_only=True)), CUTS)
def test_a_monotonic_answer_never_shrinks(case, positions):
    check(*case, positions)


WITNESSED = {
    STR: {
        "count window": "SELECT id FROM a [ROWS 2]",
        "count window that slides": "SELECT id FROM a [ROWS 2 SLIDE 2]",
        "partitioned window": "SELECT id FROM a [PARTITION BY k ROWS 1]",
        "NOT EXISTS": "SELECT a.id FROM a [RANGE 8] WHERE NOT EXISTS "
        "(SELECT * FROM b [RANGE 8] WHERE a.k = b.k)",
        "NOT EXISTS over unbounded windows": "SELECT a.id FROM a [UNBOUNDED] WHERE NOT EXISTS "
        "(SELECT * FROM b [UNBOUNDED] WHERE a.k = b.k)",
        "NOT IN": "SELECT a.id FROM a [RANGE 8] WHERE a.k NOT IN (SELECT b.k FROM b [RANGE 8])",
        "EXCEPT": "SELECT k FROM a [RANGE 8] EXCEPT SELECT k FROM b [RANGE 8]",
        "EXCEPT ALL": "SELECT k FROM a [RANGE 8] EXCEPT ALL SELECT k FROM b [RANGE 8]",
        "aggregate": "SELECT COUNT(*) FROM a [RANGE 8]",
        "aggregate of an unbounded window": "SELECT k, SUM(v) FROM a [UNBOUNDED] GROUP BY k",
        "LIMIT": "SELECT id, v FROM a [RANGE 8] ORDER BY v LIMIT 1",
        "LIMIT over an unbounded window": "SELECT v FROM a [UNBOUNDED] ORDER BY v DESC LIMIT 1",
        "relation": "SELECT k FROM r",
        "join with a relation": "SELECT a.id FROM a [RANGE 8], r WHERE a.k = r.k",
        "EXISTS in a relation": "SELECT a.id FROM a [RANGE 8] WHERE EXISTS "
        "(SELECT * FROM r WHERE r.k = a.k)",
        "strict input of a filter": "SELECT id FROM a [ROWS 1] WHERE k > 0",
        "strict input of a join": "SELECT a.id FROM a [RANGE 8], b [ROWS 1] WHERE a.k = b.k",
        "strict input of EXISTS": "SELECT a.id FROM a [RANGE 8] WHERE EXISTS "
        "(SELECT * FROM b [ROWS 1] WHERE a.k = b.k)",
        "strict input of UNION ALL": "SELECT id FROM a [RANGE 8] UNION ALL "
        "SELECT id FROM b [ROWS 1]",
        "strict input of INTERSECT": "SELECT k FROM a [ROWS 1] INTERSECT SELECT k FROM b [RANGE 8]",
        "strict input of DISTINCT": "SELECT DISTINCT k FROM a [ROWS 1]",
        "strict input of an NRR join": "SELECT a.id FROM a [ROWS 1], n WHERE a.k = n.k",
        "strict input of a SLIDE": "SELECT COUNT(*) FROM a [RANGE 8 SLIDE 2]",
    },
    WK: {
        "join": "SELECT a.id, b.id FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k",
        "join with one expiring input": "SELECT a.id, b.id FROM a [RANGE 5], b [UNBOUNDED] "
        "WHERE a.k = b.k",
        "band join": "SELECT a.id, b.id FROM a [RANGE 5], b [RANGE 5] WHERE WINDOW(a, b) = 3",
        "EXISTS": "SELECT a.id FROM a [RANGE 5] WHERE EXISTS "
        "(SELECT * FROM b [RANGE 5] WHERE a.k = b.k)",
        "EXISTS in an unbounded window": "SELECT a.id FROM a [RANGE 5] WHERE a.k IN "
        "(SELECT b.k FROM b [UNBOUNDED])",
        "UNION ALL of different lengths": "SELECT id FROM a [RANGE 3] UNION ALL "
        "SELECT id FROM b [RANGE 5]",
        "UNION ALL with an unbounded window": "SELECT id FROM a [RANGE 3] UNION ALL "
        "SELECT id FROM b [UNBOUNDED]",
        "UNION": "SELECT k FROM a [RANGE 3] UNION SELECT k FROM b [RANGE 3]",
        "INTERSECT": "SELECT k FROM a [RANGE 5] INTERSECT SELECT k FROM b [RANGE 5]",
        "INTERSECT ALL": "SELECT k FROM a [RANGE 5] INTERSECT ALL SELECT k FROM b [RANGE 5]",
        "DISTINCT": "SELECT DISTINCT k FROM a [RANGE 5]",
        "SLIDE that does not divide the window": "SELECT id FROM a [RANGE 5 SLIDE 3]",
        "SLIDE of a join": "SELECT a.id, b.id FROM a [RANGE 6 SLIDE 2], b [RANGE 6] "
        "WHERE a.k = b.k",
        "RESTORE of short results": "RSTREAM(SELECT id FROM a [RANGE 4 SLIDE 3]) RESTORE",
        "external window beside an INTERNAL one": "SELECT a.id, b.id FROM a [RANGE 5], "
        "b [RANGE 5 INTERNAL] WHERE a.k = b.k",
        "weak input of a filter": "SELECT q.k FROM (SELECT DISTINCT k FROM a [RANGE 5]) AS q "
        "WHERE q.k > 0",
        "weak input of an NRR join": "SELECT a.id, b.id FROM a [RANGE 5], b [RANGE 5], n "
        "WHERE a.k = b.k AND a.k = n.k",
    },
    WKS: {
        "RANGE": "SELECT id FROM a [RANGE 5]",
        "NOW": "SELECT id FROM a [NOW]",
        "TUMBLE": "SELECT id FROM a [TUMBLE 5]",
        "filter": "SELECT id FROM a [RANGE 5] WHERE k > 0",
        "UNION ALL of equal lengths": "SELECT id FROM a [RANGE 5] UNION ALL "
        "SELECT id FROM b [RANGE 5]",
        "NRR join": "SELECT a.id FROM a [RANGE 5], n WHERE a.k = n.k",
        "SLIDE that divides the window": "SELECT id FROM a [RANGE 6 SLIDE 2]",
        "SLIDE with RESTORE that divides the window": "RSTREAM(SELECT id FROM a [RANGE 6 SLIDE 2])"
        " RESTORE",
        "window over a query": "SELECT q.id FROM (SELECT id FROM a [RANGE 5]) AS q [RANGE 4]",
        "window over an aggregate": "WSTREAM(SELECT COUNT(*) FROM a [RANGE 6 SLIDE 2])[RANGE 4]",
    },
}

BREAKS = {STR: is_not_predictable, WK: has_no_one_lifetime, WKS: loses_something}
"""How a plan of a pattern shows that it is not of the next simpler one."""

SEARCHED = 100  # worlds; the first few do, mostly

CASES = [(kind, rule) for kind, rules in WITNESSED.items() for rule in rules]


@pytest.mark.parametrize("kind, rule", CASES, ids=lambda value: getattr(value, "name", value))
def test_a_rule_is_no_stricter_than_some_stream_asks(kind, rule):
    text = WITNESSED[kind][rule]
    plan = bind(text).root
    assert pattern_of(plan).kind is kind
    read = [name for name in EVERYTHING if f" {name} " in f" {text.replace(',', ' ')} "]
    tried = (random_world(seed, names=read) for seed in range(SEARCHED))
    assert any(BREAKS[kind](plan, world) for world in tried), "no stream asks for so much"
