"""The engine is right at every instant, for any query, world, split and strategy."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds_of
from tests.reference.drive import Drive, drive, events, net_at
from tests.reference.histories import Change, World, same_rows
from tests.reference.oracle import Oracle

from windrow.plan.nodes import Rstream, nodes_of

STRATEGIES = ("upa", "auto", "negative", "direct")


@st.composite
def drives(draw: st.DrawFn, world: World) -> Drive:
    """Any way to feed a world."""
    happened = len(events(world))
    some = st.sets(st.integers(0, happened), max_size=6)
    cuts = draw(some | st.just(set(range(happened))))  # all: pushed one by one
    return Drive(
        strategy=draw(st.sampled_from(STRATEGIES)),
        cuts=tuple(sorted(cuts)),
        heartbeat=draw(st.booleans()),
        sweep=draw(st.booleans()),
        restarts=frozenset(draw(st.sets(st.integers(0, 6), max_size=2))),
        as_dicts=draw(st.booleans()),
    )


def assert_right(
    text: str, world: World, run: Callable[[int], list[Change]], hold: int = 0
) -> None:
    """A changelog, run up to an instant, adds up to the oracle's answer at every instant."""
    query = bind(text, hold)
    oracle = Oracle(query, world)
    known = instants = oracle.instants()
    if not known:
        return
    if any(isinstance(node, Rstream) for node in nodes_of(query.root)):
        oracle = Oracle(query, world, until=known[-1])
        instants = [at for at in oracle.instants() if at <= known[-1]]
    got = net_at(run(known[-1]), instants)
    truth = oracle.answers(instants)
    for at, mine in zip(instants, got, strict=True):
        assert same_rows(mine, truth[at]), f"at {at}: got {mine}, expected {truth[at]}"


def assert_same(text: str, world: World, plan: Drive) -> None:
    """The engine is right."""
    assert_right(text, world, lambda until: drive(text, world, plan, until), plan.hold)


@given(st.data())
@examples(90)
def test_every_query_is_right_at_every_instant(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(drives(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)
