"""The state of one side of a join of Z-sets: distinct rows with counts, chained by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.chains import Links
from windrow.kernels.records import gather_word
from windrow.kernels.zset_joins import BAG_WORDS, COUNT, EXTRA, TOUCHED, sweep
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.match import Side, times_of
from windrow.operators.join.rows import NONE, arrays
from windrow.operators.state.fields import ArrayField, State, StateField, StateLayout
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector

Changes = tuple[I64, I64, I64, I64, I64]
"""What loops read of changes: ts, weights, slots, key codes, band times."""


@dataclass(slots=True)
class DistinctRows(State):
    """Distinct rows of an input, by code. Only the columns that the join reads are kept."""

    stored_as = StateLayout("distinct-rows")
    state_fields: ClassVar[tuple[StateField, ...]] = (TableField("table", fields="fields"),)

    fields: tuple[Field, ...]
    codec: RowCodec = field(init=False)
    places: dict[str, int] = field(init=False)
    table: KeyTable = field(init=False)

    def __post_init__(self) -> None:
        self.codec = RowCodec(self.fields)
        self.places = {f.name: i for i, f in enumerate(self.fields)}
        self.table = KeyTable(self.codec.width)

    def __len__(self) -> int:
        return len(self.table)

    def encode(self, delta: Delta) -> I64:
        """Return the slots of changed rows."""
        words = self.codec.words([delta.columns[n] for n in self.places], len(delta))
        return self.table.encode(words)

    def columns(self, slots: I64, names: tuple[str, ...]) -> dict[str, Vector]:
        """Return columns of the rows in `slots`."""
        words = self.table.words
        taken = {n: self.codec.column_at(words, slots, self.places[n]) for n in names}
        if self.codec.nullable and names:
            nulls = np.empty(len(slots), np.int64)
            gather_word(words, self.codec.width - 1, slots, nulls)
            if nulls.any():
                for name in names:
                    valid = (nulls >> self.places[name]) & 1 == 0
                    taken[name].valid = None if valid.all() else valid
        return taken


@dataclass(slots=True)
class BagRows(DistinctRows):
    """The distinct rows of a side, with counts. A row's slot is its code in `table`.

    Rows equal in the columns that the join reads count as one.
    Invariants, asserted by `check`:
      1. a row is in the chain of its key iff its count is not 0;
      2. rows without use are released: count and `extra` are 0 in no live entry.
    """

    stored_as = StateLayout("bag-rows")
    state_fields = (
        *DistinctRows.state_fields,
        ArrayField("rows", length="table.entries", room="table.capacity"),
    )

    bands: int = 0
    rows: I64 = field(init=False)
    links: Links = field(init=False)

    def __post_init__(self) -> None:
        super(BagRows, self).__post_init__()
        self.rows = np.zeros((0, BAG_WORDS), np.int64)
        self.links = self._lines(0)
        self._reserve()

    def _lines(self, capacity: int) -> Links:
        codes = np.full(capacity, -1, np.int32)
        older, newer = np.zeros((2, capacity), np.int32)
        return Links(NONE, NONE, codes, older, newer, np.zeros((capacity, self.bands), np.int64))

    def _reserve(self) -> None:
        """Make room for all codes of the table."""
        if self.table.capacity > len(self.rows):
            self.rows = grown(self.rows, self.table.capacity)  # type: ignore[assignment]
            before, self.links = self.links, self._lines(len(self.rows))
            for new, old in zip(arrays(self.links)[2:], arrays(before)[2:], strict=True):
                new[: len(old)] = old

    def encode(self, delta: Delta) -> I64:
        """Return the slots of changed rows, with room for their counts and links."""
        slots = super(BagRows, self).encode(delta)
        self._reserve()
        return slots

    def held(self, bands: list[str], clock: int) -> Delta:
        """Return the rows with their copies; see `JoinRows.held`."""
        live = self.table.live()
        live = live[self.rows[live, COUNT] > 0]
        columns = self.columns(live, tuple(self.places))
        ts = times_of(columns, bands, len(live), clock)
        return Delta(ts, columns, None, self.rows[live, COUNT].copy())

    def sweep(self, slots: I64) -> None:
        """Release those of the slots that are of no use any more."""
        dead = np.empty(len(slots), np.int64)
        count = sweep(slots, self.rows, TOUCHED, COUNT, EXTRA, dead)
        self.table.release(dead[:count])

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return super(BagRows, self).nbytes + sum(line.nbytes for line in arrays(self.links))

    def content(self, rows: int) -> Saved:
        """Return the rows and their links."""
        links = [self.table.used(line) for line in arrays(self.links)[2:]]
        return {**super(BagRows, self).content(rows), "links": links}

    def take_over(self, saved: Saved) -> None:
        """Take over saved rows, in their slots."""
        super(BagRows, self).take_over(saved)
        self.links = self._lines(len(self.rows))
        for line, part in zip(
            arrays(self.links)[2:], cast("list[I64]", saved["links"]), strict=True
        ):
            line[: len(part)] = part

    def codes(self) -> I64:
        """Return the codes of the keys of the rows with copies."""
        codes: I64 = self.links.codes[self.table.live()].astype(np.int64)
        return codes[codes >= 0]

    def invariants(self) -> None:
        """Assert the invariants."""
        live = self.rows[self.table.live()]
        chained = self.links.codes[self.table.live()] >= 0
        assert (chained == (live[:, COUNT] != 0)).all(), "invariant 1: chain and count"
        assert ((live[:, COUNT] != 0) | (live[:, EXTRA] != 0)).all(), "invariant 2: a useless row"


def stored_fields(side: Side, times: list[str]) -> tuple[Field, ...]:
    """Return the fields that a join must keep of a side, in the schema's order."""
    needed = {*side.keys, *side.kept, *times}
    return tuple(f for f in side.schema if f.name in needed)
