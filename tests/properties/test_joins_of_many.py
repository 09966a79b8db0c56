"""Joins of two to six inputs are right at every instant, by every algorithm and in every order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, note, reject
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.joins import ManyJoin, many_joins
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import assert_right, assert_same, drives
from tests.reference.drive import Drive
from tests.reference.histories import World
from tests.reference.shards import ShardedDrive, drive_shards

from windrow.core.errors import SemanticError
from windrow.optimize.join_graph import JoinGraph, Order

pytestmark = pytest.mark.long

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
    world = draw(worlds_of(query.text, max_rows=8))
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


@given(cases(), st.integers(0, 99), st.sampled_from(["nested_w", "hash_w"]))
@examples(20)
def test_orders_that_change_at_every_step_lose_and_repeat_nothing(
    case: tuple[ManyJoin, World, Drive], seed: int, within: str
) -> None:
    query, world, plan = case
    free = query.free and plan.strategy != "negative" and "DISTINCT" not in query.text
    plan = replace(plan, join_algorithm=within if free else "hash")
    orders = shuffled(seed)
    note(f"{query.text}\n{plan}\n{seed}")

    def changed(graph: JoinGraph, order: Order, origin: int) -> Order:
        return orders(graph)[origin]

    watching = "windrow.operators.watching"
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


@st.composite
def counted_joins(draw: st.DrawFn) -> str:
    """A join of count windows and others of which rows leave in the order in which they came."""
    names = [f"t{i}" for i in range(draw(st.integers(2, 4)))]
    windows = st.sampled_from(
        ["ROWS 2", "ROWS 3", "ROWS 5", "ROWS 4 SLIDE 2", "RANGE 4", "RANGE 2"]
    )
    froms = [f"{draw(st.sampled_from('abc'))} AS {n} [{draw(windows)}]" for n in names]
    terms = [f"{a}.k = {b}.k" for a, b in pairwise(names)]
    terms += draw(st.lists(st.sampled_from(["t0.v < t1.v", "t1.v IS NOT NULL", "t0.s = 'a'"])))
    times = ", ".join(f"{n}.ts AS {n}_ts" for n in names)
    told = draw(st.sampled_from([times, times, "t0.k", "t0.ts, t1.x + 1 AS y"]))
    return f"SELECT {told} FROM {', '.join(froms)} WHERE {' AND '.join(terms)}"


@given(st.data())
@examples(12)
def test_a_switch_keeps_the_order_in_which_rows_leave(data: st.DataObject) -> None:
    text = data.draw(counted_joins())
    world = data.draw(worlds_of(text, max_rows=10))
    algorithm = st.sampled_from(["tree", "hash", "hash", "loops", "auto"])
    switches = data.draw(st.lists(st.tuples(st.integers(0, 6), algorithm), max_size=4))
    plan = data.draw(drives(world))
    plan = replace(plan, join_algorithm=data.draw(algorithm), rejoins=tuple(switches))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


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
    try:
        assert_right(
            query.text, world, lambda until: drive_shards(query.text, world, sharded, until)
        )
    except SemanticError:  # windows of streams that an exchange parts: refused with the reason
        assert sharded.join_algorithm in FREE
        reject()
