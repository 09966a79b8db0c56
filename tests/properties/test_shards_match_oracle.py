"""On any number of shards a query is right at every instant, for any split of its input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_right
from tests.properties.test_negation_forms import QUERIES, WINDOWS
from tests.reference.drive import events, read
from tests.reference.histories import Row, World
from tests.reference.shards import ShardedDrive, ShardSet, drive_on, drive_shards, program_of

from windrow.plan.expiring import Expiry, strategy_under
from windrow.runtime.shards import agenda

pytestmark = pytest.mark.long  # half a minute of random queries


UNPACED = st.just("off")

EXPIRIES = {
    "auto": STRATEGIES,
    "input_triggered": ("auto", "upa", "direct"),
    "negative": ("auto", "negative"),
    "piggyback": ("auto", "upa", "direct"),
}
"""What SET expiry may say, with the strategies that go with it."""


@st.composite
def sharded_drives(
    draw: st.DrawFn,
    world: World,
    paces: st.SearchStrategy[int | str] = UNPACED,
    expiries: Sequence[str] = tuple(EXPIRIES),
) -> ShardedDrive:
    """Any way to feed a world to shards."""
    cuts = draw(st.sets(st.integers(0, len(events(world))), max_size=6))
    expiry = draw(st.sampled_from(expiries))
    return ShardedDrive(
        shards=draw(st.sampled_from((1, 2, 5))),
        strategy=draw(st.sampled_from(EXPIRIES[expiry])),
        cuts=tuple(sorted(cuts)),
        heartbeat=draw(st.booleans()),
        restarts=frozenset(draw(st.sets(st.integers(0, 6), max_size=2))),
        seed=draw(st.integers(0, 99)),
        pace=draw(paces),
        expiry=expiry,
    )


def assert_sharded(text: str, world: World, plan: ShardedDrive) -> None:
    """The shards' changelogs are right together."""
    assert_right(text, world, lambda until: drive_shards(text, world, plan, until), plan.hold)


@given(st.data())
@examples(50)
def test_every_query_is_right_on_shards(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


@given(st.data())
@examples(30)
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
@examples(20)
def test_rows_of_one_shard_and_of_all_are_united(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(UNIONS))
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


@given(st.data())
@examples(20)
def test_a_query_that_lets_time_pass_bit_by_bit_tells_the_same(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world, st.sampled_from((1, 2, 5))))
    plan = replace(plan, hold=data.draw(st.sampled_from((0, 3))))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)


SETTINGS = tuple(expiry for expiry in EXPIRIES if expiry != "auto")
TELLING = (
    *QUERIES,
    *UNIONS,
    "SELECT a.k, b.v FROM a [{w1}], b [{w2}] WHERE a.k = b.k",
    "SELECT a.k, COUNT(*) FROM a [{w1}], b [{w2}] WHERE a.k = b.k GROUP BY a.k",
    "SELECT a.v, n.w FROM a [{w1}], n WHERE a.k = n.k",
    "SELECT k, COUNT(*), MAX(v) FROM a [{w1}] GROUP BY k",
    "SELECT DISTINCT k FROM a [{w1}] WHERE v > 0",
)
"""Queries that mostly have results: of those that are drawn freely every other one has none."""


@st.composite
def settled(
    draw: st.DrawFn, paces: st.SearchStrategy[int | str]
) -> tuple[str, World, ShardedDrive]:
    """A query with results, a world, and how it is fed under a setting of expiry."""
    spans = {name: draw(st.sampled_from(WINDOWS)) for name in ("w1", "w2", "w3")}
    text = draw(st.sampled_from(TELLING)).format(**spans)
    world = draw(worlds_of(text))
    plan = replace(
        draw(sharded_drives(world, paces, SETTINGS)), hold=draw(st.sampled_from((0, 1, 3)))
    )
    note(f"{text}\n{plan}")
    return text, world, plan


@given(settled(st.sampled_from(("off", 1, 5))))
@examples(80)
def test_every_setting_of_expiry_is_right_on_shards(
    drawn: tuple[str, World, ShardedDrive],
) -> None:
    assert_sharded(*drawn)


class Watched(ShardSet):
    """Shards of which every batch's rows in, and net changes so far, are noted."""

    def __init__(self, text: str, plan: ShardedDrive) -> None:
        super().__init__(program_of(text, plan), plan.seed)
        self.shown: list[tuple[bool, Counter[tuple[int, Row]]]] = []

    def batch(self, inputs: dict[int, pa.Table], *args: Any, **more: Any) -> list[pa.Table]:
        tables = super().batch(inputs, *args, **more)
        told = Counter(self.shown[-1][1]) if self.shown else Counter()
        for ts, sign, row in (change for table in tables for change in read(table)):
            told[ts, row] += sign
        self.shown.append((bool(inputs), Counter({change: n for change, n in told.items() if n})))
        return tables


@given(settled(UNPACED))
@examples(50)
def test_after_a_batch_with_rows_all_settings_have_told_the_same(
    drawn: tuple[str, World, ShardedDrive],
) -> None:
    """Rows of what the query reads. Without any, time passes, unless it does by input alone."""
    text, world, plan = drawn
    last = max((ts for ts, *_ in events(world)), default=0)
    strategy = strategy_under(Expiry(plan.expiry), plan.strategy)
    mine = Watched(text, plan)
    plain = Watched(text, replace(plan, expiry="auto", strategy=strategy))
    for shards in (mine, plain):
        drive_on(shards, world, plan, last + 25)
    for (brought, told), (_, expected) in zip(mine.shown, plain.shown, strict=True):
        if brought or plan.expiry != "input_triggered":
            assert told == expected
    assert mine.shown[-1] == plain.shown[-1]
