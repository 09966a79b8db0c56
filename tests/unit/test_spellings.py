"""Equivalent spellings of a query reach one plan: TPC-H's Q17 and Q19 as printed and by hand."""

import pytest

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
