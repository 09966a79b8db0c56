"""Sums of several words against Python's whole numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.kernels.words import add_words_untyped

ANY = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])


def joined(words: list[int]) -> int:
    total = words[0]
    for word in words[1:]:
        total = total * 2**64 + word % 2**64
    return total


@pytest.mark.parametrize("count", [2, 3])
@given(data=st.data())
def test_adding_is_that_of_whole_numbers(count, data):
    """Modulo what the words hold, and beside other columns. `sum_whole` says it of machine code."""
    kept, added = (data.draw(st.lists(ANY, min_size=count, max_size=count)) for _ in range(2))
    times = data.draw(ANY)
    row = np.array([[7, *kept, 9]], np.int64)
    add_words_untyped(row, 0, 1, added, times)
    assert row[0, 0] == 7
    assert row[0, -1] == 9
    wanted = joined(kept) + joined(added) * times
    assert (joined(row[0, 1:-1].tolist()) - wanted) % 2 ** (64 * count) == 0
