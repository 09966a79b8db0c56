"""The symmetric hash join of predicted edges, in all its forms."""

import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.join_reference import (
    Event,
    a_match,
    add_net,
    arrivals,
    clocks_of,
    cut,
    instants,
    joined,
    net_of_answers,
    run,
    schema,
    to_delta,
)

from windrow.core.time import FOREVER
from windrow.kernels.fifo_joins import BLOCK
from windrow.operators.delta import Delta
from windrow.operators.join import fifo
from windrow.operators.join.fifo import FifoJoin
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.match import Match
from windrow.physical.conditions import Form

FORMS = {
    "fifo": (Form.FIFO, "fifo"),
    "calendar": (Form.CALENDAR, "mixed"),
    "direct": (Form.DIRECT, "any"),
    "endless": (Form.CALENDAR, "endless"),
}


@pytest.mark.parametrize("left", FORMS)
@pytest.mark.parametrize("right", FORMS)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    keyed=st.booleans(),
    band=st.sampled_from([None, (0, 3), (-2, 2), (-5, -1), (4, 6)]),
    odd=st.booleans(),
)
def test_every_form_gives_the_join_at_every_instant(left, right, seed, keyed, band, odd):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, band=band, lag=rng.choice([0, None]), odd=odd)
    lefts, rights = (arrivals(rng, 25, 20, FORMS[f][1]) for f in (left, right))
    times = instants(lefts, rights)
    clocks = clocks_of(rng, max(times, default=0))
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), False),
        (schema("r"), cut(rng, rights, clocks), False),
    ]
    scan_every = rng.choice([1, 5])

    def make() -> HashJoin:
        return HashJoin(match, FORMS[left][0], FORMS[right][0], scan_every=scan_every)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fifo, "SLICE", rng.choice([1, 4, fifo.SLICE]))
        got = run(make, inputs, clocks, rng.randrange(len(clocks)))
    assert got == net_of_answers(times, joined(match, lefts, rights))


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    keyed=st.booleans(),
    band=st.sampled_from([None, (0, 3), (-2, 2), (-5, 0)]),
    odd=st.booleans(),
    endless=st.booleans(),
)
def test_the_join_of_fifos_is_the_join_at_every_instant(seed, keyed, band, odd, endless):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, band=band, lag=0, odd=odd)
    kind = "endless" if endless else "fifo"
    lefts, rights = (arrivals(rng, rng.choice([5, 25, 150]), 20, kind) for _ in "lr")
    times = instants(lefts, rights)
    clocks = clocks_of(rng, max(times, default=0))
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), False),
        (schema("r"), cut(rng, rights, clocks), False),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fifo, "SLICE", rng.choice([1, 4, fifo.SLICE]))
        make = partial(FifoJoin, match, endless=endless)
        got = run(make, inputs, clocks, rng.randrange(len(clocks)))
    assert got == net_of_answers(times, joined(match, lefts, rights))


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    band=st.sampled_from([None, (0, 3), (-2, 2), (-5, 0)]),
    odd=st.booleans(),
    endless=st.booleans(),
)
def test_the_join_of_fifos_follows_more_chains_than_go_on_at_once(seed, band, odd, endless):
    rng = random.Random(seed)
    match = a_match(band=band, lag=0, odd=odd)
    ends = rng.randint(2, 9)

    def crowd() -> list[Event]:
        """Return more arrivals than a block has walks, of many keys, some NULL."""
        times = sorted(rng.randrange(20) for _ in range(rng.randint(BLOCK + 1, BLOCK + 50)))
        keys = [None if rng.random() < 0.1 else rng.randrange(40) for _ in times]
        rows = [(key, rng.randrange(3), ts) for key, ts in zip(keys, times, strict=True)]
        return [Event(row[2], row, FOREVER if endless else row[2] + ends) for row in rows]

    lefts, rights = crowd(), crowd()
    times = instants(lefts, rights)
    clocks = [20, times[-1] + 1]  # all arrivals in one step
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), False),
        (schema("r"), cut(rng, rights, clocks), False),
    ]
    got = run(partial(FifoJoin, match, endless=endless), inputs, clocks, reload_at=1)
    assert got == net_of_answers(times, joined(match, lefts, rights))


def in_form(match: Match, form: Form) -> HashJoin | FifoJoin:
    """Return the join that is used for edges of a form."""
    return FifoJoin(match) if form is Form.FIFO else HashJoin(match, form, form)


def test_a_result_is_born_with_its_youngest_tuple_and_dies_with_its_first() -> None:
    task = FifoJoin(a_match(odd=False))
    left = to_delta(schema("l"), [Event(3, (1, 0, 3), 13)], signed=False)
    right = to_delta(schema("r"), [Event(8, (1, 7, 8), 18)], signed=False)
    out = task.step((left, right), 8)
    assert (out.ts.tolist(), out.exp.tolist()) == ([8], [13])
    assert list(out.columns) == ["l.t", "l.k", "r.k", "r.v"]


@pytest.mark.parametrize("form", [Form.FIFO, Form.CALENDAR])
def test_state_is_bounded_by_the_windows_even_if_every_key_is_new(form: Form) -> None:
    task, sizes = in_form(a_match(odd=False), form), set()
    for step in range(30):
        ts = np.arange(100) + 100 * step
        events = [Event(int(t), (int(t), 0, int(t)), int(t) + 50) for t in ts]
        sides = (to_delta(schema(s), events, signed=False) for s in "lr")
        out = task.step(tuple(sides), int(ts[-1]))
        assert len(out) == 100
        assert task.state_rows() <= 100
        assert len(task.keys) <= 50
        sizes.add(task.state_bytes())
    assert len(sizes) < 5


@pytest.mark.parametrize("form", [Form.FIFO, Form.CALENDAR])
def test_a_band_bounds_the_state_of_streams_without_windows(form: Form) -> None:
    task = in_form(a_match(band=(0, 9), odd=False), form)
    for step in range(20):
        ts = np.arange(100) + 100 * step
        events = [Event(int(t), (0, 0, int(t))) for t in ts]
        out = task.step(tuple(to_delta(schema(s), events, signed=False) for s in "lr"), int(ts[-1]))
        assert task.state_rows() <= 20
    assert len(out) == 1000


def listed(delta: Delta) -> list[tuple[int | None, ...]]:
    """Return rows as tuples of ts, exp, and columns by name."""
    columns = [delta.columns[name] for name in sorted(delta.columns)]
    cells = (
        [None if c.valid is not None and not c.valid[i] else int(c.data[i]) for c in columns]
        for i in range(len(delta))
    )
    return [(*times, *row) for *times, row in zip(delta.ts, delta.exp, cells, strict=True)]


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    keyed=st.booleans(),
    band=st.sampled_from([None, (-2, 2), (-5, 0)]),
    endless=st.booleans(),
)
def test_the_join_of_fifos_holds_what_the_general_one_holds(seed, keyed, band, endless):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, band=band, odd=False)
    clock = rng.randrange(25)
    inputs = tuple(
        to_delta(
            schema(side),
            [e for e in arrivals(rng, 25, 20, "endless" if endless else "fifo") if e.ts <= clock],
            signed=False,
        )
        for side in "lr"
    )
    held = []
    for task in (FifoJoin(match, endless=endless), HashJoin(match, Form.FIFO, Form.FIFO)):
        task.step(inputs, clock)
        held.append([listed(side) for side in task.held(clock)])
    assert held[0] == held[1]


def test_a_step_without_input_still_forgets() -> None:
    task = HashJoin(a_match(odd=False), Form.FIFO, Form.CALENDAR)
    event = [Event(1, (1, 1, 1), 5)]
    task.step(tuple(to_delta(schema(s), event, signed=False) for s in "lr"), 1)
    net: dict = {}
    add_net(net, task.step(tuple(to_delta(schema(s), [], signed=False) for s in "lr"), 9), 9)
    assert (net, task.state_rows(), task.counters.expiries) == ({}, 0, 2)


def test_direct_counts_what_it_scans() -> None:
    few, many = (
        HashJoin(a_match(odd=False), Form.DIRECT, Form.DIRECT, scan_every=n) for n in (100, 1)
    )
    events = [Event(t, (t, 0, t), t + 20) for t in range(50)]
    for task in (few, many):
        task.step(tuple(to_delta(schema(s), events, signed=False) for s in "lr"), 49)
    assert few.counters.comparisons < many.counters.comparisons
    assert few.counters.tuples_out == many.counters.tuples_out == 50
