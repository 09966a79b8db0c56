"""Operators that look at one tuple at a time: σ and π. They store nothing.

σ_p(t) = t if p(t) is true        π(t) = the chosen expressions of t
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from windrow.core.types import BIGINT
from windrow.operators.arrow import vector_from_arrow, vector_to_arrow
from windrow.operators.delta import Delta
from windrow.operators.evaluate import compile_expr, compile_predicate
from windrow.operators.interner import Interner
from windrow.operators.stateless import Stateless
from windrow.operators.task import Counters
from windrow.operators.vector import Bools, Vector
from windrow.plan.expressions import Column, Expr, columns_of
from windrow.plan.nodes import Named

Holds = Callable[[Mapping[str, Vector], int], Bools]


def compile_condition(predicate: Expr, interner: Interner) -> Holds:
    """Return the test of a predicate on engine columns: which rows it is true for."""
    test = compile_predicate(predicate)
    reads = sorted(columns_of(predicate))

    def holds(columns: Mapping[str, Vector], rows: int) -> Bools:
        arrays = {name: vector_to_arrow(columns[name], interner) for name in reads}
        return test(arrays, rows)

    return holds


class FilterTask(Stateless):
    """σ at work."""

    def __init__(self, predicate: Expr, interner: Interner) -> None:
        self.counters = Counters()
        self._holds = compile_condition(predicate, interner)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Let through what the predicate is true for."""
        (delta,) = inputs
        if not len(delta):
            return delta
        kept = self._holds(delta.columns, len(delta))
        out = delta if kept.all() else delta.take(np.flatnonzero(kept))
        self._count(delta, out)
        return out


class ProjectTask(Stateless):
    """π at work: plain columns pass as they are, the others are evaluated.

    `origins`: the columns that each of the others is made of.
    """

    def __init__(self, columns: tuple[Named, ...], interner: Interner) -> None:
        self.counters = Counters()
        self._interner = interner
        self._plain = [(c.name, c.expr.name) for c in columns if isinstance(c.expr, Column)]
        computed = [c for c in columns if not isinstance(c.expr, Column)]
        self._computed = [(c.name, c.expr.type, compile_expr(c.expr)) for c in computed]
        self.origins = {c.name: columns_of(c.expr) for c in computed}
        self._reads = sorted(frozenset[str]().union(*self.origins.values()))
        self._order = [c.name for c in columns]

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Map every row."""
        (delta,) = inputs
        made = {new: delta.columns[old] for new, old in self._plain}
        if self._computed:
            self._compute(delta, made)
            made = {name: made[name] for name in self._order}
        out = delta.replace_columns(made)
        self._count(delta, out)
        return out

    def _compute(self, delta: Delta, made: dict[str, Vector]) -> None:
        if not len(delta):
            made.update({name: Vector.empty(type_) for name, type_, _ in self._computed})
            return
        arrays: dict[str, pa.Array] = {
            name: vector_to_arrow(delta.columns[name], self._interner) for name in self._reads
        }
        for name, type_, evaluate in self._computed:
            made[name] = vector_from_arrow(evaluate(arrays, len(delta)), type_, self._interner)


class OwnTimeTask(Stateless):
    """S → S with the ts of each tuple as a column."""

    def __init__(self, name: str) -> None:
        self.counters = Counters()
        self.name = name

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Write each tuple's ts beside its columns."""
        (delta,) = inputs
        out = delta.replace_columns({**delta.columns, self.name: Vector(BIGINT, delta.ts)})
        self._count(delta, out)
        return out
