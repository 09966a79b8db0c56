"""The row store of one side of a join of unsigned edges: a ring, or a pool if in any order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from windrow.core.time import FOREVER
from windrow.kernels.chains import ALIVE
from windrow.kernels.joins import BANDS, CODE, EXP, KEEP, OLDER, expire_ring, unlink_rows
from windrow.operators.delta import Delta
from windrow.operators.join.match import Side, times_of
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.key_table import KeyTable, grown
from windrow.operators.state.row_columns import RowColumns, load_columns, save_columns
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Form

SMALLEST = 64

Shape = tuple[int, int, int, int]
"""First number and mask of a ring; whether it is one; slots that a scan looks at."""


@dataclass(slots=True)
class RingRows:
    """Rows that expire in order of arrival, by absolute number.

    rows:  │ gone │        alive        │  room  │       slot = number & (capacity - 1)
           0     tail                 head

    Invariants, asserted by `check`:
      1. at most `capacity` rows, a power of two;
      2. `keep` never decreases from tail to head.
    """

    side: Side
    bands: int
    number: int
    walk: I64 = field(default_factory=lambda: np.zeros((SMALLEST, 2), np.int64))
    rows: I64 = field(init=False)
    payload: RowColumns = field(init=False)
    back: npt.NDArray[np.int32] = field(init=False)
    tail: int = 0
    head: int = 0

    def __post_init__(self) -> None:
        self.back = np.zeros(SMALLEST, np.int32)
        self.rows = np.zeros((SMALLEST, BANDS + self.bands), np.int64)
        self.payload = empty_columns(self.side)

    def __len__(self) -> int:
        return self.head - self.tail

    @property
    def shape(self) -> Shape:
        """What the loop must know of the form."""
        return self.tail, len(self.rows) - 1, 1, 0

    def add(self, delta: Delta) -> I64:
        """Store the columns of new rows; return their references."""
        count = len(delta)
        if len(self) + count > len(self.rows):
            self._grow(len(self) + count)
        capacity = len(self.rows)
        start = self.head & (capacity - 1)
        cut = min(count, capacity - start)
        self.payload.write(slice(start, start + cut), delta.columns, slice(0, cut))
        if cut < count:
            self.payload.write(slice(0, count - cut), delta.columns, slice(cut, count))
        self.head += count
        return np.arange(self.head - count, self.head)

    def schedule(self, refs: I64, keep: I64) -> None:
        """Nothing to do: the tail passes rows in their order."""

    def expire(self, clock: int, heads: I64) -> tuple[int, I64]:
        """Let go of rows of no use after `clock`; return how many, and codes without any row."""
        mask = len(self.rows) - 1
        if self.head == self.tail or self.walk[self.tail & mask, KEEP] > clock:
            return 0, NONE
        dead = np.empty(len(self), np.int64)
        old = self.tail
        self.tail, count = expire_ring(
            self.walk, self.rows, self.tail, self.head, mask, clock, heads, dead
        )
        return self.tail - old, dead[:count]

    def live(self) -> I64:
        """Return the slots in use, oldest first."""
        return np.arange(self.tail, self.head) & (len(self.rows) - 1)

    def _grow(self, count: int) -> None:
        capacity = len(self.rows)
        while capacity < count:
            capacity *= 2
        old, new = self.live(), np.arange(self.tail, self.head) & (capacity - 1)
        self.rows = _moved(self.rows, old, new, capacity)
        self.walk = _moved(self.walk, old, new, capacity)
        self.payload.resize(capacity, old, new)
        self._chain()

    def _chain(self) -> None:
        """Fill `back` from the chains in `walk`."""
        assert len(self.rows) < 2**31, "a row's distance to an older one fits 31 bits"
        self.back = np.zeros(len(self.rows), np.int32)
        number = self.tail + 1
        for slots, part in self._places():
            older = self.walk[slots, OLDER]
            distance = np.arange(number + part.start, number + part.stop) - older
            self.back[slots] = np.where(older > self.tail, distance, 0)

    def _places(self) -> list[tuple[slice, slice]]:
        """Return the slots in use, oldest first, as slices, and which rows have each of them."""
        capacity, count = len(self.rows), len(self)
        low = self.tail & (capacity - 1)
        cut = min(count, capacity - low)
        places = [(slice(low, low + cut), slice(0, cut))]
        return places if cut == count else [*places, (slice(0, count - cut), slice(cut, count))]

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.walk.nbytes + self.rows.nbytes + self.payload.nbytes + self.back.nbytes

    def save(self) -> dict[str, object]:
        """Return all that `load` needs."""
        slots = self.live()
        return {
            "tail": self.tail,
            "walk": self.walk[slots],
            "rows": self.rows[slots],
            "payload": save_columns(self.payload.take(slots)),
        }

    def load(self, saved: dict[str, object]) -> None:
        """Take over saved rows, under their numbers."""
        tail, walk, rows, payload = (saved[k] for k in ("tail", "walk", "rows", "payload"))
        assert isinstance(tail, int)
        assert isinstance(walk, np.ndarray)
        assert isinstance(rows, np.ndarray)
        assert isinstance(payload, dict)
        self.tail = self.head = tail
        self._grow(len(rows))
        self.head = tail + len(rows)
        columns = load_columns(self.payload.fields, payload)
        for slots, part in self._places():
            self.rows[slots] = rows[part]
            self.walk[slots] = walk[part]
            self.payload.write(slots, columns, part)
        self._chain()

    def check(self) -> None:
        """Assert the invariants."""
        capacity = len(self.rows)
        assert len(self) <= capacity, "invariant 1: more rows than room"
        assert capacity & (capacity - 1) == 0, "invariant 1: not a power of two"
        assert (np.diff(self.walk[self.live(), KEEP]) >= 0).all(), "invariant 2: out of order"


@dataclass(slots=True)
class PoolRows:
    """Rows that expire in any order, by slot; found by a calendar, or by scanning if `direct`.

    Invariants, asserted by `check`:
      1. each slot below `top` is either free or in the chain of its code;
      2. a free slot is listed once.
    """

    side: Side
    bands: int
    number: int
    direct: bool = False
    walk: I64 = field(default_factory=lambda: np.zeros((SMALLEST, 2), np.int64))
    rows: I64 = field(init=False)
    payload: RowColumns = field(init=False)
    free: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    frees: int = 0
    top: int = 0
    due: CalendarQueue = field(default_factory=CalendarQueue)

    def __post_init__(self) -> None:
        self.rows = np.zeros((SMALLEST, BANDS + self.bands), np.int64)
        self.payload = empty_columns(self.side)

    def __len__(self) -> int:
        return self.top - self.frees

    @property
    def shape(self) -> Shape:
        """What the loop must know of the form."""
        return 0, -1, 0, self.top if self.direct else 0

    def add(self, delta: Delta) -> I64:
        """Store the columns of new rows; return their references."""
        count = len(delta)
        reused = min(count, self.frees)
        fresh = count - reused
        self._reserve(self.top + fresh)
        self.frees -= reused
        slots = np.concatenate(
            [self.free[self.frees : self.frees + reused], np.arange(self.top, self.top + fresh)]
        )
        self.top += fresh
        self.payload.write(slots, delta.columns, slice(0, count))
        return slots

    def schedule(self, refs: I64, keep: I64) -> None:
        """Note when new rows are to leave."""
        if self.direct:
            return
        ends = keep < FOREVER
        if ends.all():
            self.due.push(keep, refs)
        elif ends.any():
            self.due.push(keep[ends], refs[ends])

    def expire(self, clock: int, heads: I64) -> tuple[int, I64]:
        """Let go of rows of no use after `clock`; return how many, and codes without any row."""
        if self.direct or not self.top:
            return 0, NONE
        _, slots = self.due.pop(clock)
        if not len(slots):
            return 0, NONE
        dead = np.empty(len(slots), np.int64)
        count = unlink_rows(slots, self.walk, self.rows, heads, self.number, dead)
        self.release(slots)
        return len(slots), dead[:count]

    def release(self, slots: I64) -> None:
        """Reclaim the slots of rows that were unlinked."""
        self.free[self.frees : self.frees + len(slots)] = slots
        self.frees += len(slots)

    def live(self) -> I64:
        """Return the slots in use, ascending."""
        return np.flatnonzero(self.rows[: self.top, CODE])

    def _reserve(self, top: int) -> None:
        if top > len(self.rows):
            self.rows = grown(self.rows, top)  # type: ignore[assignment]
            self.walk = grown(self.walk, len(self.rows))  # type: ignore[assignment]
            self.free = grown(self.free, len(self.rows))  # type: ignore[assignment]
            self.payload.resize(len(self.rows), slice(0, self.top), slice(0, self.top))

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        own = self.walk.nbytes + self.rows.nbytes + self.free.nbytes
        return own + self.payload.nbytes + self.due.nbytes

    def save(self) -> dict[str, object]:
        """Return all that `load` needs."""
        return {
            "walk": self.walk[: self.top].copy(),
            "rows": self.rows[: self.top].copy(),
            "free": self.free[: self.frees].copy(),
            "payload": save_columns(self.payload.take(np.arange(self.top))),
        }

    def load(self, saved: dict[str, object]) -> None:
        """Take over saved rows, in their slots."""
        walk, rows, free, payload = (saved[k] for k in ("walk", "rows", "free", "payload"))
        assert isinstance(walk, np.ndarray)
        assert isinstance(rows, np.ndarray)
        assert isinstance(free, np.ndarray)
        assert isinstance(payload, dict)
        self._reserve(len(rows))
        self.top = len(rows)
        self.rows[: self.top] = rows
        self.walk[: self.top] = walk
        columns = load_columns(self.payload.fields, payload)
        self.payload.write(slice(0, self.top), columns, slice(0, self.top))
        self.release(free)
        live = self.live()
        self.schedule(live, self.walk[live, KEEP])

    def check(self) -> None:
        """Assert the invariants."""
        free = self.free[: self.frees]
        assert len(np.unique(free)) == self.frees, "invariant 2: a slot is free twice"
        used = self.rows[: self.top, CODE] > 0
        assert not used[free].any(), "invariant 1: a free slot is in a chain"
        assert used.sum() == len(self), "invariant 1: a slot is lost"


SideRows = RingRows | PoolRows
NONE: I64 = np.empty(0, np.int64)


def rows_of(form: Form, side: Side, bands: int, number: int) -> SideRows:
    """Return an empty state of the given form."""
    if form is Form.FIFO:
        return RingRows(side, bands, number)
    return PoolRows(side, bands, number, direct=form is Form.DIRECT)


def empty_columns(side: Side) -> RowColumns:
    """Return room for the columns that results are made of."""
    columns = RowColumns(tuple(side.schema[name] for name in side.kept))
    columns.resize(SMALLEST, slice(0, 0), slice(0, 0))
    return columns


def _moved(array: I64, old: I64, new: I64, capacity: int) -> I64:
    """Return the rows of places `old` in places `new` of an array of `capacity` rows."""
    moved = np.zeros((capacity, array.shape[1]), np.int64)
    moved[new] = array[old]
    return moved


def held_rows(rows: SideRows, keys: KeyTable, bands: list[str], clock: int) -> Delta:
    """Return the rows of a side with all columns that the join reads, and their ends.

    Their ts is not kept: where bands ask for it, the times that they compare stand for it.
    """
    slots, side = rows.live(), rows.side
    stored = rows.rows[slots]
    words = side.key_codec.columns(keys.words[stored[:, CODE] - 1])
    columns = dict(zip(side.keys, words, strict=True)) | rows.payload.take(slots)
    for i, name in enumerate(bands):
        columns.setdefault(name, Vector(side.schema[name].type, stored[:, BANDS + i].copy()))
    return Delta(times_of(columns, bands, len(slots), clock), columns, stored[:, EXP].copy())


def check_chains(left: SideRows, right: SideRows, heads: I64, live: I64) -> None:
    """Assert that codes count their rows: those alive are just those with a row."""
    alive = np.zeros(len(heads), np.int64)
    for rows in (left, right):
        np.add.at(alive, rows.rows[rows.live(), CODE] - 1, 1)
    assert np.array_equal(alive, heads[:, ALIVE]), "a code's rows are miscounted"
    assert np.array_equal(np.flatnonzero(alive), live), "a code without rows is kept"
