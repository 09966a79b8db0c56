"""Equal rows of an intersection meet an NRR each as of its own time."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_same, drives
from tests.reference.drive import Drive
from tests.reference.histories import RelationHistory, StreamHistory, World

pytestmark = pytest.mark.long

QUERY = (
    "SELECT z.k, n.w FROM (SELECT 0 * k AS k FROM a [{w1}] INTERSECT ALL "
    "SELECT 0 * k FROM b [{w2}]) AS z, n WHERE z.k <= n.k"
)
WINDOWS = ("RANGE 5", "RANGE 3", "NOW", "UNBOUNDED", "ROWS 2")


def test_of_two_equal_copies_each_keeps_what_it_met() -> None:
    """The first comes at 1 and meets w = 1, the second at 3 and meets w = 2; one leaves at 6."""
    tuples = [(ts, ts, 1, 0, "a", 0.0, ts) for ts in (1, 3)]
    streams = {name: StreamHistory(tuples if name in "ab" else []) for name in "abc"}
    versions = [(0, 1, (1, 1, "a")), (2, -1, (1, 1, "a")), (2, 1, (1, 2, "a"))]
    world = World(streams, {"r": RelationHistory([]), "n": RelationHistory(versions)})
    for strategy in STRATEGIES:
        assert_same(QUERY.format(w1="RANGE 5", w2="RANGE 5"), world, Drive(strategy))


def test_a_distinct_row_keeps_what_it_met_while_duplicates_renew_it() -> None:
    """It appears at 1 and meets w = 1; at 6 the tuple of 3 takes over, and that is no appearing."""
    tuples = [(ts, ts, 1, 0, "a", 0.0, ts) for ts in (1, 3)]
    streams = {name: StreamHistory(tuples if name == "a" else []) for name in "abc"}
    versions = [(0, 1, (1, 1, "a")), (2, -1, (1, 1, "a")), (2, 1, (1, 2, "a"))]
    world = World(streams, {"r": RelationHistory([]), "n": RelationHistory(versions)})
    text = "SELECT z.k, n.w FROM (SELECT DISTINCT k FROM a [RANGE 5]) AS z, n WHERE z.k <= n.k"
    for strategy in STRATEGIES:
        assert_same(text, world, Drive(strategy))


@given(st.data())
@examples(60)
def test_each_copy_meets_the_version_of_its_own_time(data: st.DataObject) -> None:
    text = QUERY.format(
        w1=data.draw(st.sampled_from(WINDOWS)),
        w2=data.draw(st.sampled_from(WINDOWS)),
    )
    world = data.draw(worlds_of(text))
    plan = data.draw(drives(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)
