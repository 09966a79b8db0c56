"""Both forms of a negation give the oracle's answer, whatever stands above it and below."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import assert_same, drives

from windrow.optimize.negations import FormChoice, choose_form
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import AntiJoin

BY_B = "NOT EXISTS (SELECT * FROM b [{w2}] WHERE b.k = a.k)"
BY_C = "NOT EXISTS (SELECT * FROM c [{w3}] WHERE c.k = {side}.k)"
PAIRS = "a [{w1}], b [{w2}] WHERE a.k = b.k AND "

QUERIES = (
    f"SELECT a.k, a.v FROM a [{{w1}}] WHERE {BY_B}",
    f"SELECT a.s, a.v + 1 AS z FROM a [{{w1}}] WHERE a.v > 0 AND {BY_B}",
    f"SELECT a.k, COUNT(*), MAX(a.v), MIN(a.x) FROM a [{{w1}}] WHERE {BY_B} GROUP BY a.k",
    f"SELECT DISTINCT a.k FROM a [{{w1}}] WHERE {BY_B}",
    f"SELECT a.v FROM {PAIRS}{BY_C.replace('{side}', 'a')}",
    f"SELECT a.v FROM {PAIRS}{BY_C.replace('{side}', 'b')}",
    "SELECT z.v, b.v FROM (SELECT a.k, a.v FROM a [{w1}] "
    f"WHERE {BY_C.replace('{side}', 'a')}) AS z, b [{{w2}}] WHERE z.k = b.k",
    f"SELECT a.k FROM a [{{w1}}] WHERE {BY_B} UNION ALL SELECT k FROM c [{{w3}}]",
    "SELECT a.v FROM a [{w1}] WHERE NOT EXISTS (SELECT * FROM b [{w2}])",
    f"SELECT a.v, n.w FROM a [{{w1}}], n WHERE a.k = n.k AND {BY_B}",
    f"ISTREAM(SELECT a.v FROM a [{{w1}}] WHERE {BY_B})",
    f"SELECT a.v FROM a [{{w1}}] WHERE {BY_B} ORDER BY a.v, a.id LIMIT 2",
    f"SELECT a.v FROM a [{{w1}}] WHERE {BY_B} AND {BY_C.replace('{side}', 'a')}",
    "SELECT a.v FROM a [{w1}] WHERE NOT EXISTS (SELECT * FROM r WHERE r.k = a.k)",
    "SELECT a.v FROM a [{w1}] EXCEPT ALL "
    f"SELECT b.v FROM b [{{w2}}] WHERE {BY_C.replace('{side}', 'b')}",
)

WINDOWS = ("RANGE 5", "RANGE 3", "RANGE 4 SLIDE 3", "NOW", "UNBOUNDED", "ROWS 2")


@given(st.data())
@examples(60)
def test_a_negation_is_right_in_both_forms(data: st.DataObject) -> None:
    partly_signed = data.draw(st.booleans())

    def forced(plan: AntiJoin, statistics: Statistics, *, by_cost: bool) -> FormChoice:
        return replace(choose_form(plan, statistics, by_cost=by_cost), partly_signed=partly_signed)

    window = st.sampled_from(WINDOWS)
    spans = {name: data.draw(window) for name in ("w1", "w2", "w3")}
    text = data.draw(st.sampled_from(QUERIES)).format(**spans)
    world = data.draw(worlds_of(text))
    plan = replace(data.draw(drives(world)), strategy=data.draw(st.sampled_from(("upa", "auto"))))
    note(f"{text}\n{plan}\nmixed: {partly_signed}")
    with patch("windrow.optimize.physical.builder.choose_form", forced):
        assert_same(text, world, plan)
