"""How answers are shown: times in the clock's type, rows in the order that was asked for."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.operators.evaluate import evaluate
from windrow.plan.nodes import SortKey


def sort_table(table: pa.Table, order: tuple[SortKey, ...]) -> pa.Table:
    """Return the rows in the order of ORDER BY; as they are if there is none."""
    if not order or not len(table):
        return table
    columns = {name: table[name].combine_chunks() for name in table.schema.names}
    rows = pa.array(range(len(table)))
    for key in reversed(order):
        values = evaluate(key.expr, columns, len(table)).take(rows)
        chosen = pc.array_sort_indices(
            values,
            order="descending" if key.descending else "ascending",
            null_placement="at_start" if key.nulls_first else "at_end",
        )
        rows = rows.take(chosen)
    return table.take(rows)
