"""Arrow <-> the engine's columns, at the rim and around the evaluator of expressions."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa
from pyarrow import lib

from windrow.core.schema import Schema
from windrow.operators.buffers import valid_of
from windrow.operators.fixed import STORED, array_of, data_of
from windrow.operators.interner import Interner
from windrow.operators.vector import I64, Vector, is_interned


def vector_from_arrow(
    array: pa.Array | pa.ChunkedArray, type_: pa.DataType, interner: Interner
) -> Vector:
    """Return an array as a column of the type, to which it is cast if it has another.

    Words without NULLs are not copied. Raises `pa.ArrowInvalid` if a value does not fit the type.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if array.type.id == lib.Type_DICTIONARY:
        if (
            array.type.value_type == type_
            and is_interned(type_)
            and not array.dictionary.null_count
        ):
            return Vector(type_, interner.encode(array), valid_of(array))
        array = array.dictionary_decode()
    if array.type != type_:
        array = array.cast(type_)
    valid = valid_of(array)
    if type_.id not in STORED and is_interned(type_):
        return Vector(type_, interner.encode(array), valid)
    data = data_of(array)
    return Vector(type_, data if valid is None else np.where(valid, data, 0), valid)


def words_of(column: pa.Array | pa.ChunkedArray) -> I64:
    """Return a column of whole numbers without NULLs as kernels take it."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return cast("I64", data_of(column))


def vector_to_arrow(vector: Vector, interner: Interner) -> pa.Array:
    """Return a column as an array of its type; words are not copied."""
    type_ = vector.type
    if type_.id not in STORED and is_interned(type_):
        return interner.decode(cast("I64", vector.data), type_, vector.valid)
    return array_of(vector.data, type_, vector.valid)


def table_to_columns(
    table: pa.Table | pa.RecordBatch, schema: Schema, interner: Interner
) -> dict[str, Vector]:
    """Return the columns of a schema from a table that has them, by name."""
    return {f.name: vector_from_arrow(table[f.name], f.type, interner) for f in schema}


def columns_to_table(columns: dict[str, Vector], schema: Schema, interner: Interner) -> pa.Table:
    """Return columns as a table of the schema."""
    arrays = [vector_to_arrow(columns[f.name], interner) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema.arrow())
