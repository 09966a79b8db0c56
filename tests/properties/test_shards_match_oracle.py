"""On any number of shards a query is right at every instant, for any split of its input."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds
from tests.properties.test_engine_matches_oracle import STRATEGIES
from tests.reference.drive import events, net_at
from tests.reference.histories import World, same_rows
from tests.reference.oracle import Oracle
from tests.reference.shards import ShardedDrive, drive_shards


@st.composite
def sharded_drives(draw: st.DrawFn, world: World) -> ShardedDrive:
    """Any way to feed a world to shards."""
    cuts = draw(st.sets(st.integers(0, len(events(world))), max_size=6))
    return ShardedDrive(
        shards=draw(st.sampled_from((1, 2, 5))),
        strategy=draw(st.sampled_from(STRATEGIES)),
        cuts=tuple(sorted(cuts)),
        heartbeat=draw(st.booleans()),
        restarts=frozenset(draw(st.sets(st.integers(0, 6), max_size=2))),
        seed=draw(st.integers(0, 99)),
    )


def assert_sharded(text: str, world: World, plan: ShardedDrive) -> None:
    """The shards' changelogs together add up to the oracle's answer at every instant."""
    query = bind(text)
    known = Oracle(query, world).instants()
    if not known:
        return
    oracle = Oracle(query, world, until=known[-1])
    instants = [at for at in oracle.instants() if at <= known[-1]]
    got = net_at(drive_shards(text, world, plan, known[-1]), instants)
    truth = oracle.answers(instants)
    for at, mine in zip(instants, got, strict=True):
        assert same_rows(mine, truth[at]), f"at {at}: got {mine}, expected {truth[at]}"


@given(st.data())
@examples(100)
def test_every_query_is_right_on_shards(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds())
    plan = data.draw(sharded_drives(world))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)
