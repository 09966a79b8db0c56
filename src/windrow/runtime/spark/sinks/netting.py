"""Changes to rows: what is left when changes that take each other back have met."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.schema import Schema
from windrow.plan.nodes import SortKey
from windrow.runtime.local.presentation import sort_table

COUNT = "_count"
"""The column with how many copies of a row there are, or how many came and went."""


def net_rows(changes: pa.Table, schema: Schema) -> pa.Table:
    """Return the distinct rows of some changes, and in `_count` how many more of each there are.

    `changes` has the columns of `schema` and `_sign` or `_count`. Rows that net to none are left
    out. O(changes).
    """
    weight = changes[COUNT if COUNT in changes.schema.names else "_sign"].cast(pa.int64())
    rows = changes.select(list(schema.names))
    keys = {f"k{i}": comparable(rows.column(i)) for i in range(rows.num_columns)}
    table = pa.table({**keys, "weight": weight, "row": np.arange(len(changes))})
    sums = table.group_by(list(keys), use_threads=False).aggregate(
        [("weight", "sum"), ("row", "min")]
    )
    sums = sums.filter(pc.not_equal(sums["weight_sum"], 0))
    net = rows.take(sums["row_min"])
    return net.append_column(COUNT, sums["weight_sum"])


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that can be grouped by: nested values as their JSON."""
    if not pa.types.is_nested(column.type):
        return column
    texts = [None if v is None else json.dumps(v, default=str) for v in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def copies_of(net: pa.Table, schema: Schema, order: tuple[SortKey, ...]) -> pa.Table:
    """Return the answer: each row as often as it counts, in the order of ORDER BY."""
    copies = net[COUNT].to_numpy()
    rows = net.select(list(schema.names)).take(np.repeat(np.arange(len(net)), copies))
    return sort_table(rows, order)
