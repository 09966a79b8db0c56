"""The join of many signed inputs: its changes are those of the join by definition."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.multi_reference import (
    a_match,
    changes,
    clocks,
    cut,
    net_of,
    net_of_joins,
    schema,
    to_changes,
)

from windrow.operators.join.multi import loops
from windrow.operators.join.multi.task import MultiZSetJoin
from windrow.physical.conditions import Method

pytestmark = pytest.mark.long

SIZES = {2: 20, 3: 12, 4: 7}


def run(rng, match, ordered, inputs, method) -> Counter:
    """Feed the inputs step by step; reorder, save and load in the middle."""
    n = len(inputs)

    def orders() -> tuple:
        return tuple((i, *rng.sample([j for j in range(n) if j != i], n - 1)) for i in range(n))

    def make() -> MultiZSetJoin:
        return MultiZSetJoin(match, orders(), method, ordered=ordered)

    join, got, last = make(), Counter(), None
    steps = clocks(rng, 15)
    for number, clock in enumerate(steps):
        deltas = (to_changes(schema(i), cut(found, last, clock)) for i, found in enumerate(inputs))
        got.update(net_of(join.step(tuple(deltas), clock)))
        join.check()
        last = clock
        if number == len(steps) // 2:
            fresh = make()
            fresh.load(join.save())
            fresh.check()
            join = fresh
        join.reorder(orders())
    return got


@pytest.mark.parametrize("shape", ["star", "graph", "bands", "none", "any"])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    n=st.sampled_from(sorted(SIZES)),
    method=st.sampled_from([Method.HASH, Method.LOOPS]),
)
def test_changes_add_up_to_those_of_the_join(shape, seed, n, method):
    rng = random.Random(seed)
    match = a_match(rng, n, shape, lag=rng.choice([0, None]))
    ordered = tuple(rng.random() < 0.5 for _ in range(n))
    inputs = [changes(rng, i, SIZES[n], ordered=o) for i, o in enumerate(ordered)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "SLICE", rng.choice([1, 4, loops.SLICE]))
        patch.setattr(loops, "ROOM", rng.choice([1, 7, loops.ROOM]))
        got = run(rng, match, ordered, inputs, method)
    assert {k: w for k, w in got.items() if w} == net_of_joins(match, inputs)
