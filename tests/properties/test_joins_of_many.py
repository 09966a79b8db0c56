"""Joins of two to six inputs are right at every instant, by every algorithm and in every order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.joins import ManyJoin, many_joins
from tests.generate.streams import worlds
from tests.properties.test_engine_matches_oracle import assert_right, assert_same, drives
from tests.reference.drive import Drive
from tests.reference.histories import World
from tests.reference.shards import ShardedDrive, drive_shards

from windrow.optimize.join_graph import JoinGraph, Order

FORCED = ("hash", "loops", "naive")
ALGORITHMS = ("auto", "tree", *FORCED)


def algorithms(query: ManyJoin) -> st.SearchStrategy[str]:
    """The algorithms that can do a query: departures that travel ask for a tree.

    They also do from DISTINCT below a relation that is read as of a tuple's time.
    """
    return st.sampled_from(("auto", "tree") if tells_departures(query) else ALGORITHMS)


def tells_departures(query: ManyJoin) -> bool:
    return query.strict or ("DISTINCT" in query.text and " n AS q" in query.text)


def by_hash(query: ManyJoin, plan: Drive) -> Drive:
    """The same drive with one operator where that can be; else a tree."""
    return replace(plan, join_algorithm="tree" if tells_departures(query) else "hash")


@st.composite
def cases(draw: st.DrawFn) -> tuple[ManyJoin, World, Drive]:
    """A query, a world, and a way to feed it under an algorithm that can do it."""
    query = draw(many_joins())
    world = draw(worlds(max_rows=8))
    algorithm = draw(algorithms(query))
    strategy = draw(st.sampled_from(("auto", "upa", "direct")))
    return query, world, replace(draw(drives(world)), join_algorithm=algorithm, strategy=strategy)


@given(cases())
@examples(80)
def test_every_algorithm_is_right_at_every_instant(case: tuple[ManyJoin, World, Drive]) -> None:
    query, world, plan = case
    note(f"{query.text}\n{plan}")
    assert_same(query.text, world, plan)


def shuffled(seed: int) -> Callable[[JoinGraph], tuple[Order, ...]]:
    """Any order for each origin, which comes first."""
    random = Random(seed)

    def orders(graph: JoinGraph) -> tuple[Order, ...]:
        everyone = range(len(graph))
        rest = {i: list(permutations(j for j in everyone if j != i)) for i in everyone}
        return tuple((i, *random.choice(rest[i])) for i in everyone)

    return orders


@given(cases(), st.integers(0, 99))
@examples(40)
def test_every_order_is_right(case: tuple[ManyJoin, World, Drive], seed: int) -> None:
    query, world, plan = case
    plan = by_hash(query, plan)
    note(f"{query.text}\n{plan}\n{seed}")
    with patch("windrow.optimize.choose_join.best_orders", shuffled(seed)):
        assert_same(query.text, world, plan)


@given(cases(), st.integers(0, 99))
@examples(40)
def test_orders_that_change_at_every_step_lose_and_repeat_nothing(
    case: tuple[ManyJoin, World, Drive], seed: int
) -> None:
    query, world, plan = case
    plan = by_hash(query, plan)
    orders = shuffled(seed)
    note(f"{query.text}\n{plan}\n{seed}")

    def changed(graph: JoinGraph, order: Order, origin: int) -> Order:
        return orders(graph)[origin]

    watching = "windrow.operators.lowering.watching"
    with patch(f"{watching}._interval", lambda *_: 1), patch(f"{watching}._better", changed):
        assert_same(query.text, world, plan)


@given(st.data())
@examples(40)
def test_a_switch_of_algorithms_is_invisible(data: st.DataObject) -> None:
    query, world, plan = data.draw(cases())
    switch = st.tuples(st.integers(0, 6), algorithms(query))
    plan = replace(plan, rejoins=tuple(data.draw(st.lists(switch, min_size=1, max_size=3))))
    note(f"{query.text}\n{plan}")
    assert_same(query.text, world, plan)


@pytest.mark.long
@given(st.data())
@examples(40)
def test_every_algorithm_is_right_on_shards(data: st.DataObject) -> None:
    query, world, plan = data.draw(cases())
    sharded = ShardedDrive(
        shards=data.draw(st.sampled_from((1, 2, 5))),
        cuts=plan.cuts,
        heartbeat=plan.heartbeat,
        restarts=plan.restarts,
        join_algorithm=plan.join_algorithm,
    )
    note(f"{query.text}\n{sharded}")
    assert_right(query.text, world, lambda until: drive_shards(query.text, world, sharded, until))
