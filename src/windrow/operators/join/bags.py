"""The state of one side of a join of Z-sets: distinct rows with counts, chained by key."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.chains import ALIVE, CODE, HEAD_WORDS, SEEN
from windrow.kernels.zset_joins import BANDS, COUNT, EXTRA, TOUCHED, sweep
from windrow.operators.codec import RowCodec, column_of
from windrow.operators.delta import Delta
from windrow.operators.join.match import Side, times_of
from windrow.operators.state.key_table import KeyTable, grown, interned_words, with_room
from windrow.operators.vector import I64, Vector

Changes = tuple[I64, I64, I64, I64, I64]
"""What loops read of changes: ts, weights, slots, key codes, band times."""


@dataclass(slots=True)
class BagRows:
    """The distinct rows of a side. A row's slot is its code in `table`.

    Only the columns that the join reads are kept: rows equal in these count as one.
    Invariants, asserted by `check`:
      1. a row is in the chain of its key iff its count is not 0;
      2. rows without use are released: count and `extra` are 0 in no live entry.
    """

    side: Side
    bands: int
    fields: tuple[Field, ...]
    codec: RowCodec = field(init=False)
    places: dict[str, int] = field(init=False)
    table: KeyTable = field(init=False)
    rows: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.codec = RowCodec(self.fields)
        self.places = {f.name: i for i, f in enumerate(self.fields)}
        self.table = KeyTable(self.codec.width)
        self.rows = np.zeros((self.table.capacity, BANDS + self.bands), np.int64)

    def __len__(self) -> int:
        return len(self.table)

    def encode(self, delta: Delta) -> I64:
        """Return the slots of changed rows."""
        words = self.codec.words([delta.columns[n] for n in self.places], len(delta))
        slots = self.table.encode(words)
        self.rows = grown(self.rows, self.table.capacity)  # type: ignore[assignment]
        return slots

    def columns(self, slots: I64, names: tuple[str, ...]) -> dict[str, Vector]:
        """Return columns of the rows in `slots`."""
        words = self.table.words.take(slots, axis=0)
        taken = {n: column_of(words[:, self.places[n]], self.side.schema[n].type) for n in names}
        if self.codec.nullable:
            nulls = words[:, -1]
            if nulls.any():
                for name in names:
                    valid = (nulls >> self.places[name]) & 1 == 0
                    taken[name].valid = None if valid.all() else valid
        return taken

    def held(self, bands: list[str], clock: int) -> Delta:
        """Return the rows with their copies; see `rows.held_rows`."""
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
        return self.table.nbytes + self.rows.nbytes

    def save(self) -> dict[str, object]:
        """Return all that `load` needs."""
        return {"table": self.table.save(), "rows": self.rows.copy()}

    def load(self, saved: object) -> None:
        """Take over saved rows, in their slots."""
        assert isinstance(saved, dict)
        self.table = KeyTable.loaded(saved["table"])
        self.rows = grown(saved["rows"].copy(), self.table.capacity)  # type: ignore[assignment]

    def live_codes(self) -> list[I64]:
        """Return the interned codes that live rows refer to."""
        return interned_words(self.fields, self.table)

    def check(self) -> None:
        """Assert the invariants."""
        self.table.check()
        live = self.rows[self.table.live()]
        assert ((live[:, CODE] > 0) == (live[:, COUNT] != 0)).all(), "invariant 1: chain and count"
        assert ((live[:, COUNT] != 0) | (live[:, EXTRA] != 0)).all(), "invariant 2: a useless row"


def stored_fields(side: Side, times: list[str]) -> tuple[Field, ...]:
    """Return the fields that a join must keep of a side, in the schema's order."""
    needed = {*side.keys, *side.kept, *times}
    return tuple(f for f in side.schema if f.name in needed)


@dataclass(slots=True)
class Keys:
    """Key codes and the heads of their chains. Invariant: a live code has a row, or is pinned."""

    table: KeyTable
    heads: I64 = field(init=False)
    pinned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.heads = np.zeros((self.table.capacity, HEAD_WORDS), np.int64)

    def encode(self, words: I64) -> I64:
        """Return the codes of keys, new ones added."""
        codes = self.table.encode(words)
        self.heads = grown(self.heads, self.table.capacity)  # type: ignore[assignment]
        return codes

    def sweep(self, codes: I64) -> None:
        """Release those of the codes that no row is left of."""
        dead = np.empty(len(codes), np.int64)
        count = sweep(codes, self.heads, SEEN, ALIVE, ALIVE, dead)
        self.table.release(dead[:count])

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.table.nbytes + self.heads.nbytes

    def save(self) -> dict[str, object]:
        """Return all that `load` needs."""
        return {"table": self.table.save(), "heads": self.table.used(self.heads)}

    def load(self, saved: object) -> None:
        """Take over saved keys."""
        assert isinstance(saved, dict)
        self.table = KeyTable.loaded(saved["table"])
        self.heads = with_room(saved["heads"], self.table.capacity)  # type: ignore[assignment]

    def live_codes(self, fields: tuple[Field, ...]) -> list[I64]:
        """Return the interned codes that live keys refer to; `fields` are those of the key."""
        return interned_words(fields, self.table)

    def check(self, *sides: BagRows) -> None:
        """Assert the invariant, and that heads count their rows."""
        self.table.check()
        alive = np.zeros(len(self.heads), np.int64)
        for bag in sides:
            codes = bag.rows[bag.table.live(), CODE] - 1
            np.add.at(alive, codes[codes >= 0], 1)
        assert np.array_equal(alive, self.heads[:, ALIVE]), "a key's rows are miscounted"
        live = set(self.table.live().tolist()) - set(self.pinned)
        assert live == set(np.flatnonzero(alive).tolist()) - set(self.pinned), "a useless key"
