"""EXCEPT, INTERSECT and UNION ALL over bags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.changelogs import (
    KEY,
    ROW,
    Change,
    Driver,
    answers,
    changes_between,
    delta,
    expired,
    histories,
    lives,
    net,
    predicted_changes,
    rows,
    signed_changes,
)

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.operators.interner import Interner
from windrow.operators.setops import BagOperator, MergeUnion

LAST = 80
OTHER = Schema(tuple(Field(f"other.{f.name}", f.type, f.nullable) for f in ROW))
COPIES = {
    "except_all": lambda n, m: max(0, n - m),
    "except": lambda n, m: int(n > 0 and m == 0),
    "intersect_all": min,
    "intersect": lambda n, m: int(n > 0 and m > 0),
}


def combined(left, right, copies):
    found = {}
    for now in left:
        made = {r: copies(left[now][r], right[now][r]) for r in {*left[now], *right[now]}}
        found[now] = type(left[now])({r: n for r, n in made.items() if n})
    return found


@given(st.data(), histories(rows, ports=2))
@pytest.mark.parametrize("kind", COPIES)
def test_copies_on_both_sides_make_those_of_the_result(kind, data, history):
    interner = Interner()
    driver = Driver(data.draw, (ROW, OTHER), interner)
    made = driver.run(lambda: BagOperator(ROW, OTHER, kind), history, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    left, right = (answers([c for c in history if c.port == p], LAST) for p in (0, 1))
    assert net(got) == changes_between(combined(left, right, COPIES[kind]))
    assert all(tuple(d.columns) == ROW.names for d in made)


def test_sides_that_differ_in_nullability_have_the_same_rows():
    loose = Schema((Field("k", BIGINT, nullable=True),))
    interner, task = Interner(), BagOperator(KEY, loose, "intersect_all")
    left = delta([Change(1, (0,)), Change(1, (1,))], KEY, interner)
    right = delta([Change(1, (None,)), Change(1, (1,))], loose, interner)
    out = task.step((left, right), 1)
    assert net(signed_changes(out, interner)) == {(1, (1,)): 1}


def test_figure_6_of_neg():
    """W-Minus, windows of 6."""
    births = [
        Change(2, (5,), port=1),
        Change(3, (2,)), Change(4, (1,)), Change(5, (3,)),
        Change(6, (1,), port=1),
        Change(7, (5,)),
    ]  # fmt: skip
    interner, task = Interner(), BagOperator(KEY, KEY, "except_all")
    told = {}
    for now in range(1, 9):
        sides = []
        for port in (0, 1):
            deaths = [Change(now, c.row, -1) for c in births if c.ts + 6 == now and c.port == port]
            arrived = [c for c in births if c.ts == now and c.port == port]
            sides.append(delta(deaths + arrived, KEY, interner))
        out = task.step((sides[0], sides[1]), now)
        told[now] = [(c.row[0], c.weight) for c in signed_changes(out, interner)]
        task.check()
    assert told == {
        1: [], 2: [], 3: [(2, 1)], 4: [(1, 1)], 5: [(3, 1)], 6: [(1, -1)], 7: [], 8: [(5, 1)],
    }  # fmt: skip


def test_rows_without_copies_are_forgotten():
    interner, task = Interner(), BagOperator(KEY, KEY, "except")
    for t in range(0, 300, 3):
        one = [Change(t, (t,)), Change(t + 1, (t,), -1)]
        task.step((delta(one, KEY, interner), delta(one, KEY, interner)), t + 2)
        task.check()
    assert task.state_rows() == 0


@given(st.data(), histories(rows, ports=3))
def test_a_union_of_signed_edges_is_their_sum(data, history):
    interner = Interner()
    schemas = (ROW, OTHER, ROW)
    made = Driver(data.draw, schemas, interner).run(lambda: MergeUnion(schemas), history, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    assert net(got) == net(history)
    assert all(tuple(d.columns) == ROW.names for d in made)


@given(st.data(), lives(rows))
def test_a_union_of_predicted_edges_keeps_ends(data, tuples):
    split = [Change(c.ts, c.row, 1, c.exp, data.draw(st.integers(0, 1))) for c in tuples]
    interner = Interner()
    driver = Driver(data.draw, (ROW, OTHER), interner, unsigned=True)
    made = driver.run(lambda: MergeUnion((ROW, OTHER)), split, LAST)
    got = [c for d in made for c in predicted_changes(d, interner)]
    assert net(expired(got, LAST)) == net(expired(tuples, LAST))


def test_a_union_puts_the_first_input_first():
    interner = Interner()
    one = delta([Change(1, (1,)), Change(2, (2,))], KEY, interner)
    two = delta([Change(1, (3,)), Change(2, (4,)), Change(2, (5,))], KEY, interner)
    out = MergeUnion((KEY, KEY)).step((one, two), 2)
    assert out.columns["k"].data.tolist() == [1, 3, 2, 4, 5]
    assert np.array_equal(out.ts, [1, 1, 2, 2, 2])
