"""A multiset of rows: each distinct row once, with its number of copies."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.bags import add_copies
from windrow.operators.codec import RowCodec
from windrow.operators.state.fields import ArrayField, State, StateLayout
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.vector import I64, Vector

LEAST = 1024
"""Rows that are given to a table at a time, however small it is."""


class Bag(State):
    """Rows of `schema` and their copies; with `signed`, the difference of two such bags.

    Invariants, asserted by `check`:
      1. the rows of the table are exactly those with copies;
      2. no row has fewer than none, unless the bag is signed.
    """

    stored_as = StateLayout("bag")
    state_fields = (
        TableField("table", fields="schema"),
        ArrayField("counts", length="table.entries", room="table.capacity"),
    )

    def __init__(self, schema: Schema, *, signed: bool = False) -> None:
        self.schema = schema
        self.signed = signed
        self.codec = RowCodec(schema.fields)
        self.table = KeyTable(self.codec.width)
        self.counts: I64 = np.zeros(self.table.capacity, np.int64)

    def __len__(self) -> int:
        """How many distinct rows there are."""
        return len(self.table)

    def add(self, columns: dict[str, Vector], weights: I64) -> None:
        """Add copies of rows, or take them away. O(rows), amortised."""
        if not len(weights):
            return
        given = [columns[name] for name in self.schema.names]
        codes = encode_sparingly(self.table, self.codec.words(given, len(weights)))
        self.counts = grown(self.counts, self.table.capacity)  # type: ignore[assignment]
        idle = np.empty(len(codes), np.int64)
        count = add_copies(codes, weights, self.counts, idle)
        self.table.release(idle[:count])

    def rows(self) -> tuple[dict[str, Vector], I64]:
        """Return the distinct rows and the copies of each. O(rows)."""
        live = self.table.live()
        columns = self.codec.columns_at(self.table.words, live)
        return dict(zip(self.schema.names, columns, strict=True)), self.counts[live]

    def invariants(self) -> None:
        """Assert the invariants."""
        live = self.table.live()
        assert np.count_nonzero(self.counts) == len(live), "invariant 1: a row has no entry"
        positive = self.signed or (self.counts[live] > 0).all()
        assert positive, "invariant 2: a row has fewer than no copies"


def encode_sparingly(table: KeyTable, words: I64) -> I64:
    """Return the code of each row, adding the new ones.

    A table makes room for as many rows as it is given, in case all are new. Where most are
    known, giving it no more at a time than it already holds keeps it small.
    """
    if len(words) <= LEAST:
        return table.encode(words)
    codes = np.empty(len(words), np.int64)
    done = 0
    while done < len(words):
        stop = done + max(LEAST, len(table))
        codes[done:stop] = table.encode(words[done:stop])
        done = stop
    return codes
