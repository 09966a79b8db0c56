"""What all sinks share.

Facts about the query whose changes they write; a batch's changes, netted; and the refusal of a sink
that is new to a checkpoint which has emitted results before.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import RunError
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.core.types import BIGINT, TIMESTAMP
from windrow.plan import nodes
from windrow.plan.expressions import Column
from windrow.plan.labels import clock_of
from windrow.runtime.local.presentation import sort_table


@dataclass(frozen=True, slots=True)
class Target:
    """One query at the rim: its name, its columns, and how its rows are distinguished.

    `key` names columns whose values no two rows of the answer share; None if rows may repeat.
    A query that `appends` is a stream: its rows only come.
    """

    query: str
    schema: Schema
    clock: Clock
    appends: bool
    key: tuple[str, ...] | None
    order: tuple[nodes.SortKey, ...] = ()

    @property
    def changes(self) -> pa.Schema:
        """The columns of the changelog: ``_ts``, ``_sign``, then the query's."""
        time = TIMESTAMP if self.clock is Clock.TIMESTAMP else BIGINT
        own = [pa.field("_ts", time, nullable=False), pa.field("_sign", pa.int8(), nullable=False)]
        return pa.schema([*own, *self.schema.arrow()])


def target_of(query: nodes.Query) -> Target:
    """Return what sinks know of a query."""
    root = query.root
    appends = nodes.is_stream(root)
    key = None if appends else key_of(root)
    return Target(query.name, root.schema, clock_of(root), appends, key, query.order)


def key_of(plan: nodes.Plan) -> tuple[str, ...] | None:
    """Return columns that distinguish any two rows of the answer, or None if nothing says so.

    Groups have the keys of their GROUP BY (none: there is one row), sets have all columns; what
    drops, orders or holds rows keeps keys as they are, and a projection renames them.
    """
    match plan:
        case nodes.Aggregate(keys=keys):
            return tuple(key.name for key in keys)
        case nodes.Distinct(source=source):
            return key_of(source) or plan.schema.names
        case nodes.Intersect(all=False) | nodes.Except(all=False):
            return plan.schema.names
        case nodes.Filter() | nodes.TopN() | nodes.Refresh() | nodes.Hold():
            return key_of(plan.source)
        case nodes.SemiJoin(left=left) | nodes.AntiJoin(left=left):
            return key_of(left)
        case nodes.Join(left=left, right=right):
            ours, theirs = key_of(left), key_of(right)
            return None if ours is None or theirs is None else ours + theirs
        case nodes.Project():
            return _renamed(plan)
        case _:
            return None


def _renamed(plan: nodes.Project) -> tuple[str, ...] | None:
    """Return the key under the names that a projection gives it; None if it drops a part."""
    key = key_of(plan.source)
    if key is None:
        return None
    names = {c.expr.name: c.name for c in plan.columns if isinstance(c.expr, Column)}
    return tuple(names[name] for name in key) if set(key) <= set(names) else None


LOG = logging.getLogger(__name__)


def require_from_start(target: Target, place: str, reached: int) -> None:
    """Refuse a new sink that would lack what a query has emitted up to version `reached`.

    Without the earlier changes no answer can be folded from the later ones. A stream has no answer:
    its rows are appended from here on.
    """
    if reached == 0:
        return
    batch = reached // 2 - 1
    if target.appends:
        LOG.warning('%s is new: it gets what "%s" emits after batch %d', place, target.query, batch)
        return
    raise RunError(
        f'{place} does not hold what "{target.query}" answered before',
        detail=f"This sink is new, or was emptied, and the checkpoint has reached batch {batch}: "
        "the changes up to there went elsewhere, and later ones alone make no answer.",
        hint="Start with a new checkpoint to have all of them here, or leave this sink out.",
    )


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


def copies_of(net: pa.Table, schema: Schema, order: tuple[nodes.SortKey, ...]) -> pa.Table:
    """Return the answer: each row as often as it counts, in the order of ORDER BY."""
    copies = net[COUNT].to_numpy()
    rows = net.select(list(schema.names)).take(np.repeat(np.arange(len(net)), copies))
    return sort_table(rows, order)
