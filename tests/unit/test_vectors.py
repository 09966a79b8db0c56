"""Arrow arrays survive the way into the engine's columns and out again, whatever their form."""

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.schema import Field, Schema
from windrow.operators.arrow import (
    columns_to_table,
    table_to_columns,
    vector_from_arrow,
    vector_to_arrow,
)
from windrow.operators.interner import Interner
from windrow.operators.vector import Vector

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # hashes, interpreted

TIMESTAMP = pa.timestamp("us", tz="UTC")


def decimals(digits: int, places: int) -> st.SearchStrategy[Decimal]:
    bound = 10 ** (digits - places) - 1
    return st.decimals(-bound, bound, places=places, allow_nan=False, allow_infinity=False)


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


PLAIN: list[tuple[pa.DataType, st.SearchStrategy]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), integers(8)),
    (pa.int16(), integers(16)),
    (pa.int32(), integers(32)),
    (pa.int64(), integers(64)),
    (pa.float32(), st.floats(width=32, allow_nan=False).map(lambda x: x + 0.0)),
    (pa.float64(), st.floats(allow_nan=False).map(lambda x: x + 0.0)),
    (pa.decimal128(9, 2), decimals(9, 2)),
    (pa.decimal128(18, 0), decimals(18, 0)),
    (pa.decimal128(19, 3), decimals(19, 3)),
    (pa.decimal128(38, 6), decimals(38, 6)),
    (pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    (TIMESTAMP, st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))),  # noqa: DTZ001
    (pa.duration("us"), st.timedeltas(timedelta(-9999), timedelta(9999))),
    (pa.string(), st.text(max_size=12)),
    (pa.binary(), st.binary(max_size=12)),
]

TYPED = st.recursive(
    st.sampled_from(PLAIN),
    lambda inner: (
        inner.map(lambda t: (pa.list_(t[0]), st.lists(t[1] | st.none(), max_size=3)))
        | st.tuples(inner, inner).map(
            lambda pair: (
                pa.struct([("x", pair[0][0]), ("y", pair[1][0])]),
                st.fixed_dictionaries({"x": pair[0][1] | st.none(), "y": pair[1][1] | st.none()}),
            )
        )
    ),
    max_leaves=3,
)


@st.composite
def arrays(draw: st.DrawFn) -> pa.Array | pa.ChunkedArray:
    """Draw an array of any type: with or without NULLs, whole, sliced or in chunks."""
    type_, values = draw(TYPED)
    if draw(st.booleans()):
        values |= st.none()
    array = pa.array(draw(st.lists(values, max_size=12)), type_)
    match draw(st.sampled_from(["whole", "sliced", "chunks"])):
        case "sliced":
            start = draw(st.integers(0, len(array)))
            return array.slice(start, draw(st.integers(0, len(array) - start)))
        case "chunks":
            cut = draw(st.integers(0, len(array)))
            return pa.chunked_array([array[:cut], array[cut:]], type_)
    return array


@given(arrays())
def test_every_array_comes_back(array: pa.Array | pa.ChunkedArray) -> None:
    interner = Interner()
    vector = vector_from_arrow(array, array.type, interner)
    assert len(vector) == len(array)
    assert vector.data.dtype == (np.float64 if pa.types.is_floating(array.type) else np.int64)
    assert vector.data.flags.c_contiguous
    assert vector.data.flags.writeable
    if vector.valid is not None:
        assert not vector.data[~vector.valid].any(), "NULLs are 0"
    back = vector_to_arrow(vector, interner)
    back.validate(full=True)
    assert back.type == array.type
    assert back.to_pylist() == array.to_pylist()


@given(TYPED, st.data())
def test_equal_words_mean_equal_values(
    typed: tuple[pa.DataType, st.SearchStrategy], data: st.DataObject
) -> None:
    type_, values = typed
    few = data.draw(st.lists(values, min_size=1, max_size=4))
    chosen = data.draw(st.lists(st.sampled_from(few), max_size=10))
    words = vector_from_arrow(pa.array(chosen, type_), type_, Interner()).data.tolist()
    array = pa.array(chosen, type_).to_pylist()
    for i, a in enumerate(array):
        assert [words[i] == w for w in words] == [a == b for b in array]


def test_all_floats_that_sql_holds_equal_are_one_array_value() -> None:
    array = pa.array([[0.0], [-0.0], [math.nan], [-math.nan]], pa.list_(pa.float64()))
    codes = Interner().encode(array).tolist()
    assert codes[0] == codes[1]
    assert codes[2] == codes[3]
    assert codes[0] != codes[2]


def test_null_columns_come_back() -> None:
    vector = vector_from_arrow(pa.nulls(3), pa.null(), Interner())
    assert vector.data.tolist() == [0, 0, 0]
    assert vector.valid is not None
    assert vector.valid.tolist() == [False] * 3
    assert vector_to_arrow(vector, Interner()).to_pylist() == [None] * 3


def test_many_words_are_not_copied() -> None:
    array = pa.array(np.arange(10_000))
    vector = vector_from_arrow(array, pa.int64(), Interner())
    assert vector.data.ctypes.data == array.buffers()[1].address
    assert vector_to_arrow(vector, Interner()).buffers()[1].address == vector.data.ctypes.data


def test_a_view_keeps_the_memory_alive() -> None:
    vector = vector_from_arrow(pa.array(np.arange(10_000)), pa.int64(), Interner())
    spoiled = [np.full(10_000, -1) for _ in range(50)]
    assert vector.data.sum() == 10_000 * 9_999 // 2
    del spoiled


@pytest.mark.parametrize(
    ("given_", "type_"),
    [
        (pa.array([1, None], pa.int32()), pa.int64()),
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array(["a", None, "a"]).dictionary_encode(), pa.string()),
        (pa.array([1, None, 1]).dictionary_encode(), pa.int64()),
        (pa.DictionaryArray.from_arrays([0, 1, None], pa.array(["a", None])), pa.string()),
        (pa.array([5, None], pa.timestamp("ms", tz="UTC")), TIMESTAMP),
    ],
    ids=str,
)
def test_other_types_are_cast(given_: pa.Array, type_: pa.DataType) -> None:
    interner = Interner()
    back = vector_to_arrow(vector_from_arrow(given_, type_, interner), interner)
    if isinstance(given_, pa.DictionaryArray):
        given_ = given_.dictionary_decode()
    assert back.to_pylist() == given_.cast(type_).to_pylist()


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        vector_from_arrow(pa.array([300]), pa.int8(), Interner())


def test_tables_come_back() -> None:
    schema = Schema((Field("n", pa.int64()), Field("s", pa.string())))
    table = pa.table({"s": ["x", None], "n": [None, 2], "other": [1.0, 2.0]})
    interner = Interner()
    columns = table_to_columns(table, schema, interner)
    assert list(columns) == ["n", "s"]
    assert all(isinstance(v, Vector) for v in columns.values())
    back = columns_to_table(columns, schema, interner)
    assert back.schema == schema.arrow()
    assert back.to_pydict() == {"n": [None, 2], "s": ["x", None]}
