"""Room for the results of a join: enough, seldom made anew, and never for what may not come."""

from __future__ import annotations

import numpy as np
from tests.unit.join_reference import a_match

from windrow.kernels.chains import LEFT, RIGHT
from windrow.operators.join.gathered import FORESIGHT, GatheredPairs
from windrow.operators.join.rows import JoinRows
from windrow.physical.conditions import Form


def gathered() -> GatheredPairs:
    match = a_match(odd=False)
    left, right = (JoinRows(match, number, Form.FIFO) for number in (LEFT, RIGHT))
    return GatheredPairs(match, (left.payload, right.payload))


def test_one_dense_slice_makes_no_room_for_a_dense_rest() -> None:
    out = gathered()
    out.more(1000, share=1e-6)
    assert out.room <= FORESIGHT * 1000


def test_room_for_even_slices_is_made_a_few_times() -> None:
    out, rooms = gathered(), set()
    for number in range(1000):
        ts, exp = out.more(10, share=1 / (1000 - number))
        assert len(ts) == len(exp) == 10
        out.made += 10
        rooms.add(out.room)
    assert len(rooms) < 12
    assert out.room <= 1.2 * 10 * 1000


def test_what_was_gathered_stays_when_room_is_made() -> None:
    out = gathered()
    for first in range(0, 300, 3):
        ts, exp = out.more(3, share=0.01)
        ts[:], exp[:] = np.arange(first, first + 3), 500
        out.made += 3
    assert out.times[0, :300].tolist() == list(range(300))
