"""A calendar queue gives rows back by time of end, then by age, whatever the spread of ends."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.time import FOREVER
from windrow.kernels.calendar import COUNT
from windrow.operators.state.calendar import DEPTH, PARTITIONS, CalendarQueue, fitting_shift
from windrow.operators.vector import I64


class Model:
    """The definition: all rows in one list."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, int]] = []  # end, age, row
        self.age = 0
        self.free: list[int] = []
        self.used = 0

    def push(self, ends: list[int]) -> I64:
        rows = []
        for end in ends:
            row = self.free.pop() if self.free else self.used
            self.used = max(self.used, row + 1)
            self.waiting.append((end, self.age, row))
            self.age += 1
            rows.append(row)
        return np.array(rows, np.int64)

    def pop(self, clock: int) -> list[tuple[int, int]]:
        due = sorted(w for w in self.waiting if w[0] <= clock)
        self.waiting = [w for w in self.waiting if w[0] > clock]
        self.free += [row for *_, row in due]
        return [(end, row) for end, _, row in due]


def step(queue: CalendarQueue, model: Model, ends: list[int], clock: int) -> None:
    queue.push(np.array(ends, np.int64), model.push(ends))
    queue.check()
    got = queue.pop(clock)
    queue.check()
    assert list(zip(*(part.tolist() for part in got), strict=True)) == model.pop(clock)
    assert len(queue) == len(model.waiting)


LIVES = st.one_of(st.integers(1, 5), st.integers(1, 300), st.integers(1, 10**6))
STARTS = st.sampled_from([0, -(10**6), 1_700_000_000_000_000, -(2**63) + 10, 2**62])


@given(
    STARTS,
    st.lists(st.tuples(st.lists(LIVES, max_size=40), st.one_of(st.just(0), LIVES)), max_size=12),
    st.booleans(),
)
def test_rows_leave_by_end_then_age(start: int, steps: list, reloading: bool) -> None:
    queue, model, clock = CalendarQueue(), Model(), start
    for lives, pause in steps:
        ends = [clock + life for life in lives]
        clock += pause
        step(queue, model, ends, clock)
        if reloading:
            saved, queue = queue.save(), CalendarQueue()
            queue.load(saved)
    step(queue, model, [], FOREVER - 1)
    assert len(queue) == 0


@pytest.mark.parametrize("spread", [1, 100, 10**5, 10**9])
def test_partitions_follow_rate_and_spread(spread: int) -> None:
    """A load that grows and falls, with bursts at one instant, far ends and long pauses."""
    draw = random.Random(spread)
    queue, model, clock = CalendarQueue(), Model(), 0
    for count in (1, 10, 300, 600, 600, 600, 10, 1, 1, 0, 5, 1):
        ends = [clock + 1 + draw.randrange(spread) for _ in range(count)]
        ends += [clock + 2 * spread] * (count // 2)
        ends += [FOREVER - 1 - i for i in range(count // 300)]
        clock += draw.choice([0, 1, spread // 7, spread, 5 * spread])
        step(queue, model, ends, clock)


def test_partitions_become_more_and_fewer() -> None:
    queue = CalendarQueue()
    rows = np.arange(40 * DEPTH * PARTITIONS)
    queue.push(rows * 1000 + 1, rows)
    assert len(queue.slots) >= 16 * PARTITIONS
    assert queue.slots[:, COUNT].max() <= 4 * DEPTH
    ends, _ = queue.pop(int(rows[-20] * 1000))
    assert len(ends) == len(rows) - 20
    queue.push(rows[:20] * 1000 + ends[-1] + 10_000, rows[:20])
    assert len(queue.slots) == PARTITIONS
    queue.check()


def test_a_few_far_ends_do_not_widen_all_partitions() -> None:
    ends = np.arange(1000)
    ends[-3:] = 2**62
    assert fitting_shift(ends, 64) <= 5


def test_nothing_is_due_before_the_soonest_end() -> None:
    queue = CalendarQueue()
    assert queue.soonest == FOREVER
    queue.push(np.array([50, 40]), np.array([0, 1]))
    assert queue.soonest == 40
    assert len(queue.pop(39)[0]) == 0
    assert queue.pop(40)[1].tolist() == [1]
    assert 40 < queue.soonest <= 50
