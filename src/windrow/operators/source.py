"""Where a stream enters the plan: filter and project on Arrow, then only the needed columns encode.

A `SourceScan` is what a runtime must know of an input: the in-process engine evaluates it here,
another runtime may evaluate the same expressions before the tuples ever reach Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.core.schema import Schema
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.evaluate import compile_expr, compile_predicate
from windrow.operators.few import Incoming, array_of_column, vector_of
from windrow.operators.fixed import array_of
from windrow.operators.interner import Interner
from windrow.operators.vector import I64
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Column, Expr, columns_of, conjunction, substitute
from windrow.plan.nodes import Named


@dataclass(frozen=True, slots=True)
class SourceScan:
    """π_columns(σ_predicate(stream)): which tuples enter, and as what.

    Expressions read the stream's columns by their declared names.
    """

    entry: Stream | Relation
    columns: tuple[Named, ...]
    predicate: Expr | None = None

    @property
    def schema(self) -> Schema:
        """The columns that enter the plan."""
        return Schema(tuple(c.field for c in self.columns))

    @property
    def begins(self) -> bool:
        """Return whether its first tuple or change is an event with which a query can begin."""
        return isinstance(self.entry, Stream) or self.entry.retroactive

    @property
    def reads(self) -> frozenset[str]:
        """The declared columns that are looked at."""
        exprs = [c.expr for c in self.columns]
        if self.predicate is not None:
            exprs.append(self.predicate)
        return frozenset[str]().union(*map(columns_of, exprs))

    def filtered(self, predicate: Expr) -> SourceScan:
        """Return the source with one more condition on its columns."""
        inner = self.at_entry(predicate)
        both = (inner,) if self.predicate is None else (self.predicate, inner)
        return SourceScan(self.entry, self.columns, conjunction(both))

    def projected(self, columns: tuple[Named, ...]) -> SourceScan:
        """Return the source with other columns, made from its own."""
        made = tuple(Named(c.name, self.at_entry(c.expr)) for c in columns)
        return SourceScan(self.entry, made, self.predicate)

    def only(self, needed: frozenset[str]) -> SourceScan:
        """Return the source without the columns that nobody reads."""
        kept = tuple(c for c in self.columns if c.name in needed)
        return SourceScan(self.entry, kept, self.predicate)

    def at_entry(self, expr: Expr) -> Expr:
        """Return an expression over this source's columns as one over the declared columns."""
        by_name = {c.name: c.expr for c in self.columns}
        return substitute(expr, lambda column: by_name[column.name])


def as_it_is(source: SourceScan) -> SourceScan:
    """Return the source of rows that have its columns already, and are those that enter."""
    columns = tuple(Named(f.name, Column(f.name, f.type, f.nullable)) for f in source.schema)
    return SourceScan(source.entry, columns)


class SourceReader:
    """A `SourceScan` at work: pushed columns in, a delta out."""

    def __init__(self, source: SourceScan, interner: Interner) -> None:
        self.source = source
        self._interner = interner
        self._holds = None if source.predicate is None else compile_predicate(source.predicate)
        self._reads = tuple(source.reads)
        self._columns = [
            (
                c.name,
                c.expr.type,
                c.expr.name if isinstance(c.expr, Column) else compile_expr(c.expr),
            )
            for c in source.columns
        ]
        computed = any(not isinstance(value, str) for *_, value in self._columns)
        self._is_plain = source.predicate is None and not computed

    def read(self, ts: I64, given: Mapping[str, Incoming], weight: I64 | None = None) -> Delta:
        """Return the tuples that enter; `weight` is given for changes of a relation."""
        if not self._is_plain:
            given = {name: array_of_column(given[name]) for name in self._reads}
        if self._holds is not None and len(ts):
            kept = self._holds(given, len(ts))
            if not kept.all():
                rows = np.flatnonzero(kept)
                taken = array_of(rows, BIGINT, None)
                given = {name: array.take(taken) for name, array in given.items()}
                ts = ts[rows]
                weight = None if weight is None else weight[rows]
        columns = {}
        for name, type_, value in self._columns:
            column = given[value] if isinstance(value, str) else value(given, len(ts))
            columns[name] = vector_of(column, type_, self._interner)
        return Delta(ts, columns, None, weight)
