"""Where a stream enters the plan: filter and project on Arrow, then only the needed columns encode.

A `SourceScan` is what a runtime must know of an input: the in-process engine evaluates it here,
another runtime may evaluate the same expressions before the tuples ever reach Python.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.evaluate import compile_expr, compile_predicate
from windrow.operators.few import Incoming, array_of_column, vector_of
from windrow.operators.fixed import array_of
from windrow.operators.interner import Interner
from windrow.operators.vector import I64
from windrow.physical.sources import SourceScan
from windrow.plan.expressions import Column


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
