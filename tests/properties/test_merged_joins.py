"""Tuples that a join treats alike, merged by pane before they reach a shard, change no answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.streams import worlds
from tests.properties.test_shards_match_oracle import assert_sharded, sharded_drives
from tests.reference.shards import program_of

pytestmark = pytest.mark.long

CALLS = (
    "COUNT(*) AS n",
    "SUM(a.v) AS t",
    "SUM(b.v) AS u",
    "AVG(b.v) AS m",
    "COUNT(b.s) AS c",
    "SUM(a.v) FILTER (WHERE a.id > 1) AS f",
    "COUNT(*) FILTER (WHERE b.v > 0) AS p",
    "SUM(a.v * b.k) AS q",
)
EXTREMES = ("MIN(b.v) AS l", "MAX(a.x) AS g", "BOOL_OR(b.v > 1) AS o")
SOURCES = (
    "a [RANGE {w} SLIDE {d}], b [RANGE {u} SLIDE {d}] WHERE a.k = b.k",
    "a [RANGE {w} SLIDE {d}], b [RANGE {u} SLIDE {d}] WHERE a.k = b.k AND a.v > 0 AND a.id < b.id",
    "a [RANGE {w} SLIDE {d}], b [RANGE {u} SLIDE {d}], c [RANGE 5 SLIDE {d}] "
    "WHERE a.k = b.k AND b.k = c.k",
)


@st.composite
def merged_joins(draw: st.DrawFn) -> str:
    """A GROUP BY over a join under SLIDE, some inputs of which are windows of streams."""
    together = draw(st.booleans())  # groups by the join's key: no second exchange
    keys = ("a.k",) if together else draw(st.sampled_from(((), ("a.s",), ("a.s", "b.s"))))
    some = CALLS + EXTREMES if together else CALLS
    calls = draw(st.lists(st.sampled_from(some), min_size=1, max_size=4, unique=True))
    widths = {"w": draw(st.integers(1, 12)), "u": draw(st.integers(1, 12))}
    source = draw(st.sampled_from(SOURCES)).format(d=draw(st.integers(1, 9)), **widths)
    listed = [*(f"{key} AS key{i}" for i, key in enumerate(keys)), *calls]
    text = f"SELECT {', '.join(listed)} FROM {source}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
        text += draw(st.sampled_from(("", " HAVING COUNT(*) > 1")))
    return text


@given(st.data())
@examples(15)
def test_merged_inputs_of_joins_give_the_right_answer_at_every_instant(
    data: st.DataObject,
) -> None:
    text = data.draw(merged_joins())
    early = data.draw(st.sampled_from(("{a}", "{b}", "{a,b}")))
    world = data.draw(worlds(max_rows=10))
    drive = replace(data.draw(sharded_drives(world)), merge=True, early_aggregation=early)
    note(f"{text}\n{drive}")
    assert len(program_of(text, drive).merged()) == 1
    assert_sharded(text, world, drive)
