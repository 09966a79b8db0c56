"""Outer joins are right at every instant, in every form that they are written in."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import assert_same, drives
from tests.properties.test_shards_match_oracle import assert_sharded, sharded_drives

TEXTS = (
    "SELECT a.k, b.v FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k",
    "SELECT a.k, b.v FROM a [RANGE 5] RIGHT JOIN b [RANGE 3] ON a.k = b.k",
    "SELECT a.k, b.v FROM a [RANGE 5] FULL JOIN b [RANGE 3] ON a.k = b.k",
    "SELECT a.id, b.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k AND a.v < b.v",
    "SELECT a.id, b.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k AND a.v > 1 AND b.v > 1",
    "SELECT a.id, b.id FROM a [RANGE 5] FULL JOIN b [RANGE 3] ON a.k = b.k AND a.v > 1 AND b.v > 1",
    "SELECT a.id, b.id FROM a [RANGE 3] FULL JOIN b [ROWS 3] ON a.v <= b.v",
    "SELECT a.id, b.id FROM a [RANGE 3] LEFT JOIN b [RANGE 3] ON 1 = 2",
    "SELECT a.id, b.id FROM a [RANGE 3] FULL JOIN b [RANGE 3] ON TRUE",
    "SELECT a.id, b.id FROM a [RANGE 3] FULL JOIN b [RANGE 3] ON a.v > 1 AND b.k IS NULL",
    "SELECT * FROM a [RANGE 5] LEFT JOIN b [RANGE 3] USING (k)",
    "SELECT * FROM a [RANGE 5] RIGHT JOIN b [RANGE 3] USING (k)",
    "SELECT * FROM a [RANGE 5] FULL JOIN b [RANGE 3] USING (k)",
    "SELECT k, COUNT(*), COUNT(b.id) FROM a [RANGE 5] FULL JOIN b [RANGE 3] USING (k) GROUP BY k",
    "SELECT a.k, COUNT(b.id), SUM(b.v) FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k"
    " GROUP BY a.k",
    "SELECT * FROM a [RANGE 3] NATURAL LEFT JOIN (SELECT k, v + 1 AS w FROM b [RANGE 5]) AS q",
    "SELECT a.id, b.id, c.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k"
    " LEFT JOIN c [RANGE 2] ON b.k = c.k",
    "SELECT a.id, b.id, c.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k"
    " FULL JOIN c [RANGE 2] ON a.k = c.k",
    "SELECT a.id, b.id, c.id FROM a [RANGE 5] JOIN b [RANGE 3] ON a.k = b.k"
    " LEFT JOIN c [RANGE 2] ON b.v = c.v",
    "SELECT a.id, b.id, c.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k"
    " JOIN c [RANGE 2] ON a.v = c.v",
    "SELECT a.id, b.id, c.id FROM c [RANGE 2], a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k"
    " WHERE c.k = a.k",
    "SELECT k, a.id, b.id, c.id FROM a [RANGE 5] FULL JOIN b [RANGE 3] USING (k)"
    " FULL JOIN c [RANGE 2] USING (k)",
    "SELECT a.id, r.w FROM a [RANGE 5] LEFT JOIN r ON a.k = r.k",
    "SELECT a.id, r.w FROM a [RANGE 5] RIGHT JOIN r ON a.k = r.k",
    "SELECT a.id, r.w FROM a [RANGE 5] FULL JOIN r ON a.k = r.k AND r.w > 1",
    "SELECT r.k, q.w FROM r LEFT JOIN r AS q ON r.w = q.k",
    "SELECT r.k, q.w FROM r FULL JOIN r AS q ON r.w = q.k",
    "SELECT a.id, q.n FROM a [RANGE 5] LEFT JOIN"
    " (SELECT k, COUNT(*) AS n FROM b [RANGE 3] GROUP BY k) AS q ON a.k = q.k",
    "SELECT a.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k WHERE b.k IS NULL",
    "SELECT a.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k WHERE b.id IS NULL",
    "SELECT a.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k WHERE b.v IS NULL",
    "SELECT a.id, b.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k WHERE b.v > 1",
    "SELECT a.id, b.id FROM a [RANGE 5] FULL JOIN b [RANGE 3] ON a.k = b.k WHERE a.v > 1",
    "SELECT a.id, b.id FROM a [RANGE 5] FULL JOIN b [RANGE 3] ON a.k = b.k WHERE a.v + b.v > 1",
    "SELECT a.id, b.id FROM a [RANGE 4 SLIDE 2] LEFT JOIN b [RANGE 3] ON a.k = b.k",
    "SELECT a.id, b.id FROM a [UNBOUNDED] FULL JOIN b [UNBOUNDED] ON a.k = b.k",
    "ISTREAM(SELECT a.id, b.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k)",
    "RSTREAM(SELECT a.id, b.id FROM a [RANGE 4 SLIDE 2] LEFT JOIN b [RANGE 3] ON a.k = b.k)"
    " RESTORE",
    "SELECT a.id FROM a [RANGE 5] LEFT JOIN b [RANGE 3] ON a.k = b.k"
    " WHERE NOT EXISTS (SELECT * FROM c [RANGE 2] WHERE c.k = b.k)",
    "SELECT c.id FROM c [RANGE 5] WHERE c.k NOT IN"
    " (SELECT b.id FROM a [RANGE 3] LEFT JOIN b [RANGE 3] ON a.k = b.k)",
    "SELECT a.id, n.w, b.id FROM a [RANGE 5] JOIN n ON a.k = n.k"
    " LEFT JOIN b [RANGE 3] ON n.w = b.k",
)


@pytest.mark.parametrize("text", TEXTS)
@given(data=st.data())
@examples(4)
def test_outer_joins_are_right_at_every_instant(text: str, data: st.DataObject) -> None:
    world = data.draw(worlds_of(text))
    plan = data.draw(drives(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(40)
def test_outer_joins_are_right_on_shards(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


MIXED = ("join", "theta", "outer join", "filter", "relation", "exists", "not exists", "group")


@given(st.data())
@examples(30)
def test_outer_joins_among_other_operators_are_right(data: st.DataObject) -> None:
    text = data.draw(queries(operators=MIXED, outputs=("view", "istream"), eager=True))
    world = data.draw(worlds_of(text))
    plan = data.draw(drives(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)
