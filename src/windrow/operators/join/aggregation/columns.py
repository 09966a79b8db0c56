"""Columns of contributions: gathered from entries, only those that somebody reads."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Field
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.aggregation.walk import ContributionBatch
from windrow.operators.join.multi.stores import BagOfRows
from windrow.operators.vector import Vector, empty_data
from windrow.physical.calls import GroupBy


class ContributedColumns:
    """What the residual, late calls and computed keys read of contributions."""

    def __init__(self, op: AggregationJoin, entries: list[BagOfRows]) -> None:
        self.op = op
        self.entries = entries
        calls = tuple(fold.call for fold in op.folds if fold.early is None)
        self.late = GroupBy((), calls).read
        read = {f.name for f in self.late}
        whole, residual = op.compute is not None, op.match.residual is not None
        self.names = tuple(
            source.kept if residual else tuple(n for n in source.output if whole or n in read)
            for source in op.match.inputs
        )

    def of(self, part: ContributionBatch) -> tuple[ContributionBatch, dict[str, Vector]]:
        """Return the contributions that the residual lets pass, and their columns."""
        read: dict[str, Vector] = {}
        for i, names in enumerate(self.names):
            if names:
                read |= self.entries[i].columns(part.entries(i), names)
        if self.op.match.residual is not None and len(part):
            chosen = np.flatnonzero(self.op.match.residual(read, len(part)))
            if len(chosen) < len(part):
                part = part.only(chosen)
                read = {name: v.take(chosen) for name, v in read.items()}
        if self.op.compute is not None and len(part):
            read |= self.op.compute(read, len(part))
        return part, read


def null_columns(fields: tuple[Field, ...]) -> dict[str, Vector]:
    """Return columns of one row, all NULL."""
    return {
        f.name: Vector(f.type, np.zeros_like(empty_data(f.type, 1)), np.zeros(1, np.bool_))
        for f in fields
    }
