"""Tuples that are merged by pane and group before they reach a shard change no answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.streams import worlds
from tests.properties.test_shards_match_oracle import assert_sharded, sharded_drives
from tests.reference.shards import ShardedDrive, ShardSet, program_of

from windrow.runtime.shards.ports import TIME

pytestmark = pytest.mark.long

CALLS = (
    "COUNT(*) AS n",
    "SUM(v) AS t",
    "AVG(v) AS m",
    "MAX(x) AS g",
    "MIN(v) AS l",
    "COUNT(s) AS c",
    "SUM(v) FILTER (WHERE x > 0) AS f",
    "COUNT(*) FILTER (WHERE v > 0) AS p",
    "AVG(k) FILTER (WHERE v < 2) AS a",
    "BOOL_OR(v > 1) AS o",
    "BOOL_AND(x > 0) AS e",
    "MAX(ts) AS w",
    "COUNT(k, v) AS b",
)
KEYS = ((), ("k",), ("s",), ("k", "s"), ("v % 2",))


@st.composite
def merged_queries(draw: st.DrawFn) -> str:
    """A query whose input is merged."""
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=4, unique=True))
    keys = draw(st.sampled_from(KEYS))
    window = draw(st.sampled_from(("RANGE {w} SLIDE {d}", "TUMBLE {w}")))
    width, slide = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    listed = [*(f"{key} AS key{i}" for i, key in enumerate(keys)), *calls]
    text = f"SELECT {', '.join(listed)} FROM a [{window.format(w=width, d=slide)}]"
    text += draw(st.sampled_from(("", " WHERE v > 0", " WHERE s IS NOT NULL AND x >= 0")))
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
        text += draw(st.sampled_from(("", " HAVING COUNT(*) > 1", " HAVING SUM(v) > 2")))
    return draw(st.sampled_from(("{}", "ISTREAM({})"))).format(text)


@given(st.data())
@examples(35)
def test_merged_tuples_give_the_right_answer_at_every_instant(data: st.DataObject) -> None:
    text = data.draw(merged_queries())
    world = data.draw(worlds())
    plan = replace(data.draw(sharded_drives(world)), merge=True)
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


Tuple = tuple[int, int | None, int | None, str | None, float | None]


@st.composite
def tuples(draw: st.DrawFn) -> list[Tuple]:
    """Tuples in any order: some will be late. Some values are too large to be merged."""
    some = st.tuples(
        st.integers(0, 40),
        st.sampled_from((1, 2, None)),
        st.sampled_from((0, 1, -3, None, 2**24, -(2**31), 2**62)),
        st.sampled_from(("a", "b", None)),
        st.sampled_from((0.5, -1.5, float("nan"), None)),
    )
    rows = draw(st.lists(some, min_size=1, max_size=30))
    return sorted(rows, key=lambda row: row[0] + draw(st.integers(-9, 9)))


def table_of(rows: list[Tuple]) -> pa.Table:
    ts, k, v, s, x = (list(column) for column in zip(*rows, strict=True))
    types = (pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.float64())
    made = [pa.array(c, t) for c, t in zip((ts, k, v, s, x), types, strict=True)]
    times, ids = pa.array(ts, pa.int64()), pa.array(range(len(ts)), pa.int64())
    return pa.table([times, *made, ids], names=[TIME, "ts", "k", "v", "s", "x", "id"])


class Watched(ShardSet):
    """Shards, and what they have told so far: changes by instant, late tuples, clocks, rows."""

    def __init__(self, text: str, plan: ShardedDrive) -> None:
        super().__init__(program_of(text, plan), plan.seed)
        self.changes: Counter[str] = Counter()
        self.late: Counter[str] = Counter()
        self.heard: list[object] = []

    def take(self, rows: list[Tuple], *, drain: bool = False) -> None:
        """Run a batch."""
        given = {0: table_of(rows)} if rows else {}
        for table in self.batch(given, {}, drain=drain):
            for row in table.to_pylist():
                sign = row.pop("_sign")
                self.changes[str(row)] += sign
        self.heard.append([shard.stats()["frontiers"] for shard in self.shards])
        self.heard.append([shard.stats()["late"] for shard in self.shards])
        self.heard.append(sum(shard.rows_in for shard in self.shards))


@given(st.data())
@examples(35)
def test_disorder_late_and_large_values_make_no_difference(data: st.DataObject) -> None:
    text = data.draw(merged_queries())
    rows = data.draw(tuples())
    cuts = sorted({0, len(rows), *data.draw(st.sets(st.integers(0, len(rows)), max_size=5))})
    plan = ShardedDrive(
        shards=data.draw(st.sampled_from((1, 3))), seed=data.draw(st.integers(0, 9))
    )
    note(f"{text}\n{rows}\n{cuts}")
    plain, merged = Watched(text, plan), Watched(text, replace(plan, merge=True))
    for one in (plain, merged):
        for start, stop in pairwise(cuts):
            one.take(rows[start:stop])
        one.take([], drain=True)
    assert +plain.changes == +merged.changes
    assert -plain.changes == -merged.changes
    assert plain.heard == merged.heard
