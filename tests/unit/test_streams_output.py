"""Output streams tell the net of an instant once it is past."""

from collections import Counter

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
    histories,
    plain_rows,
    plain_value,
    rows,
    streams,
)

from windrow.core.time import next_multiple
from windrow.operators.interner import Interner
from windrow.operators.streams import DelayTask, DstreamTask, IstreamTask, RstreamTask

LAST = 80


def by_value(row):
    """NULLs first, NaN last, text by bytes."""

    def key(value):
        if value is None:
            return (0, 0)
        if isinstance(value, str):
            return (2, 0) if value == "NaN" else (1, value.encode())
        return (1, value)

    return tuple(map(key, row))


def told(made, interner):
    """The rows of stream batches, in order."""
    assert all(d.exp is None and d.weight is None for d in made)
    return [
        (int(t), r)
        for d in made
        for t, r in zip(d.ts, plain_rows(d.columns, interner), strict=True)
    ]


def ordered(changes):
    """Changes as a stream: repeated by their weight, ordered by value within an instant."""
    stream = [(t, tuple(map(plain_value, r))) for (t, r), n in changes.items() for _ in range(n)]
    return sorted(stream, key=lambda e: (e[0], by_value(e[1])))


@given(st.data(), histories(rows))
@pytest.mark.parametrize("task, sign", [(IstreamTask, 1), (DstreamTask, -1)])
def test_insertions_and_deletions_net_of_an_instant(task, sign, data, history):
    interner = Interner()
    made = Driver(data.draw, (ROW,), interner).run(lambda: task(ROW, interner), history, LAST)
    changed = changes_between(answers(history, LAST))
    assert told(made, interner) == ordered({k: max(0, sign * n) for k, n in changed.items()})


@given(st.data(), streams(rows), st.integers(1, 7))
def test_delay_moves_tuples_to_the_next_multiple(data, stream, slide):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: DelayTask(ROW, slide, interner), stream, LAST)
    moved = Counter((next_multiple(c.ts, slide), tuple(map(plain_value, c.row))) for c in stream)
    assert told(made, interner) == ordered(moved)


@given(st.data(), histories(rows), st.integers(1, 7))
def test_whole_answers_at_each_multiple(data, history, slide):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: RstreamTask(ROW, slide, interner), history, LAST)
    start = next_multiple(history[0].ts if history else 0, slide)
    bags = answers(history, LAST)
    whole = {(m, r): n for m in range(start, LAST + 1, slide) for r, n in bags[m].items()}
    assert told(made, interner) == ordered(whole)


def test_an_open_instant_is_kept_until_the_clock_has_passed_it():
    task, interner = IstreamTask(KEY, Interner()), Interner()
    assert not len(task.step((delta([Change(3, (1,))], KEY, interner),), 3))
    assert not len(task.step((delta([Change(3, (1,), -1), Change(3, (2,))], KEY, interner),), 3))
    out = task.step((delta([], KEY, interner),), 4)
    assert out.columns["k"].data.tolist() == [2]
    assert not len(task.finish(4))


def test_a_long_silence_costs_nothing_while_the_answer_is_empty():
    task, interner = RstreamTask(KEY, 1, Interner()), Interner()
    task.begin(0)
    assert not len(task.step((delta([], KEY, interner),), 10**15))
    assert not len(task.step((delta([Change(10**15, (1,))], KEY, interner),), 10**15))
    out = task.step((delta([], KEY, interner),), 10**15 + 3)
    assert out.ts.tolist() == [10**15, 10**15 + 1, 10**15 + 2]
