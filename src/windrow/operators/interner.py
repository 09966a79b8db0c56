"""Exact codes for text and other wide values: equal codes, equal values."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import lib

from windrow.kernels.hashing import ENTRIES, FREE
from windrow.kernels.text import (
    AHEAD,
    SPARE,
    USED,
    StringTable,
    copy_codes,
    encode_bytes,
    fill_slots,
    measure_codes,
    move_slots,
)
from windrow.operators import nested
from windrow.operators.buffers import bitmap_of, valid_of, values_of
from windrow.operators.state.fields import (
    ArrayField,
    ScalarField,
    ScratchField,
    State,
    StateLayout,
)
from windrow.operators.state.key_table import U64, grown
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Bools

U8 = npt.NDArray[np.uint8]

SMALLEST = 64

STRINGS = (lib.Type_STRING, lib.Type_BINARY, lib.Type_LARGE_STRING, lib.Type_LARGE_BINARY)

NARROW = (lib.Type_STRING, lib.Type_BINARY)

ENTRY_BYTES = 40
"""What an entry takes beside its bytes: start, length, free place, two slots."""

SWEEP_FROM = 1 << 20
"""Bytes below which nobody need sweep."""


@dataclass(slots=True)
class Interner(State):
    """Byte strings, each with a code that stays until a sweep finds it unused.

    What a value's bytes are follows from its type: text and binary are themselves, decimals of
    more than 18 digits are 16 bytes whose order is that of the values, arrays and structs are
    the canonical bytes of `operators/nested.py`. Code 0 is always the empty string; NULLs have it
    too. Kernels that need order compare bytes through `arena`, `starts` and `lengths`
    (`kernels/text.py`: `compare_codes`); these are renewed when the interner grows.

    Invariants, asserted by `check`:
      1. every live entry is found by its bytes, under its own code;
      2. slots are at most half full, so that a probe ends soon;
      3. code 0 is the empty string;
      4. live entries lie inside the used part of the arena, and `SPARE` bytes are left.
    """

    stored_as = StateLayout("interner")
    state_fields = (
        ArrayField("meta"),
        ArrayField("arena", length="used", room="least_room"),
        ArrayField("starts", length="entries"),
        ArrayField("lengths", length="entries"),
        ArrayField("free", length="freed", room="capacity"),
        ScalarField("swept"),
        ScratchField("slots"),
        ScratchField("ahead"),
    )

    arena: U8 = field(default_factory=lambda: np.zeros(1024, np.uint8))
    starts: I64 = field(default_factory=lambda: np.zeros(SMALLEST, np.int64))
    lengths: I64 = field(default_factory=lambda: np.zeros(SMALLEST, np.int64))
    slots: I64 = field(default_factory=lambda: np.zeros(2 * SMALLEST, np.int64))
    free: I64 = field(default_factory=lambda: np.zeros(SMALLEST, np.int64))
    meta: I64 = field(default_factory=lambda: np.zeros(3, np.int64))
    ahead: U64 = field(default_factory=lambda: np.zeros((2, AHEAD), np.uint64))
    swept: int = 0  # weight after the last sweep

    def __post_init__(self) -> None:
        self.encode_strings(np.empty(0, np.uint8), np.zeros(2, np.int64))

    def __len__(self) -> int:
        return int(self.meta[ENTRIES] - self.meta[FREE])

    def encode(self, array: pa.Array) -> I64:
        """Return the code of each row of an array of an interned type; 0 for NULL."""
        kind = array.type.id
        if not len(array):
            return np.empty(0, np.int64)
        if kind == lib.Type_DICTIONARY:
            return self._encode_dictionary(array)
        if kind in STRINGS:
            data, offsets = nested.string_bytes(array)
        elif kind == lib.Type_DECIMAL128:
            data = nested.ordered_decimals(array)
            offsets = np.arange(0, len(data) + 1, nested.DECIMAL_BYTES)
        else:
            data, offsets = nested.canonical_bytes(array)
        codes = self.encode_strings(data, offsets)
        valid = valid_of(array)
        if valid is not None:
            codes[~valid] = 0
        return codes

    def _encode_dictionary(self, array: pa.DictionaryArray) -> I64:
        # Each text of the dictionary once; the place behind the last is for NULL.
        codes = np.zeros(len(array.dictionary) + 1, np.int64)
        codes[:-1] = self.encode(array.dictionary)
        places = array.indices.cast(pa.int64()).fill_null(len(codes) - 1)
        at: I64 = values_of(places.buffers()[1], np.int64, places.offset, len(places))
        return codes[at]

    def encode_list(self, texts: list[bytes]) -> I64:
        """Return the code of each of a few texts."""
        data = np.frombuffer(bytearray(b"".join(texts)), np.uint8)
        return self.encode_strings(data, np.array([0, *accumulate(map(len, texts))], np.int64))

    def encode_strings(self, data: U8, offsets: I64) -> I64:
        """Return the code of each string data[offsets[i] : offsets[i + 1]]. O(bytes)."""
        codes = np.empty(len(offsets) - 1, np.int64)
        # The kernel stops at the first string that has no room, and goes on behind it.
        done = 0
        while True:
            table = StringTable(
                self.arena, self.starts, self.lengths, self.slots, self.free, self.meta
            )
            done = encode_bytes(data, offsets, done, table, self.ahead, codes)
            if done == len(codes):
                return codes
            self._reserve(int(offsets[done + 1] - offsets[done]))

    def _reserve(self, length: int) -> None:
        """Make room for one more string, of the length."""
        used = int(self.meta[USED])
        self.arena = grown(self.arena, used + length + SPARE)  # type: ignore[assignment]
        if not self.meta[FREE] and self.meta[ENTRIES] == len(self.starts):
            more = len(self.starts) + 1
            self.starts = grown(self.starts, more)  # type: ignore[assignment]
            self.lengths = grown(self.lengths, more)  # type: ignore[assignment]
            self.free = grown(self.free, more)  # type: ignore[assignment]
        if 2 * (len(self) + 1) > len(self.slots):
            slots = np.zeros(2 * len(self.slots), np.int64)
            move_slots(self.slots, slots, np.ones(len(self.starts), np.bool_))
            self.slots = slots

    def decode(self, codes: I64, type_: pa.DataType, valid: Bools | None = None) -> pa.Array:
        """Return the values of codes. O(output)."""
        narrow = type_.id in NARROW
        data, offsets = self.decode_strings(codes, np.int32 if narrow else np.int64)
        if type_.id == lib.Type_DECIMAL128:
            return nested.decimals_of(data, type_, valid)
        if type_.id not in STRINGS:
            return nested.values_of_bytes(data, offsets, type_, valid)
        bitmap = None if valid is None else bitmap_of(valid)
        buffers = [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(type_, len(codes), buffers)

    def decode_strings(self, codes: I64, kind: type[np.integer] = np.int64) -> tuple[U8, I64]:
        """Return the bytes of codes one after the other, and where each begins and ends.

        2.4 ns a short string; Arrow takes one out of an array of all strings in 6.
        """
        size = measure_codes(codes, self.lengths)
        assert kind is np.int64 or size < 2**31, "the text of a batch fits an Arrow array"
        data, offsets = np.empty(size + SPARE, np.uint8), np.empty(len(codes) + 1, kind)
        copy_codes(codes, self.arena, self.starts, self.lengths, data, offsets)
        return data[:size], offsets

    def live(self) -> I64:
        """Return all live codes, ascending."""
        used = np.ones(int(self.meta[ENTRIES]), np.bool_)
        used[self.free[: self.meta[FREE]]] = False
        return np.flatnonzero(used)

    @property
    def weight(self) -> int:
        """About how many bytes all strings, also those no longer used, hold."""
        return int(self.meta[USED]) + ENTRY_BYTES * len(self)

    @property
    def wants_sweep(self) -> bool:
        """Return whether twice as much is held as after the last sweep."""
        return self.weight > max(SWEEP_FROM, 2 * self.swept)

    def sweep(self, live: list[I64]) -> None:
        """Forget every string whose code is not in `live`. O(entries + bytes kept + live)."""
        keep = np.zeros(int(self.meta[ENTRIES]), np.bool_)
        # NULLs refer to the empty string without being listed anywhere.
        keep[0] = True
        for codes in live:
            keep[codes] = True
        gone = self.live()
        # Free codes stay free: only live ones can go.
        gone = gone[~keep[gone]]
        freed = int(self.meta[FREE])
        self.free[freed : freed + len(gone)] = gone
        self.meta[FREE] += len(gone)
        self.lengths[gone] = 0
        slots = np.zeros(slots_for(len(self)), np.int64)
        move_slots(self.slots, slots, keep)
        self.slots = slots
        self._compact()
        self.swept = self.weight

    def _compact(self) -> None:
        """Close the gaps of the arena."""
        live = self.live()
        data, offsets = self.decode_strings(live)
        # With half as much again, so that the next texts do not copy all of it at once.
        self.arena = np.zeros(max(1024, len(data) + len(data) // 2), np.uint8)
        self.arena[: len(data)] = data
        self.starts[:] = 0
        self.starts[live] = offsets[:-1]
        # Free codes have no text any more.
        dead = np.ones(len(self.lengths), np.bool_)
        dead[live] = False
        self.lengths[dead] = 0
        self.meta[USED] = len(data)

    @property
    def used(self) -> int:
        """How many bytes of the arena were ever used."""
        return int(self.meta[USED])

    @property
    def least_room(self) -> int:
        """How many bytes the arena has at least."""
        return max(1024, self.used + SPARE)

    @property
    def entries(self) -> int:
        """How many codes were ever used."""
        return int(self.meta[ENTRIES])

    @property
    def freed(self) -> int:
        """How many of them are free."""
        return int(self.meta[FREE])

    @property
    def capacity(self) -> int:
        """How many codes there may be."""
        return len(self.starts)

    @classmethod
    def loaded(cls, saved: Saved) -> Interner:
        """Return an interner with the same codes."""
        made = cls()
        made.load(saved)
        return made

    def rebuild(self) -> None:
        """Find slots for the entries."""
        live = self.live()
        self.slots = np.zeros(slots_for(len(live)), np.int64)
        fill_slots(self.arena, self.starts, self.lengths, live, self.slots)

    def invariants(self) -> None:
        """Assert the invariants."""
        live = self.live()
        entries = int(self.meta[ENTRIES])
        codes = self.encode_strings(*self.decode_strings(live))
        assert np.array_equal(codes, live), "invariant 1: a string is lost"
        assert int(self.meta[ENTRIES]) == entries, "invariant 1: a string is there twice"
        assert 2 * len(self) <= len(self.slots), "invariant 2: slots are too full"
        assert np.count_nonzero(self.slots) == len(live), "invariant 2: slots and entries differ"
        assert live[0] == 0, "invariant 3: code 0 is free"
        assert self.lengths[0] == 0, "invariant 3: code 0 is not empty"
        ends = self.starts[live] + self.lengths[live]
        assert ends.max() <= self.meta[USED], "invariant 4: a string is out of the arena"
        assert self.meta[USED] + SPARE <= len(self.arena), "invariant 4: no bytes are left"


def slots_for(codes: int) -> int:
    """Return how many slots are at most half full with one code more."""
    size = 2 * SMALLEST
    while size < 2 * codes + 2:
        size *= 2
    return size
