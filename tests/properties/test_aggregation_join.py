"""Aggregation joins are right at every instant, wherever calls are folded [AGGJOIN 4]."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.unit.aggregation_reference import Case, a_case, net_changes
from tests.unit.multi_reference import Change, changes, net_of, schema, to_changes

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.operators.aggregate import AccumulatorCall, GroupByTask
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation import walk
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.join.match import MultiMatch
from windrow.operators.join.multi import loops
from windrow.operators.join.multi.task import MultiZSetJoin
from windrow.physical.calls import PlacedCall
from windrow.physical.conditions import Equality, JoinInput, Method

pytestmark = pytest.mark.long

SIZES = {2: 20, 3: 10, 4: 6}
END = 20


def batches(rng: random.Random, inputs: list[list[Change]]) -> list[tuple[int, list[Delta]]]:
    """Cut changes into steps at random, also in the midst of instants."""
    done, cut = [0] * len(inputs), []
    for clock in [*sorted(rng.choices(range(12), k=rng.randrange(5))), END]:
        deltas = []
        for i, found in enumerate(inputs):
            stop = sum(c[0] < clock for c in found)
            here = sum(c[0] == clock for c in found)
            stop = max(done[i], stop + (here if clock == END else rng.randrange(here + 1)))
            deltas.append(to_changes(schema(i), found[done[i] : stop]))
            done[i] = stop
        cut.append((clock, deltas))
    return cut


def orders(rng: random.Random, n: int) -> tuple[tuple[int, ...], ...]:
    return tuple((i, *rng.sample([j for j in range(n) if j != i], n - 1)) for i in range(n))


def run(rng: random.Random, case: Case, steps: list, method: Method) -> list[Counter]:
    """Feed the operator step by step; reorder, save and load in the middle."""
    n = len(case.op.early)
    interner = Interner()
    task = AggregationJoinTask(case.op, orders(rng, n), interner, method)
    begun = task.begin(-1)
    assert (begun is None) == bool(case.op.keys)
    got = [Counter()]
    there = shown([] if begun is None else [net_of(begun)])
    for clock, deltas in steps:
        made = task.step(tuple(deltas), clock)
        assert (np.diff(made.ts) >= 0).all()
        got.append(net_of(made))
        there = shown([there, shown(got[-1:])])
        assert shown([net_of(task.current())]) == there
        task.check()
        if rng.random() < 0.3:
            fresh = AggregationJoinTask(case.op, orders(rng, n), interner, method)
            fresh.load(task.save())
            fresh.check()
            assert fresh.state_rows() == task.state_rows()
            task = fresh
        task.reorder(orders(rng, n))
    return got


def plainly(case: Case, steps: list) -> list[Counter]:
    """Feed the join, then GROUP BY of its results."""
    n, plain = len(case.op.early), case.plain
    join = MultiZSetJoin(plain, tuple((i, *(j for j in range(n) if j != i)) for i in range(n)))
    group = GroupByTask(case.op.group_by, Interner())
    group.begin(-1)
    got = [Counter()]
    for clock, deltas in steps:
        joined = join.step(tuple(deltas), clock)
        if case.op.compute is not None:
            joined = joined.replace_columns(
                joined.columns | case.op.compute(joined.columns, len(joined))
            )
        got.append(net_of(group.step((joined,), clock)))
    return got


def shown(parts: list) -> Counter:
    """Return the rows that changes net to, whenever they were made."""
    total: Counter = Counter()
    for part in parts:
        for change, weight in part.items():
            total[(0, *change[1:])] += weight
    return Counter({row: weight for row, weight in total.items() if weight})


def tuples_of(rng: random.Random, found: list[Change], which: int) -> list[Change]:
    """The tuples that changes stand for: as many as n says, whose sum is v."""
    made = []
    for ts, weight, row in found:
        more = [rng.randrange(3) for _ in range(row[f"s{which}.n"] - 1)]
        shares = [row[f"s{which}.v"] - sum(more), *more]
        made += [(ts, weight, row | {f"s{which}.v": v}) for v in shares]
    return made


def standing_for_several(rng: random.Random, which: int, count: int) -> list[Change]:
    """Changes of rows that say how many tuples they are; they leave as they came."""
    found = changes(rng, which, count, ordered=False)
    return [(ts, w, row | {f"s{which}.n": 1 + row[f"s{which}.v"]}) for ts, w, row in found]


def merging(which: int) -> Schema:
    names = ("k", "v", "n")
    return Schema(tuple(Field(f"s{which}.{n}", BIGINT, nullable=n == "k") for n in names))


@given(seed=st.integers(0, 10**9), n=st.sampled_from((2, 3)))
@examples(20)
def test_a_row_may_stand_for_several_tuples(seed, n):
    rng = random.Random(seed)
    merged = [standing_for_several(rng, i, SIZES[n] // 2) for i in range(n)]
    inputs = [tuples_of(random.Random(0), found, i) for i, found in enumerate(merged)]
    equal = (Equality(tuple((f"s{i}.k",) for i in range(n))),)
    plain = MultiMatch(tuple(JoinInput(schema(i), (), ()) for i in range(n)), equal)
    told = MultiMatch(tuple(JoinInput(merging(i), (), ()) for i in range(n)), equal)
    sums = [AccumulatorCall("sum", (schema(i)[f"s{i}.v"],), f"c{i}", BIGINT) for i in range(n)]
    folds = (
        *(PlacedCall(c, i) for i, c in enumerate(sums)),
        PlacedCall(AccumulatorCall("count", (), "n", BIGINT)),
    )
    copies = tuple(f"s{i}.n" for i in range(n))
    op = AggregationJoin(plain, (True,) * n, (), folds)
    merged_op = AggregationJoin(told, (True,) * n, (), folds, None, copies)
    got = []
    for each, shape, given_ in ((op, schema, inputs), (merged_op, merging, merged)):
        task = AggregationJoinTask(each, orders(rng, n), Interner())
        task.begin(-1)
        deltas = tuple(to_changes(shape(i), found) for i, found in enumerate(given_))
        got.append(net([net_of(task.step(deltas, END))]))
        task.check()
    assert got[0] == got[1]


def net(parts: list[Counter]) -> dict:
    total: Counter = Counter()
    for part in parts:
        total.update(part)
    return {k: w for k, w in total.items() if w}


@pytest.mark.parametrize("shape", ["star", "composite", "graph", "none", "compares"])
@given(
    seed=st.integers(0, 10**9),
    n=st.sampled_from(sorted(SIZES)),
    method=st.sampled_from([Method.HASH, Method.LOOPS]),
)
@examples(30)
def test_groups_are_those_of_all_combinations_at_every_instant(shape, seed, n, method):
    rng = random.Random(seed)
    case = a_case(rng, n, shape)
    note(str(case.op))
    inputs = [changes(rng, i, SIZES[n], ordered=False) for i in range(n)]
    steps = batches(rng, inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "SLICE", rng.choice([1, 4, loops.SLICE]))
        patch.setattr(walk, "ROOM", rng.choice([1, 2, 7, walk.ROOM]))
        got = run(rng, case, steps, method)
    assert net(got) == net_changes(case, inputs)
    assert net(got) == net(plainly(case, steps))
