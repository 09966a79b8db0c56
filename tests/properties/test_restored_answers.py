"""RESTORE tells all that was there since the last refresh: also what was there from the start."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.streams import worlds
from tests.properties.test_engine_matches_oracle import assert_same, drives
from tests.reference.drive import Drive
from tests.reference.histories import RelationHistory, StreamHistory, World

pytestmark = pytest.mark.long

HEADS = ("COUNT(*) AS c", "SUM(x.k) AS s, COUNT(x.k) AS c", "x.k AS k, COUNT(*) AS c")
FROMS = (
    "a AS x [RANGE 4 SLIDE 3]",
    "a AS x [TUMBLE 2]",
    "a AS x [RANGE 3 SLIDE 2], r",
    "a AS x [RANGE 3 SLIDE 2], n",
    "r AS x, b [RANGE 4 SLIDE 3]",
    "a AS x [SINCE 3], b [RANGE 4 SLIDE 3]",
)
WHERES = ("", " WHERE x.k > 1", " WHERE x.k = 1 AND x.s IS NOT NULL")
OUTPUTS = (
    "RSTREAM({}) RESTORE",
    "ISTREAM({}) RESTORE",
    "RSTREAM(SELECT MAX(z.c) AS m FROM ({}) AS z) RESTORE",
)


@given(st.data())
@examples(40)
def test_restored_answers_are_right_at_every_instant(data: st.DataObject) -> None:
    head, source, where, output = (
        data.draw(st.sampled_from(parts)) for parts in (HEADS, FROMS, WHERES, OUTPUTS)
    )
    by = " GROUP BY x.k" if "AS k" in head else ""
    text = output.format(f"SELECT {head} FROM {source}{where}{by}")
    world = data.draw(worlds(max_rows=8))
    plan = data.draw(drives(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@pytest.mark.parametrize("where", ["", " WHERE ts > 2"])
def test_the_row_of_no_tuples_is_restored_if_it_outlives_the_first_instant(where: str) -> None:
    tuples = [(ts, ts, 1, 0, "a", 0.0, ts) for ts in (1, 2, 3)]
    streams = {"a": StreamHistory(tuples), "b": StreamHistory([]), "c": StreamHistory([])}
    world = World(streams, {"r": RelationHistory([]), "n": RelationHistory([])})
    text = f"RSTREAM(SELECT COUNT(v) AS n FROM a [RANGE 4 SLIDE 3]{where}) RESTORE"
    assert_same(text, world, Drive("upa"))
