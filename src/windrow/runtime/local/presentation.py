"""How answers are shown: times in the clock's type, rows in the order that was asked for."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.operators.evaluate import evaluate
from windrow.plan.expressions import Column
from windrow.plan.nodes import SortKey


def sort_table(table: pa.Table, order: tuple[SortKey, ...]) -> pa.Table:
    """Return the rows in the order of ORDER BY; as they are if there is none.

    Of equal keys those with lesser values come first, column by column, NULLs before all.
    """
    if not order or not len(table):
        return table
    columns = {name: table[name].combine_chunks() for name in table.schema.names}
    rows = pa.array(range(len(table)))
    ties = tuple(
        SortKey(Column(f.name, f.type), descending=False, nulls_first=True)
        for f in table.schema
        if not pa.types.is_nested(f.type)
    )
    for key in reversed(order + ties):
        rows = _sorted(rows, evaluate(key.expr, columns, len(table)), key)
    return table.take(rows)


def _sorted(rows: pa.Array, values: pa.Array, key: SortKey) -> pa.Array:
    """Return rows by the values that they have, those of equal values as they are.

    NaN is greater than every number; Arrow by itself puts it behind all, also where they descend.
    """
    descending = "descending" if key.descending else "ascending"
    nulls = "at_start" if key.nulls_first else "at_end"
    parts = [values]
    if pa.types.is_floating(values.type):
        is_nan = pc.is_nan(values)
        parts = [pc.if_else(is_nan, pa.scalar(0.0, values.type), values), is_nan]
    for part in parts:
        taken = part.take(rows)
        chosen = pc.array_sort_indices(taken, order=descending, null_placement=nulls)
        rows = rows.take(chosen)
    return rows
