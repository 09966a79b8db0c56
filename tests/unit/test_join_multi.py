"""The join of many predicted inputs: all methods, orders and forms give the join by definition."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.multi_reference import (
    a_match,
    clocks,
    cut,
    events,
    joined,
    results_of,
    schema,
    to_delta,
)

from windrow.operators.join.match import MultiMatch
from windrow.operators.join.multi import loops
from windrow.operators.join.multi.task import MultiJoin
from windrow.physical.conditions import Form, Method

SHAPES = ("star", "composite", "graph", "bands", "compares", "none", "any")
SIZES = {2: 25, 3: 14, 4: 9, 5: 6, 6: 5}


def orders_of(rng: random.Random, n: int, method: Method, general: bool) -> tuple:
    if method is Method.NAIVE:
        return (tuple(rng.sample(range(n), n)),) * n
    shuffled = [rng.sample(range(n), n) for _ in range(n)]
    if general:
        return tuple(tuple(o) for o in shuffled)
    return tuple((i, *(j for j in o if j != i)) for i, o in enumerate(shuffled))


def run(rng, match: MultiMatch, forms, inputs, method, general) -> Counter:
    """Feed the inputs step by step; reorder, save and load in the middle."""
    n = len(inputs)

    def make() -> MultiJoin:
        every = rng.choice([None, 1, 5, 1000])
        return MultiJoin(
            match, forms, orders_of(rng, n, method, general), method, expire_every=every
        )

    join, got, last = make(), Counter(), None
    steps = clocks(rng, 25)
    for number, clock in enumerate(steps):
        deltas = (to_delta(schema(i), cut(found, last, clock)) for i, found in enumerate(inputs))
        got += results_of(join.step(tuple(deltas), clock))
        join.check()
        last = clock
        if number == len(steps) // 2:
            fresh = make()
            fresh.load(join.save())
            fresh.check()
            join = fresh
        join.reorder(orders_of(rng, n, method, general))
    return got


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    n=st.sampled_from(sorted(SIZES)),
    method=st.sampled_from(Method),
    general=st.booleans(),
)
def test_every_method_order_and_form_gives_the_join_by_definition(shape, seed, n, method, general):
    rng = random.Random(seed)
    match = a_match(rng, n, shape, lag=rng.choice([0, 2, None]))
    some = rng.choice([list(Form), [Form.FIFO]])
    forms = tuple(rng.choice(some) for _ in range(n))
    size = rng.choice([SIZES[n], SIZES[n], 0])
    inputs = [
        events(rng, i, rng.choice([SIZES[n], size]), form, rng.choice([1, 4, 20]))
        for i, form in enumerate(forms)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "SLICE", rng.choice([1, 4, loops.SLICE]))
        patch.setattr(loops, "ROOM", rng.choice([1, 7, loops.ROOM]))
        got = run(rng, match, forms, inputs, method, general)
    assert got == joined(match, inputs)
