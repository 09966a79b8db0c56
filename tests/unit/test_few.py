"""A few Python values become the column that Arrow makes of them, or are left to Arrow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.types import BIGINT, DATE, DOUBLE, STRING, TIMESTAMP
from windrow.operators.arrow import vector_from_arrow
from windrow.operators.few import few_values, vector_of
from windrow.operators.interner import Interner
from windrow.runtime.local.fitting import converted

ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=-7, minutes=30))])
MOMENTS = st.datetimes(timezones=ZONES)
OWN = {
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(),
    STRING: st.text(st.characters(exclude_categories=["Cs"])),
    TIMESTAMP: MOMENTS | st.integers(-(2**62), 2**62),
}


@given(st.sampled_from(list(OWN)).flatmap(lambda t: st.tuples(st.just(t), st.lists(OWN[t]))))
def test_values_become_what_arrow_makes_of_them(case: tuple[pa.DataType, list[object]]) -> None:
    type_, values = case
    few = few_values(values, type_)
    if len({type(v) for v in values}) != 1:
        assert few is None
        return
    assert few is not None
    expected = converted(values, type_)
    nan_aware = expected.view(pa.int64()) if type_ == DOUBLE else expected
    assert few.array().view(nan_aware.type).equals(nan_aware)
    interner = Interner()
    mine, theirs = vector_of(few, type_, interner), vector_from_arrow(expected, type_, interner)
    assert mine.type == theirs.type
    assert mine.data.dtype == theirs.data.dtype
    np.testing.assert_array_equal(mine.data, theirs.data)
    assert mine.data.flags.writeable


@pytest.mark.parametrize(
    "values, type_",
    [
        ([], BIGINT),
        ([1, None], BIGINT),
        ([True], BIGINT),
        ([1.0], BIGINT),
        ([2**63], BIGINT),
        ([1], DOUBLE),
        (["1"], DOUBLE),
        ([b"a"], STRING),
        (["\ud800"], STRING),
        (["2026-01-01"], TIMESTAMP),
        ([2**63], TIMESTAMP),
        ([datetime(2026, 1, 1, tzinfo=UTC)], DATE),
    ],
)
def test_what_is_not_the_types_own_is_left_to_arrow(
    values: list[object], type_: pa.DataType
) -> None:
    assert few_values(values, type_) is None
