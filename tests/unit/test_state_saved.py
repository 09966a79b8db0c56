"""Saved state is the same when it is read again, or it is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from windrow.core.errors import StateError
from windrow.operators.state.saved import HEAD, from_bytes, to_bytes

DTYPES = st.sampled_from([np.int64, np.float64, np.bool_, np.uint64, np.uint8, np.int32])
ARRAYS = DTYPES.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0))
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=90),
    ARRAYS,
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
STATES = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)

EXAMPLE = {"a": np.arange(5), "b": [b"bytes", None, 2.5, {"c": np.zeros((2, 0))}], "n": 2**70}


def same(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray):
        return (
            isinstance(right, np.ndarray)
            and left.dtype == right.dtype
            and left.shape == right.shape
            and left.tobytes() == right.tobytes()
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and list(left) == list(right)
            and all(same(left[k], right[k]) for k in left)
        )
    return type(left) is type(right) and (left == right or (left != left and right != right))  # noqa: PLR0124


@given(STATES)
def test_state_is_read_as_it_was_written(state: dict) -> None:
    assert same(from_bytes(to_bytes(state)), state)


def test_arrays_that_were_read_can_be_written_to() -> None:
    array = from_bytes(to_bytes(EXAMPLE))["a"]
    assert isinstance(array, np.ndarray)
    array[0] = 7
    assert array.flags.aligned


def test_arrays_may_be_views() -> None:
    array = np.arange(12).reshape(3, 4)
    assert same(
        from_bytes(to_bytes({"a": array[:, ::2], "b": array.T})),
        {"a": array[:, ::2].copy(), "b": array.T.copy()},
    )


def test_every_flipped_bit_is_found() -> None:
    block = to_bytes(EXAMPLE)
    for at in range(len(block)):
        damaged = bytearray(block)
        damaged[at] ^= 1 << (at % 8)
        with pytest.raises(StateError):
            from_bytes(bytes(damaged))


def test_every_cut_is_found() -> None:
    block = to_bytes(EXAMPLE)
    for at in range(len(block)):
        with pytest.raises(StateError):
            from_bytes(block[:at])
    with pytest.raises(StateError, match="cut short"):
        from_bytes(block[:-1])
    with pytest.raises(StateError):
        from_bytes(block + b"\0")


def test_another_version_is_refused_with_a_hint() -> None:
    block = bytearray(to_bytes(EXAMPLE))
    HEAD.pack_into(block, 0, b"windrow\0", 2, *HEAD.unpack_from(block)[2:])
    with pytest.raises(StateError, match="version 2"):
        from_bytes(bytes(block))


def test_what_is_not_plain_is_a_bug() -> None:
    with pytest.raises(TypeError, match="object"):
        to_bytes({"a": object()})
    with pytest.raises(AssertionError):
        to_bytes({"a": np.array([None])})
