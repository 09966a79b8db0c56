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

ANY = ("auto", "tree", "hash", "loops")
PREDICTED = ("naive",)
FREE = ("nested_w", "hash_w", "merge_w")


def algorithms(query: ManyJoin, strategy: str) -> st.SearchStrategy[str]:
    """The algorithms that can do a query: where departures travel, naive loops cannot.

    They also do from DISTINCT below a relation that is read as of a tuple's time.
    """
    strict = query.strict or ("DISTINCT" in query.text and " n AS q" in query.text)
    more = () if strict or strategy == "negative" else PREDICTED + (FREE * 2 if query.free else ())
    return st.sampled_from(ANY + more)


@st.composite
def cases(draw: st.DrawFn) -> tuple[ManyJoin, World, Drive]:
    """A query, a world, and a way to feed it under an algorithm that can do it."""
    query = draw(many_joins())
    world = draw(worlds(max_rows=8))
    plan = draw(drives(world))
    algorithm = draw(algorithms(query, plan.strategy))
    return query, world, replace(plan, join_algorithm=algorithm)


@given(cases())
@examples(40)
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
@examples(20)
def test_every_order_is_right(case: tuple[ManyJoin, World, Drive], seed: int) -> None:
    query, world, plan = case
    plan = replace(plan, join_algorithm="hash")
    note(f"{query.text}\n{plan}\n{seed}")
    with patch("windrow.optimize.choose_join.best_orders", shuffled(seed)):
        assert_same(query.text, world, plan)


@given(cases(), st.integers(0, 99))
@examples(20)
def test_orders_that_change_at_every_step_lose_and_repeat_nothing(
    case: tuple[ManyJoin, World, Drive], seed: int
) -> None:
    query, world, plan = case
    plan = replace(plan, join_algorithm="hash")
    orders = shuffled(seed)
    note(f"{query.text}\n{plan}\n{seed}")

    def changed(graph: JoinGraph, order: Order, origin: int) -> Order:
        return orders(graph)[origin]

    watching = "windrow.operators.lowering.watching"
    with patch(f"{watching}._interval", lambda *_: 1), patch(f"{watching}._better", changed):
        assert_same(query.text, world, plan)


@given(st.data())
@examples(20)
def test_a_switch_of_algorithms_is_invisible(data: st.DataObject) -> None:
    query, world, plan = data.draw(cases())
    switch = st.tuples(st.integers(0, 6), algorithms(query, plan.strategy))
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
