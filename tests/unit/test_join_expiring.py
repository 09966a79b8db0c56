"""The join of two windows that tells ends and keeps no result."""

import random
from collections import Counter

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

import windrow
from windrow.operators.join.expiring import ExpiringJoin

LIVES = st.sampled_from(["fifo", "endless"])


def on_a_grid(events: list[Event], slide: int) -> list[Event]:
    """Return the events as a refreshed window has them: times move up to multiples."""
    return [Event(-(-e.ts // slide) * slide, e.row, -(-e.exp // slide) * slide) for e in events]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    keyed=st.booleans(),
    lives=st.tuples(LIVES, LIVES),
    slide=st.sampled_from([1, 1, 4]),
)
def test_what_it_tells_is_the_change_of_the_join_at_every_instant(seed, keyed, lives, slide):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, odd=False)
    lefts, rights = (arrivals(rng, 25, 20, life) for life in lives)
    if lives == ("fifo", "fifo"):
        lefts, rights = on_a_grid(lefts, slide), on_a_grid(rights, slide)
    times = instants(lefts, rights)
    clocks = clocks_of(rng, max(times, default=0))
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), False),
        (schema("r"), cut(rng, rights, clocks), False),
    ]
    got = run(lambda: ExpiringJoin(match), inputs, clocks, rng.randrange(len(clocks)))
    assert got == net_of_answers(times, joined(match, lefts, rights))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_what_is_current_is_the_join_now(seed):
    rng = random.Random(seed)
    match = a_match(odd=False)
    lefts, rights = (arrivals(rng, 40, 20, "fifo") for _ in "lr")
    clock = rng.randrange(40)
    task = ExpiringJoin(match)
    sides = [
        to_delta(schema(s), [e for e in events if e.ts <= clock], signed=False)
        for s, events in (("l", lefts), ("r", rights))
    ]
    task.step(tuple(sides), clock)
    net: dict = {}
    add_net(net, task.current(), clock)
    assert Counter({row: n for (_, row), n in net.items()}) == joined(match, lefts, rights)(clock)


def test_rows_that_leave_together_end_their_result_once() -> None:
    task = ExpiringJoin(a_match(odd=False))
    event = [Event(1, (1, 7, 1), 5)]
    net: dict = {}
    add_net(net, task.step(tuple(to_delta(schema(s), event, signed=False) for s in "lr"), 1), 9)
    add_net(net, task.step(tuple(to_delta(schema(s), [], signed=False) for s in "lr"), 9), 9)
    assert net == {(1, (1, 1, 1, 7)): 1, (5, (1, 1, 1, 7)): -1}
    assert (task.state_rows(), task.counters.expiries, task.counters.negatives_out) == (0, 2, 1)


def test_state_does_not_grow_with_results() -> None:
    task = ExpiringJoin(a_match(odd=False))
    for step in range(10):
        ts = np.arange(100) + 100 * step
        events = [Event(int(t), (0, 0, int(t)), int(t) + 50) for t in ts]
        task.step(tuple(to_delta(schema(s), events, signed=False) for s in "lr"), int(ts[-1]))
        assert task.state_rows() <= 100
    assert len(task.current()) == 50 * 50
    assert task.counters.tuples_out > 2 * 50_000


DDL = "CREATE STREAM {} (t BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY t"
JOIN = "a [RANGE 10], b [RANGE 10] WHERE a.k = b.k"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"SELECT a.v, b.v AS w FROM {JOIN}", True),
        (f"SELECT a.v + b.v AS x FROM {JOIN}", True),
        (f"ISTREAM(SELECT a.v FROM {JOIN})", True),
        (f"SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM {JOIN} GROUP BY a.k", True),
        (f"SELECT a.k, MAX(b.v) AS s FROM {JOIN} GROUP BY a.k", False),
        (f"SELECT a.v FROM {JOIN} AND a.v < b.v", False),
        (f"SELECT DISTINCT a.v FROM {JOIN}", True),
        ("SELECT k, COUNT(DISTINCT v) AS n FROM a [RANGE 10] GROUP BY k", False),
        ("SELECT a.v FROM a [RANGE 10], b [ROWS 2] WHERE a.k = b.k", False),
    ],
)
def test_ends_are_told_where_somebody_wants_them_and_an_operator_can(text, told):
    with windrow.connect() as db:
        for name in "ab":
            db.execute(DDL.format(name))
        query = db.query(text, strategy="upa")
        structures = [str(op["structure"]) for op in query.stats()["operators"]]
    assert any("expirations emitted" in s for s in structures) == told
