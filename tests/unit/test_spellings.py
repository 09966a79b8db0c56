"""Equivalent spellings of a query reach one plan: TPC-H's Q17 and Q19 as printed and by hand."""

import pytest

from windrow.optimize.context import PlanContext
from windrow.optimize.passes import optimize
from windrow.optimize.rules import apply_rules
from windrow.plan.nodes import Plan, Query
from windrow.plan.session import Session
from windrow_lab.bench import spellings
from windrow_lab.bench.spellings import LINEITEM, PART_STREAM, Spelling


def planned(spelling: Spelling, text: str) -> Plan:
    session = Session()
    session.execute(f"{LINEITEM}; {spelling.part};")
    part = "part [UNBOUNDED]" if spelling.part == PART_STREAM else "part"
    (query,) = session.execute(text.format(window=20_000, part=part))
    assert isinstance(query, Query)
    return apply_rules(query.root)


@pytest.mark.parametrize("spelling", spellings.spellings(), ids=lambda s: s.name)
def test_both_spellings_have_one_plan(spelling: Spelling) -> None:
    assert planned(spelling, spelling.printed) == planned(spelling, spelling.by_hand)


DECLARED = """
    CREATE STREAM a (ts TIMESTAMP, k BIGINT, v BIGINT NOT NULL) TIMESTAMP BY ts;
    CREATE STREAM b (ts TIMESTAMP, k BIGINT, v BIGINT NOT NULL) TIMESTAMP BY ts;
"""
A, B = "a [RANGE 5 SECONDS]", "b [RANGE 3 SECONDS]"
WITHOUT = f"SELECT a.v FROM {A} WHERE NOT EXISTS (SELECT * FROM {B} WHERE b.k = a.k)"
PAIRS = f"SELECT a.v, b.v AS w FROM {A}, {B} WHERE a.k = b.k"


@pytest.mark.parametrize("strategy", ["upa", "auto", "negative", "direct"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (WITHOUT, f"SELECT a.v FROM {A} LEFT JOIN {B} ON a.k = b.k WHERE b.k IS NULL"),
        (WITHOUT, f"SELECT a.v FROM {A} LEFT JOIN {B} USING (k) WHERE b.v IS NULL"),
        (WITHOUT, f"SELECT a.v FROM {B} RIGHT JOIN {A} ON a.k = b.k WHERE b.k IS NULL"),
        (WITHOUT, f"SELECT a.v FROM {B} FULL JOIN {A} ON a.k = b.k WHERE b.v IS NULL"),
        (PAIRS, f"SELECT a.v, b.v AS w FROM {A} JOIN {B} ON a.k = b.k"),
        (PAIRS, f"SELECT a.v, b.v AS w FROM {A} JOIN {B} USING (k)"),
    ],
)
def test_equivalent_joins_have_one_physical_plan(one: str, other: str, strategy: str) -> None:
    session = Session()
    session.execute(DECLARED)
    first, second = session.execute(f"{one}; {other};")
    assert isinstance(first, Query)
    assert isinstance(second, Query)
    plans = optimize((first, second), PlanContext(strategy))
    assert plans[0].identity == plans[1].identity
