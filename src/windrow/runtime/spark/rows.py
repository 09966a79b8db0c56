"""Wide rows taken apart by port, and put together again: Arrow only, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from windrow.core.schema import Schema
from windrow.core.types import TIMESTAMP
from windrow.runtime.spark.slots import Wide, crossing_type


def split_rows(
    batches: Iterable[pa.RecordBatch], column: str, shards: int = 1
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each port: a batch itself where all of it is of one port.

    `column` has the port, or its goals among so many shards.
    """
    for batch in batches:
        if not batch.num_rows:
            continue
        numbers = batch.column(column).to_numpy(zero_copy_only=False)
        first = int(numbers[0])
        if (numbers == first).all():
            yield first // shards, batch
            continue
        for number in np.unique(numbers).tolist():
            yield number // shards, batch.filter(pa.array(numbers == number))


def narrow(
    batch: pa.RecordBatch, wide: Wide, number: int, schema: Schema, head: tuple[str, ...]
) -> pa.RecordBatch:
    """Return rows of one port: the columns of `head`, then its own in their types."""
    places = zip(wide.places[number], schema, strict=True)
    own = (_taken(batch, place, field.type) for place, field in places)
    return pa.RecordBatch.from_arrays(
        [*(batch.column(name) for name in head), *own], names=[*head, *schema.names]
    )


def _taken(batch: pa.RecordBatch, place: str | None, type_: pa.DataType) -> pa.Array:
    if place is None:
        return pa.nulls(batch.num_rows, type_)
    array = batch.column(place)
    if type_ == TIMESTAMP:
        return array.view(TIMESTAMP)
    return array if array.type == type_ else array.cast(type_)


def widened(
    batch: pa.RecordBatch, wide: Wide, number: int, schema: Schema, head: dict[str, int]
) -> pa.RecordBatch:
    """Return rows of one port or output as wide rows.

    `head` gives constants of the wide row's head; its other columns are the batch's.
    """
    by_place = dict(zip(wide.places[number], schema, strict=True))
    arrays = [_head_column(batch, name, type_, head) for name, type_ in wide.head]
    for slot in wide.slots:
        field = by_place.get(slot.name)
        if field is None:
            arrays.append(pa.nulls(batch.num_rows, slot.type))
        else:
            arrays.append(_given(batch.column(field.name), field.type))
            assert slot.name not in wide.required or not arrays[-1].null_count, (
                f"{field.name} is NULL, and its plan says that it never is"
            )
    return pa.RecordBatch.from_arrays(arrays, names=list(wide.names))


ARROW_HEADS = {"INT": pa.int32(), "BIGINT": pa.int64(), "TINYINT": pa.int8()}


def _head_column(
    batch: pa.RecordBatch, name: str, type_: str, constants: dict[str, int]
) -> pa.Array:
    arrow = ARROW_HEADS[type_]
    if name in constants:
        return pa.repeat(pa.scalar(constants[name], arrow), batch.num_rows)
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, arrow)
    array = batch.column(name)
    if array.type == TIMESTAMP:
        return array.view(pa.int64())
    return array if array.type == arrow else array.cast(arrow)


def _given(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array.view(pa.int64()) if type_ == TIMESTAMP else array.cast(crossing_type(type_))
