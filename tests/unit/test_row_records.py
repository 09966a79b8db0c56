"""Rows whose columns lie side by side: on lines of the cache, and gathered as NumPy would."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.schema import Field
from windrow.operators.buffers import LARGE, room_for
from windrow.operators.state.aligned import LINE, aligned, row_words
from windrow.operators.state.key_table import grown
from windrow.operators.state.row_records import RowRecords
from windrow.operators.vector import Vector


@given(st.integers(0, 9), st.integers(1, 700), st.integers(0, 2**32 - 1))
def test_rows_come_back_as_they_were_written(columns: int, rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    written = random.integers(-9, 9, (columns, rows))
    fields = tuple(Field(f"c{k}", pa.int64()) for k in range(columns))
    records = RowRecords(fields, rows)
    vectors = {f.name: Vector(f.type, written[k]) for k, f in enumerate(fields)}
    records.admit(vectors)
    records.write(slice(0, rows), vectors, slice(0, rows))
    records.check()
    at = random.integers(0, rows, random.integers(0, 2 * rows))
    taken = records.take(at)
    for k, f in enumerate(fields):
        assert np.array_equal(taken[f.name].data, written[k, at])


@given(st.integers(1, 40), st.integers(1, 20))
def test_no_row_crosses_a_line_in_vain(rows: int, columns: int) -> None:
    words = aligned((rows, row_words(columns)), np.int64)
    assert words.ctypes.data % LINE == 0
    assert not words.any()
    assert words.shape[1] >= columns
    width = 8 * words.shape[1]
    assert LINE % width == 0 or width % LINE == 0


def test_what_grows_is_on_lines() -> None:
    table = grown(np.ones((3, 4), np.int64), 1000)
    assert table.ctypes.data % LINE == 0
    assert table[:3].all()
    assert not table[3:].any()


def test_room_for_results_can_be_written_and_outlives_its_name() -> None:
    for rows in (2, LARGE):
        room = room_for(rows, 1)
        room[:] = 7
        line = room.reshape(-1)[1:]
        del room
        assert (line == 7).all()
        assert len(line) == rows - 1
