"""The state of one side of a ring join: rows by number, linked to the older ones of their key."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.join.match import Side, times_of
from windrow.operators.state.key_table import KeyTable
from windrow.operators.state.row_columns import load_columns, save_columns
from windrow.operators.state.row_records import Moves, RowRecords
from windrow.operators.vector import I64, Vector

I32 = npt.NDArray[np.int32]

SMALLEST = 64

Links = tuple[I64, I64, I32, I32]
"""What the loops read of a ring: keep, exp, code, back."""


@dataclass(slots=True)
class LinkedRing:
    """Rows that expire in order of arrival, by absolute number.

        │ gone │        alive        │  room  │       slot = number & (capacity - 1)
        0     tail                 head

    `keep` says until when a row is of use, `exp` until when it is there: the same array unless
    there are bands, empty if rows are `endless`. 16 to 24 bytes a row and its columns.
    `payload` has the columns of results, `aside` the times that bands read, if not among these:
    they have become `keep`, and are there for who takes the rows over.
    Invariants, asserted by `check`:
      1. at most `capacity` rows, a power of two;
      2. `keep` never decreases from tail to head.
    """

    side: Side
    endless: bool
    bands: list[str]
    keep: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    exp: I64 = field(init=False)
    codes: I32 = field(default_factory=lambda: np.empty(SMALLEST, np.int32))
    back: I32 = field(default_factory=lambda: np.empty(SMALLEST, np.int32))
    payload: RowRecords = field(init=False)
    aside: RowRecords = field(init=False)
    tail: int = 0
    head: int = 0

    def __post_init__(self) -> None:
        self.exp = self._ends(SMALLEST)
        schema, kept = self.side.schema, self.side.kept
        rest = [name for name in dict.fromkeys(self.bands) if name not in kept]
        self.payload = RowRecords(tuple(schema[name] for name in kept), SMALLEST)
        self.aside = RowRecords(tuple(schema[name] for name in rest), SMALLEST)

    def _ends(self, capacity: int) -> I64:
        if self.endless:
            return np.empty(0, np.int64)
        return np.empty(capacity, np.int64) if self.bands else self.keep

    def __len__(self) -> int:
        return self.head - self.tail

    @property
    def links(self) -> Links:
        """What the loops read and write."""
        return self.keep, self.exp, self.codes, self.back

    def admit(self, columns: dict[str, Vector]) -> None:
        """Make room for the NULLs of columns that are to be added."""
        self.payload.admit(columns)
        self.aside.admit(columns)

    def add(self, columns: dict[str, Vector], count: int) -> None:
        """Store admitted columns of new rows; the loop that enters them writes the rest."""
        if len(self) + count > len(self.keep):
            self._grow(len(self) + count)
        done = 0
        for where in self._places(self.head, self.head + count):
            stop = done + where.stop - where.start
            self.payload.write(where, columns, slice(done, stop))
            self.aside.write(where, columns, slice(done, stop))
            done = stop
        self.head += count

    def live(self) -> I64:
        """Return the slots in use, oldest first."""
        return np.arange(self.tail, self.head) & (len(self.keep) - 1)

    def _places(self, first: int, stop: int) -> list[slice]:
        """Return the slots of rows [first, stop) as one slice, or two if they wrap."""
        capacity = len(self.keep)
        low = first & (capacity - 1)
        end = low + stop - first
        if end <= capacity:
            return [slice(low, end)]
        return [slice(low, capacity), slice(0, end - capacity)]

    def _grow(self, count: int) -> None:
        capacity = len(self.keep)
        while capacity < count:
            capacity *= 2
        assert capacity < 2**31, "a row's distance to an older one fits 31 bits"
        pieces: Moves = []
        number = self.tail
        for source in self._places(self.tail, self.head):
            size = source.stop - source.start
            start = number & (capacity - 1)
            pieces.append((source, slice(start, start + size)))
            number += size
        self._move(capacity, pieces)
        self.payload.move(capacity, pieces)
        self.aside.move(capacity, pieces)

    def _move(self, capacity: int, pieces: Moves) -> None:
        keep, exp, codes, back = self.links
        self.keep = np.empty(capacity, np.int64)
        self.exp = self._ends(capacity)
        self.codes, self.back = np.empty((2, capacity), np.int32)
        for source, target in pieces:
            self.keep[target] = keep[source]
            self.codes[target] = codes[source]
            self.back[target] = back[source]
            if len(self.exp):
                self.exp[target] = exp[source]

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        own = self.keep.nbytes + self.codes.nbytes + self.back.nbytes
        stored = self.payload.nbytes + self.aside.nbytes
        return own + stored + (self.exp.nbytes if self.bands else 0)

    def held(self, keys: KeyTable, clock: int) -> Delta:
        """Return the rows with all columns that the join reads, and their ends: see `held_rows`."""
        slots = self.live()
        words = self.side.key_codec.columns(keys.words[self.codes[slots]])
        columns = dict(zip(self.side.keys, words, strict=True)) | self._stored(slots)
        exp = np.full(len(slots), FOREVER) if self.endless else self.exp[slots]
        return Delta(times_of(columns, self.bands, len(slots), clock), columns, exp)

    def _stored(self, slots: I64) -> dict[str, Vector]:
        return self.payload.take(slots) | self.aside.take(slots)

    def save(self) -> dict[str, object]:
        """Return all that `load` needs."""
        slots = self.live()
        return {
            "tail": self.tail,
            "keep": self.keep[slots],
            "exp": None if self.endless else self.exp[slots],
            "codes": self.codes[slots],
            "back": self.back[slots],
            "payload": save_columns(self._stored(slots)),
        }

    def load(self, saved: dict[str, object]) -> None:
        """Take over saved rows, under their numbers."""
        tail, keep, payload = saved["tail"], saved["keep"], saved["payload"]
        codes, back, exp = saved["codes"], saved["back"], saved["exp"]
        assert isinstance(tail, int)
        assert isinstance(keep, np.ndarray)
        assert isinstance(codes, np.ndarray)
        assert isinstance(back, np.ndarray)
        assert isinstance(payload, dict)
        self.tail = self.head = tail
        columns = load_columns(self.payload.fields + self.aside.fields, payload)
        self.admit(columns)
        self.add(columns, len(keep))
        done = 0
        for slots in self._places(self.tail, self.head):
            part = slice(done, done + slots.stop - slots.start)
            self.keep[slots], self.codes[slots], self.back[slots] = (
                keep[part],
                codes[part],
                back[part],
            )
            if isinstance(exp, np.ndarray):
                self.exp[slots] = exp[part]
            done = part.stop

    def check(self) -> None:
        """Assert the invariants."""
        self.payload.check()
        self.aside.check()
        capacity = len(self.keep)
        assert len(self) <= capacity, "invariant 1: more rows than room"
        assert capacity & (capacity - 1) == 0, "invariant 1: not a power of two"
        assert (np.diff(self.keep[self.live()]) >= 0).all(), "invariant 2: out of order"
