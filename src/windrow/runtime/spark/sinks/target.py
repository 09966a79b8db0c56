"""What a sink knows of the query whose changes it takes."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.core.types import BIGINT, TIMESTAMP
from windrow.plan.expressions import Column
from windrow.plan.labels import clock_of
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Distinct,
    Except,
    Filter,
    Hold,
    Intersect,
    Join,
    Plan,
    Project,
    Query,
    Refresh,
    SemiJoin,
    SortKey,
    TopN,
    is_stream,
)


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
    order: tuple[SortKey, ...] = ()

    @property
    def changes(self) -> pa.Schema:
        """The columns of the changelog: ``_ts``, ``_sign``, then the query's."""
        time = TIMESTAMP if self.clock is Clock.TIMESTAMP else BIGINT
        own = [pa.field("_ts", time, nullable=False), pa.field("_sign", pa.int8(), nullable=False)]
        return pa.schema([*own, *self.schema.arrow()])


def target_of(query: Query) -> Target:
    """Return what sinks know of a query."""
    root = query.root
    appends = is_stream(root)
    key = None if appends else key_of(root)
    return Target(query.name, root.schema, clock_of(root), appends, key, query.order)


def key_of(plan: Plan) -> tuple[str, ...] | None:
    """Return columns that distinguish any two rows of the answer, or None if nothing says so.

    Groups have the keys of their GROUP BY (none: there is one row), sets have all columns; what
    drops, orders or holds rows keeps keys as they are, and a projection renames them.
    """
    match plan:
        case Aggregate(keys=keys):
            return tuple(key.name for key in keys)
        case Distinct(source=source):
            return key_of(source) or plan.schema.names
        case Intersect(all=False) | Except(all=False):
            return plan.schema.names
        case Filter() | TopN() | Refresh() | Hold():
            return key_of(plan.source)
        case SemiJoin(left=left) | AntiJoin(left=left):
            return key_of(left)
        case Join(left=left, right=right):
            ours, theirs = key_of(left), key_of(right)
            return None if ours is None or theirs is None else ours + theirs
        case Project():
            return _renamed(plan)
        case _:
            return None


def _renamed(plan: Project) -> tuple[str, ...] | None:
    """Return the key under the names that a projection gives it; None if it drops a part."""
    key = key_of(plan.source)
    if key is None:
        return None
    names = {c.expr.name: c.name for c in plan.columns if isinstance(c.expr, Column)}
    return tuple(names[name] for name in key) if set(key) <= set(names) else None
