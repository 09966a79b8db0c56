"""The join of signed edges."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.join_reference import (
    Event,
    a_match,
    add_net,
    arrivals,
    changes,
    clocks_of,
    cut,
    departures,
    instants,
    joined,
    net_of_answers,
    run,
    schema,
    to_delta,
)

from windrow.operators.join.hash import HashJoin
from windrow.operators.join.zset import ZSetJoin

BANDS = st.sampled_from([None, (0, 3), (-2, 2), (-5, -1)])


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), keyed=st.booleans(), band=BANDS, odd=st.booleans())
def test_the_join_of_bags_at_every_instant(seed, keyed, band, odd):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, band=band, odd=odd)
    lefts, rights = changes(rng, 30, 12), changes(rng, 30, 12)
    times = instants(lefts, rights)
    clocks = clocks_of(rng, max(times, default=0))
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), True),
        (schema("r"), cut(rng, rights, clocks), True),
    ]
    got = run(lambda: ZSetJoin(match), inputs, clocks, rng.randrange(len(clocks)))
    assert got == net_of_answers(times, joined(match, lefts, rights))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), keyed=st.booleans(), band=BANDS, odd=st.booleans())
def test_signed_and_predicted_joins_say_the_same(seed, keyed, band, odd):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, band=band, odd=odd)
    sides = {s: arrivals(rng, 30, 20, rng.choice(["fifo", "any", "mixed"])) for s in "lr"}
    end = max(instants(*sides.values()), default=0)
    clocks = clocks_of(rng, end)
    predicted = [(schema(s), cut(rng, e, clocks), False) for s, e in sides.items()]
    signed = [(schema(s), cut(rng, departures(e), clocks), True) for s, e in sides.items()]
    by_prediction = run(lambda: HashJoin(match), predicted, clocks)
    assert run(lambda: ZSetJoin(match), signed, clocks) == by_prediction


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_move_within_an_instant_nets_to_the_move(order) -> None:
    task = ZSetJoin(a_match(odd=False))
    left = to_delta(schema("l"), [Event(1, (1, 0, 1))], signed=True)
    right = to_delta(schema("r"), [Event(1, (1, 5, 0))], signed=True)
    task.step((left, right), 1)
    move = [Event(2, (1, 5, 0), weight=-1), Event(2, (1, 6, 0))]
    none = to_delta(schema("l"), [], signed=True)
    net: dict = {}
    add_net(
        net, task.step((none, to_delta(schema("r"), [move[i] for i in order], signed=True)), 2), 2
    )
    assert net == {(2, (1, 1, 1, 5)): -1, (2, (1, 1, 1, 6)): 1}
    task.check()


def test_rows_and_keys_are_forgotten_with_their_last_copy() -> None:
    task = ZSetJoin(a_match(odd=False))
    for t in range(50):
        come = [Event(t, (t, 0, t))]
        go = [Event(t + 1, (t, 0, t), weight=-1)]
        for clock, events in ((t, come), (t + 1, go)):
            task.step(tuple(to_delta(schema(s), events, signed=True) for s in "lr"), clock)
            task.check()
    assert task.state_rows() == 0
    assert len(task.pairs.keys.table) == 0
