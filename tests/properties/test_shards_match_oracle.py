"""On any number of shards a query is right at every instant, for any split of its input."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_right
from tests.reference.drive import events
from tests.reference.histories import World
from tests.reference.shards import ShardedDrive, drive_shards

from windrow.runtime.shards import agenda

pytestmark = pytest.mark.long  # half a minute of random queries


UNPACED = st.just("off")


@st.composite
def sharded_drives(
    draw: st.DrawFn, world: World, paces: st.SearchStrategy[int | str] = UNPACED
) -> ShardedDrive:
    """Any way to feed a world to shards."""
    cuts = draw(st.sets(st.integers(0, len(events(world))), max_size=6))
    return ShardedDrive(
        shards=draw(st.sampled_from((1, 2, 5))),
        strategy=draw(st.sampled_from(STRATEGIES)),
        cuts=tuple(sorted(cuts)),
        heartbeat=draw(st.booleans()),
        restarts=frozenset(draw(st.sets(st.integers(0, 6), max_size=2))),
        seed=draw(st.integers(0, 99)),
        pace=draw(paces),
    )


def assert_sharded(text: str, world: World, plan: ShardedDrive) -> None:
    """The shards' changelogs are right together."""
    assert_right(text, world, lambda until: drive_shards(text, world, plan, until), plan.hold)


@given(st.data())
@examples(60)
def test_every_query_is_right_on_shards(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


@given(st.data())
@examples(40)
def test_a_step_that_is_cut_everywhere_tells_the_same(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world))
    every, first = data.draw(st.sampled_from([(1, 1), (1, 3), (2, 1), (3, 2)]))
    note(f"{text}\n{plan}\n{every} {first}")
    with patch.multiple(agenda, EVERY=every, FIRST_MARKS=first, SLICE_ROWS=1):
        assert_sharded(text, world, plan)


UNIONS = (
    "SELECT k FROM a [RANGE 5] UNION ALL SELECT k FROM b [ROWS 2]",
    "SELECT k, COUNT(*) FROM (SELECT k FROM a [RANGE 5] UNION ALL SELECT k FROM b [ROWS 2]) AS u "
    "GROUP BY k",
    "SELECT COUNT(*) FROM a [NOW] UNION ALL SELECT v FROM b [RANGE 3]",
    "SELECT DISTINCT v FROM (SELECT v FROM a [ROWS 1] UNION ALL SELECT v FROM b [RANGE 3]) AS u",
)


@given(st.data())
@examples(30)
def test_rows_of_one_shard_and_of_all_are_united(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(UNIONS))
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


@given(st.data())
@examples(25)
def test_a_query_that_lets_time_pass_bit_by_bit_tells_the_same(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world, st.sampled_from((1, 2, 5))))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)
