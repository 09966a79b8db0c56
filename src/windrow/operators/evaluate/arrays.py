"""What kernels are made of: Arrow functions bound once, raw views, masks, grouped parameters.

A *datum* is an array, or a scalar that stands for a constant column. A kernel takes datums, at
least one of them an array, and gives an array. NULL slots of raw views hold anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import BOOLEAN
from windrow.operators.few import scalar_of
from windrow.plan.expressions import Call, Literal

Datum: TypeAlias = Any  # pa.Array | pa.Scalar: pyarrow has no types to check by
Kernel: TypeAlias = Callable[..., Datum]
Builder: TypeAlias = Callable[[Call], Kernel]
Raw: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]


def arrow(name: str, options: Any = None) -> Kernel:
    """Return an Arrow compute function, looked up once: 3.7 µs a call on one row."""
    call = pc.function_registry().get_function(name).call
    if options is None:
        return lambda *datums: call(datums)
    return lambda *datums: call(datums, options)


def unsafe_cast(type_: pa.DataType) -> Kernel:
    """Return the cast to a type that the caller knows to hold all values."""
    return arrow("cast", pc.CastOptions.unsafe(type_))


if_else = arrow("if_else")
is_valid = arrow("is_valid")
invert = arrow("invert")
is_null = arrow("is_null", pc.NullOptions())
fill_false = arrow("coalesce")
FALSE = scalar_of(False, BOOLEAN)  # noqa: FBT003 - a constant, not a flag


def raw(datum: Datum, dtype: npt.DTypeLike | None = None) -> Raw:
    """Return the values of fixed width as NumPy sees them, without a copy."""
    if isinstance(datum, pa.Scalar):
        return np.asarray(_plain_value(datum), dtype or datum.type.to_pandas_dtype())
    kind = np.dtype(dtype or datum.type.to_pandas_dtype())
    if len(datum) == 0:
        return np.empty(0, kind)
    width = kind.itemsize
    return np.frombuffer(datum.buffers()[1], kind, len(datum), datum.offset * width)


def _plain_value(scalar: pa.Scalar) -> object:
    plain = scalar.value if hasattr(scalar, "value") else scalar.as_py()
    return 0 if plain is None else plain


def micros(datum: Datum) -> Raw:
    """Return timestamps or intervals as int64 µs."""
    return raw(datum, np.int64)


def validity(*datums: Datum) -> Mask | None:
    """Return where no datum is NULL; None for everywhere."""
    valid: Mask | None = None
    for datum in datums:
        if isinstance(datum, pa.Array) and datum.null_count:
            here = is_valid(datum).to_numpy(zero_copy_only=False)
            valid = here if valid is None else valid & here
    return valid


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    """Return the AND of two masks, where None is true everywhere."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    """Return a mask as Arrow's validity buffer."""
    return None if valid is None or valid.all() else pa.array(valid).buffers()[1]


def build(type_: pa.DataType, values: Raw, valid: Mask | None) -> pa.Array:
    """Return an array of fixed width over NumPy values of the same width."""
    buffers = [bitmap(valid), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(type_, len(values), buffers)


def reinterpret(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the same bits under another type of the same width."""
    return pa.Array.from_buffers(type_, len(array), array.buffers(), offset=array.offset)


def null_where(array: pa.Array, bad: Mask) -> pa.Array:
    """Return the array with more NULLs; as it is if `bad` is nowhere true."""
    return if_else(pa.array(~bad), array, scalar_of(None, array.type)) if bad.any() else array


def keep_where(condition: Datum, array: Datum) -> pa.Array:
    """Return the array with NULL where the condition is not true."""
    return if_else(condition, array, scalar_of(None, array.type))


def constants(call: Call, first: int) -> tuple[Any, ...] | None:
    """Return the values of the arguments from `first` on, if all are constants."""
    args = call.args[first:]
    return (
        tuple(a.value for a in args if isinstance(a, Literal))
        if all(isinstance(a, Literal) for a in args)
        else None
    )


def by_parameters(make: Callable[..., Kernel]) -> Builder:
    """Return the builder of a function of a text whose other arguments are parameters.

    Constant parameters prepare the kernel once. Parameters from columns are grouped: one
    kernel a distinct combination, never one a row.
    """

    def builder(call: Call) -> Kernel:
        known = constants(call, 1)
        if known is not None:
            kernel = make(*known)
            return lambda text, *_: kernel(text)
        return lambda *datums: _grouped(make, call.type, datums)

    return builder


def _grouped(
    make: Callable[..., Kernel], type_: pa.DataType, datums: tuple[Datum, ...]
) -> pa.Array:
    rows = max(len(d) for d in datums if isinstance(d, pa.Array))
    text, *parameters = (pa.repeat(d, rows) if isinstance(d, pa.Scalar) else d for d in datums)
    if rows == 0:
        return pa.nulls(0, type_)
    codes = np.zeros(rows, np.int64)
    for column in parameters:
        encoded = column.dictionary_encode("encode")
        codes = codes * len(encoded.dictionary) + raw(encoded.indices)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    pieces = [
        _apply(make, type_, [c.take(pa.array(some)) for c in (text, *parameters)])
        for some in np.split(order, starts[1:])
    ]
    return pa.concat_arrays(pieces).take(pa.array(np.argsort(order)))


def _apply(make: Callable[..., Kernel], type_: pa.DataType, columns: list[pa.Array]) -> pa.Array:
    """Run the kernel of one combination of parameters; NULL if one of them is."""
    text, *parameters = columns
    values = [column[0].as_py() for column in parameters]
    if any(value is None for value in values):
        return pa.nulls(len(text), type_)
    return make(*values)(text)
