"""Rows that replace the one of their key: what a keyed relation's stream of rows means.

    at   row        weight        changes
     1   (7, ada)      +           + (7, ada)
     4   (7, eve)      +           - (7, ada)   + (7, eve)
     9   (7, -)        -           - (7, eve)

All rows of a key arrive at the same shards. A row of an earlier time than its key's last change is
set aside; one without a time takes effect at that last change.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.operators.task import Saved
from windrow.operators.vector import I64
from windrow.plan.catalog import Relation
from windrow.runtime.keyed import KeyedRows
from windrow.runtime.shards.ports import TIME, WEIGHT, Port


@dataclass(slots=True)
class Upserts:
    """The rows of a keyed relation in one shard: a batch of rows in, a batch of changes out."""

    port: Port
    keyed: KeyedRows = field(init=False)

    def __post_init__(self) -> None:
        relation, schema = self.port.entry, self.port.schema
        assert isinstance(relation, Relation), "only rows of relations replace others"
        self.keyed = KeyedRows(tuple(schema[name] for name in relation.key), schema.arrow())

    def changes(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the changes that rows make, in the order of time, and the rows that are too late.

        Both with `_ts`, `_weight` and the port's columns. O(rows · log rows).
        """
        table = table.take(pa.array(np.argsort(table[TIME].to_numpy(), kind="stable")))
        made = self.keyed.replace(
            _one_batch(table.select(self.port.schema.names).cast(self.port.schema.arrow())),
            table[TIME].to_numpy(),
            table[WEIGHT].to_numpy(),
        )
        # A row without a time takes effect at its key's last change, behind rows of earlier times.
        order = np.argsort(made.at, kind="stable")
        rows = made.rows.take(pa.array(order))
        heads = {TIME: pa.array(made.at[order]), WEIGHT: pa.array(made.sign[order])}
        changes = pa.table({**heads, **dict(zip(rows.schema.names, rows.columns, strict=True))})
        return changes, table.take(pa.array(made.refused))

    def save(self) -> Saved:
        """Return the rows and since when, and the keys whose row was deleted, and when."""
        return {"current": _saved(*self.keyed.current()), "ended": _saved(*self.keyed.ended())}

    def load(self, saved: Saved) -> None:
        """Continue with saved rows."""
        self.keyed.restore(_loaded(saved["current"]), _loaded(saved["ended"]))

    def check(self) -> None:
        """Assert the invariants."""
        self.keyed.check()


def _saved(rows: pa.RecordBatch, since: I64) -> Saved:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return {"rows": sink.getvalue().to_pybytes(), "since": since}


def _loaded(saved: object) -> tuple[pa.RecordBatch, I64]:
    assert isinstance(saved, dict), "rows are saved with their times"
    return _one_batch(pa.ipc.open_stream(saved["rows"]).read_all()), saved["since"]


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
