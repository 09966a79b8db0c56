"""Joins with a table that does not reach back."""

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.join_reference import (
    Bag,
    Event,
    Net,
    a_match,
    add_net,
    alive,
    arrivals,
    changes,
    clocks_of,
    cut,
    departures,
    holds,
    instants,
    run,
    schema,
    to_delta,
)

import windrow as wr
from windrow.core.time import FOREVER
from windrow.operators.join.match import Match
from windrow.operators.join.nrr import NrrJoinTask


def met(match: Match, left: tuple, table: Bag) -> Bag:
    """Return what one left row makes with a version of the table."""
    bag: Bag = Counter()
    for right, n in table.items():
        if holds(match, left, right):
            bag[left[2], left[0], right[0], right[1]] += n
    return bag


def add(net: Net, ts: int, bag: Bag, sign: int) -> None:
    for row, n in bag.items():
        net[ts, row] = net.get((ts, row), 0) + sign * n
        if not net[ts, row]:
            del net[ts, row]


def first_at_an_instant(events: list[Event], clocks: list[int]) -> list[list[Event]]:
    """Deal updates so that they come no later than the rows of their instant."""
    return cut(_First(), events, clocks)


class _First(random.Random):
    def choice(self, seq):
        return seq[0]


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9), keyed=st.booleans(), odd=st.booleans())
def test_a_predicted_row_meets_the_table_of_its_time(seed, keyed, odd):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, odd=odd)
    lefts, updates = arrivals(rng, 30, 12, "mixed"), changes(rng, 25, 12)
    clocks = clocks_of(rng, max(instants(lefts, updates), default=0))
    expected: Net = {}
    for e in lefts:
        bag = met(match, e.row, alive(updates, e.ts))
        add(expected, e.ts, bag, 1)
        if e.exp < FOREVER:
            add(expected, e.exp, bag, -1)
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), False),
        (schema("r"), first_at_an_instant(updates, clocks), True),
    ]
    at = rng.randrange(len(clocks))
    assert run(lambda: NrrJoinTask(match, signed=False), inputs, clocks, at) == expected


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**9), keyed=st.booleans(), odd=st.booleans())
def test_a_departure_takes_back_what_its_row_made(seed, keyed, odd):
    rng = random.Random(seed)
    match = a_match(keyed=keyed, odd=odd)
    lefts, updates = changes(rng, 40, 12), changes(rng, 25, 12)
    clocks = clocks_of(rng, max(instants(lefts, updates), default=0))
    expected: Net = {}
    made = defaultdict(list)
    for now in instants(lefts):
        table, moves = alive(updates, now), Counter()
        for e in lefts:
            if e.ts == now:
                moves[e.row] += e.weight
        for row, n in moves.items():
            for _ in range(n):
                made[row].append(met(match, row, table))
                add(expected, now, made[row][-1], 1)
            for _ in range(-n):
                add(expected, now, made[row].pop(), -1)
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), True),
        (schema("r"), first_at_an_instant(updates, clocks), True),
    ]
    at = rng.randrange(len(clocks))
    assert run(lambda: NrrJoinTask(match, signed=True), inputs, clocks, at) == expected


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_signed_and_predicted_say_the_same_where_rows_know_their_time(seed):
    rng = random.Random(seed)
    match = a_match(odd=False)
    lefts, updates = arrivals(rng, 30, 12, "any"), changes(rng, 25, 12)
    clocks = clocks_of(rng, max(instants(lefts, updates), default=0))
    table = (schema("r"), first_at_an_instant(updates, clocks), True)
    predicted = [(schema("l"), cut(rng, lefts, clocks), False), table]
    signed = [(schema("l"), cut(rng, departures(lefts), clocks), True), table]
    by_prediction = run(lambda: NrrJoinTask(match, signed=False), predicted, clocks)
    assert run(lambda: NrrJoinTask(match, signed=True), signed, clocks) == by_prediction


@pytest.mark.parametrize("signed", [False, True])
def test_an_update_does_not_reach_back_and_is_seen_at_its_own_instant(signed: bool) -> None:
    task = NrrJoinTask(a_match(odd=False), signed=signed)
    left = [Event(8, (1, 0, 8), 100), Event(10, (1, 0, 10), 100)]
    price = [Event(1, (1, 2, 0)), Event(10, (1, 2, 0), weight=-1), Event(10, (1, 3, 0))]
    net: Net = {}
    deltas = to_delta(schema("l"), left, signed=signed), to_delta(schema("r"), price, signed=True)
    add_net(net, task.step(deltas, 10), 10)
    assert net == {(8, (8, 1, 1, 2)): 1, (10, (10, 1, 1, 3)): 1}
    task.check()


def test_memory_is_freed_with_the_rows() -> None:
    task = NrrJoinTask(a_match(odd=False), signed=True)
    for t in range(100):
        left = [Event(t, (1, 0, t - 3), weight=-1)] if t >= 3 else []
        left.append(Event(t, (1, 0, t)))
        table = [Event(t, (1, t - 1, 0), weight=-1)] if t else []
        table.append(Event(t, (1, t, 0)))
        sides = (("l", left), ("r", table))
        deltas = tuple(to_delta(schema(s), events, signed=True) for s, events in sides)
        assert len(task.step(deltas, t)) == len(left)
        task.check()
    assert task.state_rows() <= 20


@pytest.mark.parametrize("strategy", ["auto", "direct", "negative", "upa"])
@pytest.mark.parametrize(
    "rows",
    [
        "SELECT DISTINCT k FROM c [ROWS 1]",
        "SELECT k FROM c [ROWS 1] INTERSECT SELECT k FROM c [RANGE 9]",
        "SELECT k FROM c [ROWS 1] ORDER BY v LIMIT 1",
        "SELECT k, COUNT(*) AS n FROM c [ROWS 1] GROUP BY k",
    ],
)
def test_a_row_is_retracted_though_one_that_shows_the_same_appears_at_once(
    rows: str, strategy: str
) -> None:
    """Nobody reads its columns, but they tell it apart: it has met another version."""
    with wr.connect() as db:
        db.execute("CREATE STREAM c (ts BIGINT, k BIGINT, v BIGINT)")
        db.execute("CREATE NON RETROACTIVE RELATION n (w BIGINT)")
        query = db.query(f"SELECT n.w FROM ({rows}) AS s, n", strategy=strategy)
        db.push("n", [{"w": 7, "_ts": 0}])
        db.push("c", [{"ts": 2, "k": 1, "v": 1}])
        db.push("n", [{"w": 7, "_ts": 4, "_sign": -1}])
        db.push("c", [{"ts": 5, "k": 2, "v": 1}])
        assert query.answer().num_rows == 0
        assert query.changes().column("_sign").to_pylist() == [1, -1]
