"""Where a step is cut: no slice has much to do, whatever those before it gave."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from windrow.runtime.shards.agenda import EVERY, FIRST_MARKS, SLICE_ROWS, Agenda

ROWS = 1 << 22


def sizes(gives: Callable[[int], int]) -> list[int]:
    """Return how many rows each slice takes in, of one row an instant; `gives`: out of the nth."""
    agenda, taken, before = Agenda.empty(), [], -1
    for number, until in enumerate(agenda.slices([np.arange(ROWS)], -1, ROWS - 1)):
        taken.append(until - before)
        before = until
        agenda.made(gives(number))
    assert sum(taken) == ROWS
    return taken


def test_a_slice_is_no_larger_after_slices_that_gave_nothing() -> None:
    quiet = sizes(lambda _: 0)
    assert max(quiet) <= SLICE_ROWS + 2 * EVERY
    assert quiet[0] <= (FIRST_MARKS + 1) * EVERY
    assert len(quiet) < 12


def test_slices_stay_small_for_a_while_after_a_burst() -> None:
    burst = sizes(lambda number: 16 * SLICE_ROWS if number == 1 else 0)
    after = burst[2:]
    assert after[0] <= SLICE_ROWS / 8
    assert all(later <= 2.5 * size for size, later in pairwise(after))
    assert max(after) > SLICE_ROWS / 2
