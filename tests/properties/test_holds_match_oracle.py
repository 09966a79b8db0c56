"""Held negations are right at every instant: any query, hold, world, split, strategy, shards."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds, worlds_of
from tests.properties.test_engine_matches_oracle import assert_same, drives
from tests.properties.test_expiry_settings import SETTINGS, TIMELY, happenings, shown_step_by_step
from tests.properties.test_handover_is_invisible import switching
from tests.properties.test_negation_forms import QUERIES, WINDOWS
from tests.properties.test_rules_keep_answers import assert_same_answers
from tests.properties.test_shards_match_oracle import assert_sharded, sharded_drives
from tests.reference.drive import Drive
from tests.reference.histories import World
from tests.reference.oracle import Oracle

from windrow.plan.nodes import Hold, nodes_of

pytestmark = pytest.mark.long

BOTH = "SELECT k, v FROM a [{w1}] {word} SELECT k, v FROM b [{w2}]"
NEGATIONS = (
    *QUERIES,
    *(BOTH.replace("{word}", word) for word in ("EXCEPT", "EXCEPT ALL")),
    "SELECT k FROM a [{w1}] EXCEPT ALL SELECT k FROM b [{w2}]",
    "SELECT DISTINCT k FROM (SELECT k FROM a [{w1}] EXCEPT ALL SELECT k FROM b [{w2}]) AS z",
    "SELECT a.v FROM a [{w1}] WHERE a.k NOT IN (SELECT k FROM b [{w2}])",
    "SELECT a.v FROM a [{w1}] WHERE a.id NOT IN (SELECT b.id FROM b [{w2}] WHERE b.k = a.k)",
    "SELECT a.v FROM a [{w1}] WHERE NOT EXISTS (SELECT * FROM b [{w2}] "
    "WHERE b.k = a.k AND b.v > a.v)",
    "SELECT z.k, COUNT(*) FROM (SELECT k FROM a [{w1}] UNION ALL SELECT k FROM c [{w3}]) AS z "
    "WHERE NOT EXISTS (SELECT * FROM b [{w2}] WHERE b.k = z.k) GROUP BY z.k",
    "SELECT COUNT(*) FROM a [{w1}] WHERE NOT EXISTS (SELECT * FROM b [{w2}] WHERE b.k = a.k)",
    "SELECT k, w FROM r EXCEPT SELECT k, v FROM a [{w1}]",
    "SELECT COUNT(*) FROM a [{w1}] EXCEPT SELECT COUNT(*) FROM b [{w2}]",
    "SELECT c.v FROM c [{w3}] WHERE c.k IN (SELECT k FROM a [{w1}] EXCEPT SELECT k FROM b [{w2}])",
    "RSTREAM(SELECT k FROM a [RANGE 5 SLIDE 3] EXCEPT SELECT k FROM b [{w2}]) RESTORE",
    "DSTREAM(SELECT k FROM a [{w1}] EXCEPT ALL SELECT k FROM b [{w2}])",
    "SELECT COUNT(*) FROM (ISTREAM(SELECT k FROM a [{w1}] EXCEPT SELECT k FROM b [{w2}])) AS z "
    "[RANGE 4]",
)
HOLDS = (1, 2, 3, 5, 20)
DENSE = {"max_sources": 2, "depth": 1}


def negation(data: st.DataObject) -> str:
    """Draw a query with a negation in it."""
    spans = {name: data.draw(st.sampled_from(WINDOWS)) for name in ("w1", "w2", "w3")}
    return data.draw(st.sampled_from(NEGATIONS)).format(**spans)


@given(st.data())
@examples(120)
def test_a_held_negation_is_right_at_every_instant(data: st.DataObject) -> None:
    text = negation(data)
    world = data.draw(worlds_of(text))
    plan = replace(data.draw(drives(world)), hold=data.draw(st.sampled_from(HOLDS)))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(40)
def test_every_query_is_right_under_a_hold(data: st.DataObject) -> None:
    text = data.draw(queries(**DENSE))
    world = data.draw(worlds_of(text))
    plan = replace(data.draw(drives(world)), hold=data.draw(st.sampled_from(HOLDS)))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(60)
def test_a_switch_of_plans_goes_on_with_what_is_held(data: st.DataObject) -> None:
    text = negation(data)
    world = data.draw(worlds_of(text))
    plan = replace(data.draw(switching(world)), hold=data.draw(st.sampled_from(HOLDS)))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(80)
def test_a_held_negation_is_right_on_shards(data: st.DataObject) -> None:
    text = negation(data)
    world = data.draw(worlds_of(text))
    drive = data.draw(sharded_drives(world, st.sampled_from(("off", 1, 5))))
    plan = replace(drive, hold=data.draw(st.sampled_from(HOLDS)))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


@given(st.data())
@examples(60)
def test_a_held_negation_is_right_however_it_hears_of_time(data: st.DataObject) -> None:
    text = negation(data)
    world = data.draw(worlds_of(text))
    hold, settings = data.draw(st.sampled_from(HOLDS)), data.draw(st.sampled_from(SETTINGS))
    plan = replace(data.draw(drives(world)), hold=hold, settings=settings, strategy="auto")
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(40)
def test_timely_settings_tell_what_has_lasted_at_once(data: st.DataObject) -> None:
    text = negation(data)
    happened = data.draw(happenings(worlds_of(text)))
    held = (("hold", data.draw(st.sampled_from(HOLDS))),)
    settings = data.draw(st.sampled_from(TIMELY))
    note(f"{text}\n{held}\n{settings}")
    strategy = "negative" if settings == TIMELY[0] else "auto"  # another plan may lag an instant
    truth = shown_step_by_step(text, happened, Drive(strategy, settings=held))
    assert shown_step_by_step(text, happened, Drive("auto", settings=settings + held)) == truth


@given(st.data(), worlds(max_rows=8))
@examples(20)
def test_rules_keep_what_a_held_negation_answers(data: st.DataObject, world: World) -> None:
    text, hold = negation(data), data.draw(st.sampled_from(HOLDS))
    note(f"{text}\n{hold}")
    assert_same_answers(bind(text, hold).root, world)


@given(st.data())
@examples(30)
def test_the_oracle_of_a_hold_is_its_equation(data: st.DataObject) -> None:
    """Instant by instant, in plain Python, from the answers of what is held."""
    text = BOTH.format(w1="RANGE 5", w2="RANGE 3", word="EXCEPT ALL")
    world = data.draw(worlds_of(text))
    hold = data.draw(st.sampled_from(HOLDS))
    root = bind(text, hold).root
    assert isinstance(root, Hold)
    oracle, below = Oracle(root, world), Oracle(root.source, world)
    known = oracle.instants()
    if not known:
        return
    every = range(known[0], known[-1] + 1)
    source = below.answers(range(known[0] - hold, known[-1] + 1))
    for i, answer in oracle.answers(every).items():
        last = [source[t] for t in range(i - hold, i + 1)]
        assert answer == {r: n for r in source[i] if (n := min(bag[r] for bag in last))}


def test_every_negation_here_is_held() -> None:
    spans = dict.fromkeys(("w1", "w2", "w3"), "RANGE 5")
    for text in NEGATIONS:
        root = bind(text.format(**spans), 2).root
        assert any(isinstance(node, Hold) for node in nodes_of(root)), text
