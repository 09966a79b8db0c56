"""NOT in front of LIKE, IN, BETWEEN and EXISTS is never lost on the way from text to plan."""

import pytest

from windrow.plan.expressions import walk
from windrow.plan.nodes import AntiJoin, Filter, Plan, inputs_of
from windrow.plan.session import Session

DDL = """CREATE STREAM s (ts BIGINT, k BIGINT, name STRING) TIMESTAMP BY ts;
CREATE STREAM t (ts BIGINT, k BIGINT NOT NULL) TIMESTAMP BY ts;"""


def nodes(plan: Plan) -> list[Plan]:
    return [plan, *(n for below in inputs_of(plan) for n in nodes(below))]


@pytest.mark.parametrize(
    "term",
    [
        "name NOT LIKE 'a%'",
        "name NOT ILIKE 'a%'",
        "name NOT RLIKE 'a'",
        "k NOT IN (1, 2)",
        "k NOT BETWEEN 1 AND 2",
        "NOT name LIKE 'a%'",
    ],
)
def test_a_negated_term_keeps_its_not(term: str) -> None:
    (*_, query) = _bound(f"SELECT k FROM s WHERE {term}")
    predicates = [n.predicate for n in nodes(query.root) if isinstance(n, Filter)]
    assert any(getattr(e, "name", "") == "not" for p in predicates for e in walk(p))


@pytest.mark.parametrize(
    "term",
    [
        "NOT EXISTS (SELECT * FROM t [RANGE 5] WHERE t.k = s.k)",
        "k NOT IN (SELECT k FROM t [RANGE 5])",
    ],
)
def test_a_negated_sub_query_is_an_anti_join(term: str) -> None:
    (*_, query) = _bound(f"SELECT k FROM s [RANGE 5] WHERE {term}")
    assert any(isinstance(n, AntiJoin) for n in nodes(query.root))


def _bound(text: str) -> list:
    return Session().execute(f"{DDL}{text}")
