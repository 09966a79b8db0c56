"""Time windows: each tuple says at birth when it leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.changelogs import (
    KEY,
    Change,
    Driver,
    answers,
    changes_between,
    delta,
    expired,
    net,
    predicted_changes,
    streams,
)

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER, last_multiple
from windrow.core.types import BIGINT
from windrow.operators.interner import Interner
from windrow.operators.window import RangeWindow, SinceWindow, UnboundedWindow, UntilWindow

LAST = 60


def refreshed(bags, slide):
    """The answer as of the last multiple of the slide."""
    return {now: bags.get(last_multiple(now, slide), bags[0]) for now in bags}


def alive(stream, end, slide):
    """The definition: at each instant the tuples with ts <= τ < end."""
    born = [Change(c.ts, c.row, 1, end(c)) for c in stream if end(c) > c.ts]
    bags = answers(expired(born, LAST), LAST)
    return changes_between(bags if slide is None else refreshed(bags, slide))


@given(st.data(), streams(), st.integers(1, 12), st.none() | st.integers(1, 7))
def test_range_holds_tuples_for_its_width(data, stream, width, slide):
    interner = Interner()
    driver = Driver(data.draw, (KEY,), interner)
    made = driver.run(lambda: RangeWindow(KEY, width, slide), stream, LAST)
    got = [c for d in made for c in predicted_changes(d, interner)]
    assert net(expired(got, LAST)) == alive(stream, lambda c: c.ts + width, slide)


@given(st.data(), streams(), st.integers(-1, 20), st.none() | st.integers(1, 7))
def test_landmark_windows_never_let_go(data, stream, start, slide):
    interner = Interner()
    driver = Driver(data.draw, (KEY,), interner)
    for make, kept in (
        (lambda: UnboundedWindow(KEY, slide), stream),
        (lambda: SinceWindow(KEY, start, slide), [c for c in stream if c.ts >= start]),
    ):
        made = driver.run(make, stream, LAST)
        got = [c for d in made for c in predicted_changes(d, interner)]
        assert all(c.exp == FOREVER for c in got)
        assert net(got) == alive(kept, lambda c: FOREVER, slide)


@given(st.data(), streams(st.tuples(st.integers(0, 30), st.integers(0, 30))))
def test_until_ends_with_the_first_of_its_columns(data, stream):
    schema = Schema((Field("a", BIGINT, nullable=False), Field("b", BIGINT, nullable=False)))
    slide = data.draw(st.none() | st.integers(1, 7))
    interner = Interner()
    driver = Driver(data.draw, (schema,), interner)
    made = driver.run(lambda: UntilWindow(schema, ("a", "b"), slide), stream, LAST)
    got = [c for d in made for c in predicted_changes(d, interner)]
    assert net(expired(got, LAST)) == alive(stream, lambda c: min(c.row), slide)


def test_the_expiry_column_tells_the_end_before_the_slide():
    window = RangeWindow(KEY, 10, 4, expiry_column="end")
    out = window.step((delta([Change(1, (7,)), Change(3, (8,))], KEY, Interner()),), 3)
    assert not len(out)
    assert window.state_rows() == 2
    out = window.step((delta([], KEY, Interner()),), 4)
    assert out.ts.tolist() == [4, 4]
    assert out.exp.tolist() == [12, 16]
    assert out.columns["end"].data.tolist() == [11, 13]


def test_a_window_wider_than_time_never_ends():
    late = delta([Change(3, (1,)), Change(9, (1,))], KEY, Interner())
    out = RangeWindow(KEY, FOREVER - 5).step((late,), 9)
    assert out.exp.tolist() == [FOREVER - 2, FOREVER]


def test_no_tuple_no_work():
    window = RangeWindow(KEY, 10)
    out = window.step((delta([], KEY, Interner()),), 50)
    assert len(out) == 0
    assert out.exp is not None
    assert window.state_bytes() == 0


@pytest.mark.parametrize("rows", [1, 100_000])
def test_held_tuples_are_not_copied_at_every_step(rows):
    window = UnboundedWindow(KEY, 1_000)
    batch = delta([Change(1, (1,))], KEY, Interner()).take(np.zeros(rows, np.int64))
    for _ in range(100):
        window.step((batch,), 1)
    assert window.state_rows() == 100 * rows
    assert len(window.step((batch.slice(0, 0),), 1_000)) == 100 * rows
