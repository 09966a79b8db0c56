"""Count windows: the newest tuples, of the stream or of each key."""

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.changelogs import (
    KEY,
    ROW,
    Change,
    Driver,
    delta,
    net,
    plain_value,
    rows,
    signed_changes,
    streams,
)

from windrow.core.schema import Schema
from windrow.core.time import last_multiple
from windrow.operators.interner import Interner
from windrow.operators.window import PartitionRowsWindow, RowsWindow

LAST = 80


def newest(stream, count, step):
    """The definition: the `count` newest of the first k·step tuples."""
    shown = len(stream) - len(stream) % step
    return stream[max(0, shown - count) : shown]


def newest_of_keys(stream, count):
    found = []
    for key in dict.fromkeys(repr(plain_value(c.row[0])) for c in stream):
        found += [c for c in stream if repr(plain_value(c.row[0])) == key][-count:]
    return found


def expected(stream, window, slide):
    """Net changes of the window from instant to instant."""
    made, before = [], []
    for now in range(LAST + 1):
        at = now if slide is None else last_multiple(now, slide)
        after = window([c for c in stream if c.ts <= at])
        made += [Change(now, c.row, -1) for c in before] + [Change(now, c.row) for c in after]
        before = after
    return net(made)


@given(
    st.data(), streams(rows), st.integers(1, 6), st.integers(1, 5), st.none() | st.integers(1, 7)
)
def test_rows_holds_the_newest_tuples(data, stream, count, step, slide):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: RowsWindow(ROW, count, step, slide), stream, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    assert net(got) == expected(stream, lambda s: newest(s, count, step), slide)


@given(st.data(), streams(rows), st.integers(1, 4), st.none() | st.integers(1, 7))
def test_partition_rows_holds_the_newest_of_each_key(data, stream, count, slide):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: PartitionRowsWindow(ROW, ("k",), count, slide), stream, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    assert net(got) == expected(stream, lambda s: newest_of_keys(s, count), slide)


def test_a_tuple_pushed_out_at_its_own_instant_is_not_told():
    five = [Change(1, (k,)) for k in range(5)]
    for window in (RowsWindow(KEY, 2), PartitionRowsWindow(KEY, (), 2)):
        out = window.step((delta(five, KEY, Interner()),), 1)
        assert out.columns["k"].data.tolist() == [3, 4]
        assert out.weights().tolist() == [1, 1]


def test_a_window_over_no_columns_counts():
    none = Schema(())
    three = delta([Change(t, ()) for t in (1, 2, 3)], none, Interner())
    for window in (RowsWindow(none, 2), PartitionRowsWindow(none, (), 2)):
        assert window.step((three,), 3).weights().tolist() == [1, 1, -1, 1]


def test_the_ring_grows_with_the_window_not_with_the_stream():
    window = RowsWindow(KEY, 100)
    for first in range(0, 3000, 300):
        batch = delta([Change(t, (t,)) for t in range(first, first + 300)], KEY, Interner())
        window.step((batch,), first + 299)
        window.check()
    assert window.state_rows() == 100
    assert window.state_bytes() == 128 * 8
