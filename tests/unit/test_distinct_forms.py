"""DISTINCT in all its forms gives one answer."""

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

from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.distinct import (
    DeltaStarDistinct,
    ExpiringDistinct,
    StoredInputDistinct,
    StrictDistinct,
)
from windrow.operators.interner import Interner
from windrow.operators.vector import Vector
from windrow.operators.window import RangeWindow

LAST = 60
PREDICTED = [DeltaStarDistinct, StoredInputDistinct]


def distinct(bags):
    return {now: type(bag)(bag.keys()) for now, bag in bags.items()}


@given(st.data(), lives(rows) | lives())
@pytest.mark.parametrize("form", PREDICTED)
def test_each_row_that_some_tuple_has_is_there_once(form, data, tuples):
    schema = ROW if tuples and len(tuples[0].row) == len(ROW) else KEY
    interner = Interner()
    driver = Driver(data.draw, (schema,), interner, unsigned=True)
    made = driver.run(lambda: form(schema), tuples, LAST)
    got = [c for d in made for c in predicted_changes(d, interner)]
    expected = distinct(answers(expired(tuples, LAST), LAST))
    assert net(expired(got, LAST)) == changes_between(expected)


@given(st.data(), lives(rows) | lives())
def test_told_ends_are_those_of_the_last_tuples(data, tuples):
    schema = ROW if tuples and len(tuples[0].row) == len(ROW) else KEY
    interner = Interner()
    driver = Driver(data.draw, (schema,), interner, unsigned=True)
    made = driver.run(lambda: ExpiringDistinct(schema), tuples, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    assert net(got) == changes_between(distinct(answers(expired(tuples, LAST), LAST)))


def test_a_renewal_is_not_told_and_current_rows_are_those_there():
    interner, task = Interner(), ExpiringDistinct(KEY)
    births = [Change(1, (1,), 1, 5), Change(2, (2,), 1, 6), Change(4, (1,), 1, 8)]
    out = task.step((delta(births, KEY, interner, unsigned=True),), 7)
    assert [(c.ts, c.row, c.weight) for c in signed_changes(out, interner)] == [
        (1, (1,), 1),
        (2, (2,), 1),
        (6, (2,), -1),
    ]
    task.check()
    assert task.current().columns["k"].data.tolist() == [1]
    at_its_end = delta([Change(8, (1,), 1, 9)], KEY, interner, unsigned=True)
    assert not len(task.step((at_its_end,), 8))
    task.check()


@given(st.data(), histories(rows))
def test_counters_report_the_first_copy_and_the_last(data, history):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: StrictDistinct(ROW), history, LAST + 20)
    got = [c for d in made for c in signed_changes(d, interner)]
    assert net(got) == changes_between(distinct(answers(history, LAST + 20)))


@pytest.mark.parametrize("form", PREDICTED)
def test_figure_5_of_neg(form):
    """Window 6. A value whose reported tuple leaves comes out again if a duplicate is there."""
    stream = [(1, 1), (2, 1), (3, 4), (4, 4), (5, 1), (6, 5), (8, 4)]
    interner = Interner()
    window, task = RangeWindow(KEY, 6), form(KEY)
    told: list[Change] = []
    for now in range(1, 10):
        arrived = delta([Change(t, (v,)) for t, v in stream if t == now], KEY, interner)
        out = task.step((window.step((arrived,), now),), now)
        task.check()
        told += predicted_changes(out, interner)
    assert [(c.ts, c.row[0]) for c in told] == [(1, 1), (3, 4), (6, 5), (7, 1), (9, 4)]
    alive = {c.row[0] for c in told if c.ts <= 9 < c.exp}
    assert alive == {5, 1, 4}


@pytest.mark.parametrize("form", PREDICTED)
def test_what_never_ends_is_reported_once_and_for_ever(form):
    interner, task = Interner(), form(KEY)
    for now in range(5):
        batch = delta([Change(now, (1,), 1, FOREVER)], KEY, interner, unsigned=True)
        assert len(task.step((batch,), now)) == (now == 0)
    assert not len(task.step((delta([], KEY, interner, unsigned=True),), 10**9))
    task.check()


@pytest.mark.parametrize("form", PREDICTED)
def test_ends_before_1970_are_ends(form):
    interner, task = Interner(), form(KEY)
    births = [Change(-9, (1,), 1, -4), Change(-6, (1,), 1, 0), Change(0, (1,), 1, 3)]
    out = task.step((delta(births, KEY, interner, unsigned=True),), 1)
    got = expired(predicted_changes(out, interner), 2)
    assert net(got) == {(-9, (1,)): 1}
    task.check()


def window_batches(distinct_values, window, batch, batches):
    random = np.random.default_rng(3)
    for n in range(batches):
        ts = np.arange(n * batch, (n + 1) * batch)
        keys = random.integers(0, distinct_values, batch)
        yield Delta(ts, {"k": Vector(KEY["k"].type, keys)}, ts + window)


def test_delta_star_is_far_smaller_than_its_input():
    """2 000 values in a window of 200 000 tuples."""
    star, stored = DeltaStarDistinct(KEY), StoredInputDistinct(KEY)
    for births in window_batches(2_000, 200_000, 20_000, 11):
        clock = int(births.ts[-1])
        star.step((births,), clock)
        stored.step((births,), clock)
    assert star.state_rows() == 2_000
    assert stored.state_rows() == 200_000
    assert stored.state_bytes() > 50 * star.state_bytes()
