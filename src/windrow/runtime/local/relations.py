"""Relations at the door: their changes over time, upserts by key, deletions by sign."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError
from windrow.operators.vector import I64
from windrow.plan.catalog import Relation
from windrow.runtime.local.ingest import Batch

TIME, SIGN = "_ts", "_sign"


@dataclass(slots=True)
class RelationInput:
    """One relation: all its changes so far, and with a key the row that each key has now."""

    relation: Relation
    history: list[tuple[I64, I64, dict[str, pa.Array]]] = field(default_factory=list)
    current: dict[tuple[object, ...], dict[str, object]] = field(default_factory=dict)
    poison: list[pa.Table] = field(default_factory=list)

    def accept(self, batch: Batch, now: int) -> tuple[I64, I64, dict[str, pa.Array]]:
        """Take rows in; return the changes they make: times, signs, columns.

        A row takes effect at its `_ts`, else `now`. `_sign` -1 deletes it. With a key, a row
        replaces the one that had its key.
        """
        if batch.poison is not None:
            self.poison.append(batch.poison)
        ts = _given(batch, TIME, now)
        sign = _given(batch, SIGN, 1)
        arrays = {f.name: batch.arrays[f.name] for f in self.relation.schema}
        if not np.isin(sign, (-1, 1)).all():
            raise InputError(
                f'_sign of "{self.relation.name}" must be 1 or -1', detail="Nothing was pushed."
            )
        order = np.argsort(ts, kind="stable")
        ts, sign = ts[order], sign[order]
        arrays = {name: a.take(pa.array(order)) for name, a in arrays.items()}
        change = (ts, sign, arrays) if not self.relation.key else self._upsert(ts, sign, arrays)
        self.history.append(change)
        return change

    def _upsert(
        self, ts: I64, sign: I64, arrays: dict[str, pa.Array]
    ) -> tuple[I64, I64, dict[str, pa.Array]]:
        """Turn rows by key into deletions of what was there and insertions."""
        times: list[int] = []
        signs: list[int] = []
        rows: list[dict[str, object]] = []
        given = pa.table(arrays).to_pylist()
        for t, s, row in zip(ts.tolist(), sign.tolist(), given, strict=True):
            key = tuple(row[name] for name in self.relation.key)
            old = self.current.pop(key, None)
            if old is not None:
                times.append(t)
                signs.append(-1)
                rows.append(old)
            if s > 0:
                self.current[key] = row
                times.append(t)
                signs.append(1)
                rows.append(row)
        table = pa.Table.from_pylist(rows, schema=self.relation.schema.arrow())
        columns = {n: table[n].combine_chunks() for n in table.schema.names}
        return np.array(times, np.int64), np.array(signs, np.int64), columns


def _given(batch: Batch, name: str, default: int) -> I64:
    """Return an optional column of whole numbers, with a default for what is missing."""
    array = batch.arrays.get(name)
    if array is None:
        return np.full(batch.rows, default, np.int64)
    values: I64 = array.fill_null(default).to_numpy(zero_copy_only=False)
    return values
