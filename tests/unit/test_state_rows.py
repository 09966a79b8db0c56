"""Rings and pools of rows give back what was put into them, under its number."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.schema import Field
from windrow.core.time import FOREVER
from windrow.operators.state.ring import SMALLEST, Ring
from windrow.operators.state.row_pool import RowPool
from windrow.operators.vector import I64, Vector

FIELDS = (Field("n", pa.int64()), Field("x", pa.float64()))

Row = tuple[int | None, float]


def columns_of(rows: list[Row]) -> dict[str, Vector]:
    n = np.array([r[0] or 0 for r in rows], np.int64)
    valid = np.array([r[0] is not None for r in rows], np.bool_)
    x = np.array([r[1] for r in rows], np.float64)
    return {
        "n": Vector(pa.int64(), n, None if valid.all() else valid),
        "x": Vector(pa.float64(), x),
    }


def rows_of(columns: dict[str, Vector]) -> list[Row]:
    n, x = columns["n"], columns["x"]
    valid = np.ones(len(n), np.bool_) if n.valid is None else n.valid
    return [
        (int(a) if ok else None, float(b)) for a, ok, b in zip(n.data, valid, x.data, strict=True)
    ]


def times(first: int, count: int) -> I64:
    return np.arange(first, first + count, dtype=np.int64)


ROWS = st.lists(st.tuples(st.integers(-9, 9) | st.none(), st.floats(-1, 1)), max_size=70)
STEPS = st.lists(st.tuples(ROWS, st.integers(0, 120)), max_size=8)


@given(STEPS, st.integers(0, 9))
def test_a_ring_is_a_list_that_loses_its_head(
    steps: list[tuple[list[Row], int]], longer: int
) -> None:
    """Rows from step `longer` on live longer, so that ends do not follow from arrivals."""
    ring = Ring(FIELDS)
    model: list[tuple[int, int, Row]] = []
    number = 0
    for step, (rows, drop) in enumerate(steps):
        ts = times(number, len(rows))
        first = ring.append(ts, 2 * ts if step >= longer else ts, columns_of(rows))
        assert first == number
        model += [(n, 2 * n if step >= longer else n, row) for n, row in enumerate(rows, number)]
        number += len(rows)
        ring.check()
        model = model[drop:]
        ring.drop_to(model[0][0] if model else number)
        ring.check()
        assert len(ring) == len(model)
        kept = np.array([n for n, _, _ in model], np.int64)
        assert rows_of(ring.take(kept)) == [row for _, _, row in model]
        assert ring.ends(ring.at(ring.tail, ring.head)).tolist() == [end for _, end, _ in model]
        for clock in (-1, number // 2, number, 2 * number):
            later = next((n for n, end, _ in model if end > clock), number)
            assert ring.first_after(clock) == later


def test_rows_of_a_ring_may_never_end() -> None:
    ring = Ring(FIELDS)
    ends = np.array([FOREVER, FOREVER], np.int64)
    ring.append(times(-6, 2), ends, columns_of([(1, 0.0), (2, 0.0)]))
    ring.check()
    assert ring.ends(ring.at(0, 2)).tolist() == ends.tolist()
    assert ring.first_after(FOREVER - 1) == 0


@given(STEPS, st.randoms(use_true_random=False))
def test_a_pool_is_a_dict_of_rows(steps: list, random) -> None:
    pool = RowPool(FIELDS)
    model: dict[int, tuple[int, Row]] = {}
    for step, (rows, drop) in enumerate(steps):
        places = pool.add(np.full(len(rows), step), columns_of(rows)).tolist()
        assert not model.keys() & set(places)
        assert len(set(places)) == len(rows)
        model |= {p: (step, row) for p, row in zip(places, rows, strict=True)}
        gone = random.sample(sorted(model), min(drop, len(model)))
        for place in gone:
            del model[place]
        pool.release(np.array(gone, np.int64))
        pool.check()
        assert len(pool) == len(model)
        live = pool.live()
        assert live.tolist() == sorted(model)
        assert rows_of(pool.take(live)) == [model[p][1] for p in sorted(model)]
        assert pool.ts[live].tolist() == [model[p][0] for p in sorted(model)]


def test_stores_give_memory_back() -> None:
    ring, pool = Ring(FIELDS), RowPool(FIELDS)
    empty = ring.nbytes, pool.nbytes
    rows: list[Row] = [(None, 0.0)] * (20 * SMALLEST)
    ring.append(times(0, len(rows)), times(0, len(rows)), columns_of(rows))
    places = pool.add(times(0, len(rows)), columns_of(rows))
    assert ring.nbytes > 20 * empty[0]
    ring.drop_to(ring.head)
    pool.release(places)
    bits_of_nulls = SMALLEST
    assert (ring.nbytes, pool.nbytes) == (empty[0] + bits_of_nulls, empty[1] + bits_of_nulls)
