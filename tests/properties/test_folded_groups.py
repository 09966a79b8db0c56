"""Groups that shards fold before their rows meet are right, and the same to the last bit."""

from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.grouped import grouped_joins, placements
from tests.generate.streams import worlds
from tests.properties.test_early_aggregation import restless
from tests.properties.test_shards_match_oracle import assert_sharded, sharded_drives
from tests.reference.histories import Change
from tests.reference.shards import drive_shards, program_of

pytestmark = pytest.mark.long

CALLS = (
    "COUNT(*) AS n",
    "SUM(b.x) AS t",
    "AVG(b.x) AS m",
    "SUM(a.v) AS w",
    "AVG(b.v) AS z",
    "COUNT(b.s) AS c",
    "SUM(b.x) FILTER (WHERE a.v > 0) AS f",
    "COUNT(*) FILTER (WHERE a.v > b.v) AS p",
    "SUM(a.x * b.x) AS q",
    "SUM(a.id) AS i",
    "AVG(a.x) FILTER (WHERE b.k = 1) AS a",
    "SUM(CAST(b.v AS DECIMAL(9, 2))) AS d",
)
KEYS = ((), ("a.s",), ("a.s", "b.v"), ("a.x",), ("a.v + b.v",))
SOURCES = (
    "a [RANGE {w}{d}], b [RANGE {w}{d}] WHERE a.k = b.k",
    "a [RANGE {w}{d}], b [RANGE 4{d}] WHERE a.k = b.k AND a.v <> b.v",
    "a [RANGE {w}{d}], b [RANGE {w}{d}], c [RANGE 3{d}] WHERE a.k = b.k AND b.k = c.k",
    "(SELECT DISTINCT k, v, s, x, id FROM a [RANGE {w}{d}]) AS a, b [RANGE 9{d}] WHERE a.k = b.k",
)


@st.composite
def folded_queries(draw: st.DrawFn) -> str:
    """A GROUP BY whose rows must change shards."""
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=4, unique=True))
    keys = draw(st.sampled_from(KEYS))
    slide = draw(st.sampled_from(("", " SLIDE 2", " SLIDE 5")))
    source = draw(st.sampled_from(SOURCES)).format(w=draw(st.integers(1, 12)), d=slide)
    listed = [*(f"{key} AS key{i}" for i, key in enumerate(keys)), *calls]
    text = f"SELECT {', '.join(listed)} FROM {source}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
        text += draw(st.sampled_from(("", " HAVING COUNT(*) > 1", " HAVING SUM(b.v) > 2")))
    return draw(st.sampled_from(("{}", "{}", "ISTREAM({})"))).format(text)


@given(st.data())
@examples(12)
def test_folded_groups_are_right_at_every_instant(data: st.DataObject) -> None:
    text = data.draw(folded_queries())
    world = data.draw(worlds(max_rows=10))
    plan = replace(data.draw(sharded_drives(world)), merge=True)
    assert program_of(text, plan).folded() == ["q"]
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


@given(st.data())
@examples(12)
def test_inputs_aggregated_early_are_right_on_shards(data: st.DataObject) -> None:
    query = data.draw(grouped_joins())
    world = data.draw(worlds(max_rows=8))
    early = data.draw(placements(query.names))
    plan = replace(
        data.draw(sharded_drives(world)), merge=data.draw(st.booleans()), early_aggregation=early
    )
    note(f"{query.text}\n{plan}")
    assert_sharded(query.text, world, plan)


@given(st.data())
@examples(20)
def test_what_auto_aggregates_early_by_declared_rates_is_right_on_shards(
    data: st.DataObject,
) -> None:
    query = data.draw(grouped_joins())
    world = data.draw(worlds(max_rows=8))
    plan = replace(
        data.draw(sharded_drives(world)),
        merge=data.draw(st.booleans()),
        expect=data.draw(st.sampled_from(((100, 2), (1000, 5), (3, 50)))),
    )
    note(f"{query.text}\n{plan}\n{program_of(query.text, plan).placed().begun}")
    assert_sharded(query.text, world, plan)


@given(st.data())
@examples(25)
def test_shards_that_change_what_they_aggregate_early_fold_into_the_same_groups(
    data: st.DataObject,
) -> None:
    text = data.draw(folded_queries())
    world = data.draw(worlds(max_rows=20))
    cuts = tuple(range(0, 60, data.draw(st.integers(2, 6))))
    drive = data.draw(sharded_drives(world, expiries=("auto",)))
    plan = replace(drive, merge=True, strategy="auto", cuts=cuts)
    turns = iter(data.draw(st.lists(st.integers(0, 7), min_size=60, max_size=60)))
    note(f"{text}\n{plan}")
    with restless(turns):
        assert_sharded(text, world, plan)


HARD = (1e16, 1.0, -1e16, 1e-300, 0.1, 0.2, 1.7e308, -1.7e308, 5e-324, 1e200, 3.0, None)
ODD = (float("nan"), float("inf"), float("-inf"))


def bits(changes: list[Change]) -> list[tuple[object, ...]]:
    """Net changes, doubles by their bits."""
    net: dict[tuple[object, ...], int] = {}
    for ts, sign, row in changes:
        told = tuple(pack("d", v) if isinstance(v, float) else v for v in row)
        net[ts, *told] = net.get((ts, *told), 0) + sign
    return sorted(((*row, n) for row, n in net.items() if n), key=repr)


@given(st.data())
@examples(12)
def test_folded_sums_are_the_same_to_the_last_bit(data: st.DataObject) -> None:
    text = data.draw(folded_queries())
    world = data.draw(worlds(max_rows=10))
    values = st.sampled_from(HARD + data.draw(st.sampled_from(((), ODD))))
    for name in ("a", "b"):
        history = world.streams[name]
        rows = [(*row[:5], data.draw(values), *row[6:]) for row in history.rows]
        world.streams[name] = replace(history, rows=rows)
    plan = replace(data.draw(sharded_drives(world)), merge=True)
    note(f"{text}\n{plan}")
    whole = drive_shards(text, world, replace(plan, merge=False, shards=1), 60)
    assert bits(drive_shards(text, world, plan, 60)) == bits(whole)
