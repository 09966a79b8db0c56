"""The join of many inputs: the papers' examples, its work in numbers, and the tree of joins."""

import random
from collections import Counter

import numpy as np
import pytest
from tests.unit.multi_reference import results_of, to_delta

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT, STRING
from windrow.operators.delta import Delta
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.match import Match, MultiMatch, Order, Side
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.vector import Vector
from windrow.physical.conditions import Compare, Equality, Form, JoinInput, Method


def schema(i: int) -> Schema:
    return Schema((Field(f"s{i}.t", BIGINT, nullable=False), Field(f"s{i}.k", BIGINT)))


def star(n: int) -> MultiMatch:
    """Return the join of n inputs on one key."""
    inputs = tuple(JoinInput(schema(i), (f"s{i}.t", f"s{i}.k")) for i in range(n))
    return MultiMatch(inputs, (Equality(tuple((f"s{i}.k",) for i in range(n))),))


def delta(i: int, ts: np.ndarray, keys: np.ndarray, width: int) -> Delta:
    columns = {f"s{i}.t": Vector(BIGINT, ts.copy()), f"s{i}.k": Vector(BIGINT, keys)}
    return Delta(ts, columns, ts + width)


def stream(rng: np.random.Generator, i: int, count: int, keys: int, width: int = 60_000) -> Delta:
    """Return tuples of about one a time unit times their number of inputs."""
    ts = np.sort(rng.integers(0, 10 * width, count))
    return delta(i, ts, rng.integers(0, keys, count), width)


def global_order(order: Order) -> tuple[Order, ...]:
    """Return the orders of a global one: new tuples first [MULTI table 4]."""
    return tuple((i, *(j for j in order if j != i)) for i in range(len(order)))


def parts(inputs: list[Delta], cuts: list[int]) -> list[tuple[tuple[Delta, ...], int]]:
    """Return the inputs cut at the clocks."""
    steps = []
    for clock in cuts:
        split = [d.split(clock) for d in inputs]
        steps.append((tuple(now for now, _ in split), clock))
        inputs = [rest for _, rest in split]
    return steps


@pytest.mark.parametrize("orders", [global_order((0, 1, 2)), ((0, 1, 2),) * 3])
def test_new_tuples_do_not_join_what_expired_before_them(orders: tuple[Order, ...]) -> None:
    """MULTI tables 2 and 3: two results, where a join without the check gives eight."""
    assert triples(orders, 100) == {(100, 150, 195), (100, 180, 195)}
    assert len(triples(orders, 1000)) == 8


def triples(orders: tuple[Order, ...], width: int) -> set[tuple[int, ...]]:
    """Return the times of the results that MULTI's tuples of table 2 make in such windows."""
    one, two, three = (
        to_delta(schema(i), [(t, t + width, {f"s{i}.t": t, f"s{i}.k": 1}) for t in ts])
        for i, ts in enumerate(([90, 100], [150, 180], [195, 205]))
    )
    join = MultiJoin(star(3), (Form.FIFO,) * 3, orders, expire_every=1000)
    assert not len(join.step((one, two, three.slice(0, 0)), 194))
    after = join.step((one.slice(0, 0), two.slice(0, 0), three), 210)
    rows = results_of(after)
    assert set(rows.values()) == {1}
    return {row[::2] for _, _, row in rows}


@pytest.mark.parametrize("general", [False, True])
def test_one_walk_serves_all_new_tuples_of_a_key(general: bool) -> None:
    """Forty new tuples of two keys look at the fifty rows of each other input once a key."""
    orders = ((1, 2, 0), (1, 0, 2), (2, 0, 1)) if general else global_order((0, 1, 2))
    join = MultiJoin(star(3), (Form.FIFO,) * 3, orders)
    old = [delta(i, np.zeros(100, np.int64), np.arange(100) % 2, 10) for i in (1, 2)]
    none = [d.slice(0, 0) for d in old]
    join.step((delta(0, np.zeros(0, np.int64), np.zeros(0, np.int64), 10), *old), 0)
    join.counters.reset()
    new = delta(0, np.full(40, 5), np.arange(40) % 2, 10)
    out = join.step((new, *none), 5)
    assert len(out) == 2 * 20 * 50 * 50
    walks = 2 * (50 + 50 * 50)
    if general:
        walks = 100 + 2 * 50 * 50 + len(out)
    assert join.counters.comparisons == walks


def test_better_loops_look_at_fewer_rows() -> None:
    rng = np.random.default_rng(3)
    inputs = [stream(rng, i, 600, 20, 6000) for i in range(3)]
    looked, answers = {}, []
    for method in Method:
        orders = ((0, 1, 2),) * 3 if method is Method.NAIVE else global_order((0, 1, 2))
        join = MultiJoin(star(3), (Form.FIFO,) * 3, orders, method)
        answers.append(results_of(join.step(tuple(inputs), 10**6)))
        looked[method] = join.counters.comparisons
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) > 1000
    assert 5 * looked[Method.HASH] < looked[Method.LOOPS] < looked[Method.NAIVE]


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("form", [Form.FIFO, Form.CALENDAR])
def test_many_at_once_give_what_a_tree_of_joins_gives(n: int, form: Form) -> None:
    """Two thousand tuples an input, in steps short and of many windows."""
    rng = np.random.default_rng(n)
    inputs = [stream(rng, i, 2000, 300, 20_000) for i in range(n)]
    cuts = [5_000, 5_001, 60_000, 150_000, 10**6]
    join = MultiJoin(star(n), (form,) * n, global_order(tuple(range(n))))
    found, expected = Counter(), Counter()
    for deltas, clock in parts(inputs, cuts):
        found += results_of(join.step(deltas, clock))
        join.check()
    tree = [tree_join(i) for i in range(1, n)]
    for deltas, clock in parts(inputs, cuts):
        left = deltas[0]
        for task, right in zip(tree, deltas[1:], strict=True):
            left = task.step((left, right), clock)
        expected += results_of(left)
    assert len(expected) > 1000
    assert found == expected
    assert join.state_rows() == 0


def tree_join(i: int) -> HashJoin:
    """Return the join of the first i inputs with the next one."""
    left = Schema(tuple(f for j in range(i) for f in schema(j)))
    return HashJoin(
        Match(
            Side(left, ("s0.k",), left.names),
            Side(schema(i), (f"s{i}.k",), schema(i).names),
        )
    )


@pytest.mark.parametrize("n", [2, 3])
def test_refreshes_lose_what_is_born_and_dies_between_them(n: int) -> None:
    """Without RESTORE about Δ/W of a join of three: (n-1)·Δ/2W, to the first order.

    A result lives for W less the distance of its oldest tuple, and is lost if no refresh falls
    into that; the thesis says Δ/W for uniform lifetimes, which is twice what a join of two loses.
    """
    rng, width, slide = np.random.default_rng(5), 60, 10
    scale = 1000
    inputs = [stream(rng, i, 3000, 60, width * scale) for i in range(n)]
    orders = global_order(tuple(range(n)))
    eager = MultiJoin(star(n), (Form.FIFO,) * n, orders)
    lazy = MultiJoin(star(n), (Form.FIFO,) * n, orders)
    born = len(eager.step(tuple(inputs), 10**9))
    slid = [Delta(-(-d.ts // (slide * scale)) * slide * scale, d.columns, d.exp) for d in inputs]
    shown = lazy.step(tuple(slid), 10**9)
    assert (shown.exp > shown.ts).all()
    lost = 1 - len(shown) / born
    expected = (n - 1) * slide / (2 * width)
    assert 0.85 * expected < lost < 1.1 * expected


def test_statistics_are_exact() -> None:
    rng = np.random.default_rng(9)
    inputs = [stream(rng, i, 500, 40) for i in range(3)]
    join = MultiJoin(star(3), (Form.FIFO, Form.CALENDAR, Form.DIRECT), global_order((0, 1, 2)))
    clock = 300_000
    join.step(tuple(d.split(clock)[0] for d in inputs), clock)
    known = join.statistics()
    alive = [d.take(np.flatnonzero((d.ts <= clock) & (d.exp > clock))) for d in inputs]
    keys = [len(np.unique(d.columns[f"s{i}.k"].data)) for i, d in enumerate(alive)]
    assert known.rows == tuple(len(d) for d in alive)
    assert known.distinct[:, 0].tolist() == keys
    assert known.seen == tuple(len(d.split(clock)[0]) for d in inputs)
    assert known.looked.sum() == join.counters.comparisons
    assert (known.started[:, 0] == 0).all()


def test_what_is_held_lets_another_join_go_on() -> None:
    rng = np.random.default_rng(2)
    inputs = [stream(rng, i, 400, 40) for i in range(3)]
    (first, clock), (rest, end) = parts(inputs, [300_000, 10**6])
    old = MultiJoin(star(3), (Form.FIFO,) * 3, global_order((0, 1, 2)))
    old.step(first, clock)
    new = MultiJoin(star(3), (Form.CALENDAR,) * 3, global_order((2, 1, 0)), Method.LOOPS)
    held = old.held(clock)
    assert all(len(d) for d in held)
    new.step(held, clock)
    assert results_of(new.step(rest, end)) == results_of(old.step(rest, end))


def test_codes_of_strings_are_told_where_only_a_comparison_reads_them() -> None:
    columns = (Field("a.s", STRING), Field("a.u", STRING)), (Field("b.s", STRING),)
    inputs = JoinInput(Schema(columns[0]), ("a.u",)), JoinInput(Schema(columns[1]), ())
    join = MultiJoin(
        MultiMatch(inputs, (), (), (Compare(0, "a.s", "ne", 1, "b.s"),)),
        (Form.FIFO, Form.FIFO),
        ((0, 1), (1, 0)),
    )
    cells = {"a.s": 7, "a.u": 8, "b.s": 9}
    ts, end = np.array([1]), np.array([5])
    left, right = (
        Delta(ts, {f.name: Vector(STRING, np.array([cells[f.name]])) for f in side}, end)
        for side in columns
    )
    out = join.step((left, right), 1)
    assert out.columns["a.u"].data.tolist() == [8]
    assert sorted(np.concatenate(join.live_codes()).tolist()) == [7, 8, 9]


def test_loops_of_one_instant_meet_each_pair_once() -> None:
    """All inputs at one instant: each combination once, whoever is thought to come last."""
    ts, keys = np.zeros(5, np.int64), np.zeros(5, np.int64)
    inputs = tuple(delta(i, ts, keys, 10) for i in range(4))
    for seed in range(10):
        rng = random.Random(seed)
        orders = tuple(tuple(rng.sample(range(4), 4)) for _ in range(4))
        join = MultiJoin(star(4), (Form.FIFO,) * 4, orders)
        assert len(join.step(inputs, 0)) == 5**4
