"""Exact codes for rows of words: the index behind joins, groups, distinct and bags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from windrow.core.schema import Field
from windrow.kernels.hashing import (
    BLOCK,
    ENTRIES,
    FREE,
    encode_rows,
    find_rows,
    rebuild_slots,
    release_codes,
)
from windrow.operators.state.aligned import aligned, larger
from windrow.operators.state.fields import ArrayField, NestedField, ScratchField, State, StateLayout
from windrow.operators.vector import I64, is_interned

U64 = npt.NDArray[np.uint64]

SMALLEST = 64


def grown(array: npt.NDArray[np.generic], size: int, fill: int = 0) -> npt.NDArray[np.generic]:
    """Return the array with room for at least `size` rows: itself, or a copy with more."""
    if size <= len(array):
        return array
    bigger = aligned((larger(len(array), size), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    if fill:
        bigger[len(array) :] = fill
    return bigger


@dataclass(slots=True)
class KeyTable(State):
    """Rows of `width` words, each with a dense code that stays until it is released.

    Invariants, asserted by `check`:
      1. every live entry is found by its words, under its own code;
      2. slots are at most half full, so that a probe ends soon;
      3. live entries and free entries are all entries ever used.
    """

    stored_as = StateLayout("key-table")
    state_fields = (
        ArrayField("words", length="entries"),
        ArrayField("hashes", length="entries", room="capacity"),
        ArrayField("free", length="freed", room="capacity"),
        ArrayField("meta"),
        ScratchField("slots"),
        ScratchField("tags"),
    )

    width: int
    slots: I64 = field(default_factory=lambda: np.zeros(2 * SMALLEST, np.int64))
    words: I64 = field(init=False)
    hashes: U64 = field(default_factory=lambda: np.zeros(SMALLEST, np.uint64))
    free: I64 = field(default_factory=lambda: np.zeros(SMALLEST, np.int64))
    meta: I64 = field(default_factory=lambda: np.zeros(2, np.int64))
    tags: I64 = field(default_factory=lambda: np.empty(BLOCK, np.int64))
    """Work space of a lookup, a table's own: tables of several threads look up at once."""

    def __post_init__(self) -> None:
        self.words = np.zeros((SMALLEST, self.width), np.int64)

    def __len__(self) -> int:
        return int(self.meta[ENTRIES] - self.meta[FREE])

    @property
    def capacity(self) -> int:
        """How many codes there may be: arrays indexed by code must be at least this long."""
        return len(self.words)

    def used(self, by_code: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Return a copy of what an array indexed by code holds: what was ever a code's."""
        return by_code[: self.meta[ENTRIES]].copy()

    def encode(self, rows: I64) -> I64:
        """Return the code of each row, adding the new ones. O(rows), amortised."""
        self._reserve(len(rows))
        codes = np.empty(len(rows), np.int64)
        encode_rows(
            rows, self.slots, self.words, self.hashes, self.free, self.meta, self.tags, codes
        )
        return codes

    def find(self, rows: I64) -> I64:
        """Return the code of each row, -1 where there is none."""
        codes = np.empty(len(rows), np.int64)
        find_rows(rows, self.slots, self.words, self.tags, codes)
        return codes

    def release(self, codes: I64) -> None:
        """Forget entries. Each code is live and occurs once."""
        if len(codes):
            release_codes(codes, self.slots, self.hashes, self.free, self.meta)

    def live(self) -> I64:
        """Return all live codes, ascending."""
        # Free codes are listed, live ones are not.
        used = np.ones(int(self.meta[ENTRIES]), np.bool_)
        used[self.free[: self.meta[FREE]]] = False
        return np.flatnonzero(used)

    def _reserve(self, more: int) -> None:
        entries = int(self.meta[ENTRIES]) + more
        if entries > len(self.words):
            self.words = grown(self.words, entries)  # type: ignore[assignment]
            self.hashes = grown(self.hashes, entries)  # type: ignore[assignment]
            self.free = grown(self.free, entries)  # type: ignore[assignment]
        # Half full at most, if all rows are new, so that probes end soon.
        if 2 * (len(self) + more) > len(self.slots):
            size = len(self.slots)
            while size < 2 * (len(self) + more):
                size *= 2
            self.slots = np.zeros(size, np.int64)
            rebuild_slots(self.slots, self.hashes, self.live())

    def invariants(self) -> None:
        """Assert the invariants."""
        live = self.live()
        assert np.array_equal(self.find(self.words[live]), live), "invariant 1: an entry is lost"
        assert 2 * len(self) <= len(self.slots), "invariant 2: slots are too full"
        assert np.count_nonzero(self.slots) == len(live), "invariant 3: slots and entries differ"

    @property
    def entries(self) -> int:
        """How many codes were ever used."""
        return int(self.meta[ENTRIES])

    @property
    def freed(self) -> int:
        """How many of them are free."""
        return int(self.meta[FREE])

    def rebuild(self) -> None:
        """Find slots for the entries. Free entries may hold words of live ones."""
        size = 2 * SMALLEST
        while size < 2 * len(self):
            size *= 2
        self.slots = np.zeros(size, np.int64)
        rebuild_slots(self.slots, self.hashes, self.live())


@dataclass(frozen=True)
class TableField(NestedField):
    """A `KeyTable`; `fields` names the attribute with the `Field`s of its words from `first` on.

    Of a list of tables, that attribute has the fields of each.
    """

    fields: str = ""
    first: int = 0

    def codes(self, owner: State) -> list[I64]:
        """Return the words of interned columns of all live entries."""
        tables, fields = getattr(owner, self.name), attrgetter(self.fields)(owner)
        if isinstance(tables, KeyTable):
            return interned_words(fields, tables, self.first)
        each = zip(fields, tables, strict=True)
        return [codes for own, table in each for codes in interned_words(own, table, self.first)]


def interned_words(fields: Iterable[Field], table: KeyTable, first: int = 0) -> list[I64]:
    """Return the words of interned columns of all live entries; the columns begin at `first`."""
    places = [first + i for i, f in enumerate(fields) if is_interned(f.type)]
    if not places:
        return []
    live = table.live()
    return [np.ascontiguousarray(table.words[live, i]) for i in places]
