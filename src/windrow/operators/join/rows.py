"""The row store of one side of a join of unsigned edges.

    ring:  │ room │        alive        │  room  │         rows expire in order of arrival
                tail               tail + count
    pool:  │ a │ b │ free │ c │ free │ ... │  room  │      rows expire in any order
                                          top

A row has one slot from its arrival to its end, in each of the arrays of `chains.Links` and in the
records of its columns: 16 bytes and the columns a row of a ring, 4 more and 16 for its calendar a
row of a pool, 8 more with bands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from windrow.core.schema import Field
from windrow.core.time import FOREVER
from windrow.kernels.chains import I32, LEFT, Links
from windrow.kernels.joins import NewRows, expire_ring, unlink_rows
from windrow.operators.delta import Delta
from windrow.operators.join.keys import Heads, JoinKeys
from windrow.operators.join.match import Match, Side, times_of
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.fields import (
    NestedField,
    ScratchField,
    State,
    StateField,
    StateLayout,
    misfit,
)
from windrow.operators.state.row_columns import interned_codes, load_columns, save_columns
from windrow.operators.state.row_records import RowRecords
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Form

SMALLEST = 64
GROWTH = 1.25
"""A store that is full gets so many times its room: a fifth of it is unused at most."""
SPARSE = 8
"""A ring of so many times its rows gives its room back."""
NONE: I64 = np.empty(0, np.int64)


@dataclass(slots=True)
class RowPlaces(State):
    """The slots that the rows of an input take, and their columns there.

    What lets rows go decides: a ring needs to know no slots, a pool which are free, and with a
    calendar also when which row ends. Invariants, asserted by `check`:
      1. a slot of a pool is free once at most, and is below `top`.
    """

    state_fields: ClassVar[tuple[StateField, ...]] = (
        NestedField("payload"),
        ScratchField("free"),
        NestedField("due"),
    )

    form: Form
    payload: RowRecords = field(init=False)
    top: int = field(default=0, init=False)  # of a pool: slots ever used, and those that are free
    frees: int = field(default=0, init=False)
    free: I32 = field(init=False)
    due: CalendarQueue | None = field(default=None, init=False)

    def _open(self, fields: tuple[Field, ...]) -> None:
        """Begin with no rows, of these columns."""
        self.payload = RowRecords(fields, SMALLEST)
        self.free = np.empty(0, np.int32)
        if self.form is Form.CALENDAR:
            self.due = CalendarQueue()

    @property
    def ring(self) -> bool:
        """Return whether rows expire in order of arrival."""
        return self.form is Form.FIFO

    def pool_slots(self, count: int) -> I64:
        """Take slots of a pool, for which there is room: free ones first."""
        reused = min(count, self.frees)
        fresh = np.arange(self.top, self.top + count - reused)
        self.frees -= reused
        self.top += len(fresh)
        again = self.free[self.frees : self.frees + reused]
        return np.concatenate([again.astype(np.int64), fresh])

    def schedule(self, slots: I64, keep: I64) -> None:
        """Note when new rows are to leave, if a calendar says so; those that stay are not noted."""
        if self.due is None:
            return
        ends = keep < FOREVER
        if ends.all():
            self.due.push(keep, slots)
        elif ends.any():
            self.due.push(keep[ends], slots[ends])

    def release(self, slots: I64) -> None:
        """Reclaim the slots of rows that were unlinked."""
        if self.frees + len(slots) > len(self.free):
            bigger = np.empty(int(GROWTH * (self.frees + len(slots))), np.int32)
            bigger[: self.frees] = self.free[: self.frees]
            self.free = bigger
        self.free[self.frees : self.frees + len(slots)] = slots
        self.frees += len(slots)

    def invariants(self) -> None:
        """Assert the invariant."""
        free = self.free[: self.frees]
        assert len(np.unique(free)) == self.frees, "invariant 1: a slot is free twice"
        assert not len(free) or free.max() < self.top, "invariant 1: a slot that never was used"


@dataclass(slots=True)
class JoinRows(RowPlaces):
    """The rows of one side of a join: `number` is LEFT or RIGHT.

    `bands` are the time columns that bands read; loops compare them if `compared`, else they have
    become `keep` and are stored only if results do not have them, for who takes the rows over.
    `endless` rows have no end of their own: bands let go of them. Invariants, asserted by `check`:
      2. there are at most `capacity` rows, and `keep` never decreases from a ring's tail on;
      3. each slot of a pool below `top` is either free or in a chain;
      4. from the newest row of a key, `older` leads to all others.
    """

    stored_as = StateLayout("join-rows")

    match: Match
    number: int
    compared: bool = True
    endless: bool = False
    side: Side = field(init=False)
    bands: list[str] = field(init=False)
    timed: list[str] = field(init=False)
    links: Links = field(init=False)
    tail: int = 0  # of a ring: the slot of the oldest row, and how many there are
    count: int = 0

    def __post_init__(self) -> None:
        match, is_left = self.match, self.number == LEFT
        self.side = match.left if is_left else match.right
        self.bands = [b.left if is_left else b.right for b in match.bands]
        # Times that results have are in their columns; only the others need a place of their own.
        rest = [name for name in dict.fromkeys(self.bands) if name not in self.side.kept]
        self.timed = self.bands if self.compared else rest
        self._open(tuple(self.side.schema[n] for n in self.side.kept))
        self.links = self._lines(SMALLEST)

    def _lines(self, capacity: int) -> Links:
        keep = np.zeros(capacity, np.int64)
        own = NONE if self.endless else np.zeros(capacity, np.int64)
        codes, older = np.zeros((2, capacity), np.int32)
        newer = np.zeros(0 if self.ring else capacity, np.int32)
        times = np.zeros((capacity, len(self.timed)), np.int64)
        return Links(keep, own if self.bands or self.endless else keep, codes, older, newer, times)

    def __len__(self) -> int:
        return self.count if self.ring else self.top - self.frees

    @property
    def capacity(self) -> int:
        """For how many rows there is room."""
        return self.payload.capacity

    @property
    def keep(self) -> I64:
        """Until when each row is of use, by slot."""
        return self.links.keep

    @property
    def shape(self) -> tuple[int, int]:
        """Return whether rows expire in order, and how many slots a scan looks at."""
        return int(self.ring), self.top if self.form is Form.DIRECT else 0

    def arrive(self, delta: Delta, keys: JoinKeys) -> NewRows:
        """Store the columns of new rows; return what the loop reads that enters them."""
        count, is_left = len(delta), self.number == LEFT
        if not count:
            return NewRows(NONE, NONE, NONE, NONE, NONE, np.empty((0, len(self.bands)), np.int64))
        assert delta.exp is not None
        times = (self.match.left_times if is_left else self.match.right_times)(delta)
        # Bands may let go of a row before it ends: nothing to come can match it any more.
        keep = (self.match.left_keep if is_left else self.match.right_keep)(delta.exp, times)
        codes = keys.encode(self.side.key_words(delta))
        self.payload.admit(delta.columns)
        slots = self._take_slots(count, keys.heads)
        for where, part in _runs(slots) if self.ring else [(slots, slice(0, count))]:
            self.payload.write(where, delta.columns, part)
            for k, name in enumerate(self.timed):
                self.links.times[where, k] = delta.columns[name].data[part]
        self.schedule(slots, keep)
        return NewRows(delta.ts, delta.exp, keep, slots, codes, times)

    def _take_slots(self, count: int, heads: Heads) -> I64:
        """Return the slots of new rows, which are counted as stored from now on in a ring."""
        if self.ring:
            if SPARSE * (self.count + count) < self.capacity:
                self.fit(self.count + count, heads)
            self._reserve(self.count + count, heads)
            self.count += count
            return self._ring_slots(self.count - count)
        known = self.top
        self._reserve(known + max(0, count - self.frees), heads)
        slots = self.pool_slots(count)
        self.links.codes[known : self.top] = -1
        return slots

    def _reserve(self, rows: int, heads: Heads) -> None:
        """Make room. The rows of a ring that stand behind its room move to the new end."""
        old = self.capacity
        if rows <= old:
            return
        assert rows < 2**30, "a slot fits 31 bits"
        capacity = max(rows, int(GROWTH * old))
        wrapped = self.ring and self.tail + self.count > old
        # Rows from the tail to the old end move up, the wrapped ones at the front stay.
        first, by = (self.tail, capacity - old) if wrapped else (old, 0)
        moves = [
            (slice(0, first), slice(0, first)),
            (slice(first, old), slice(first + by, old + by)),
        ]
        before, self.links = self.links, self._lines(capacity)
        for new, lines in zip(arrays(self.links), arrays(before), strict=True):
            for source, target in moves if len(lines) else []:
                new[target] = lines[source]
        self.payload.move(capacity, moves)
        if by:
            older = self.links.older
            # Links and heads count from 1, so a slot at or behind the tail is above `first`.
            older[older > first] += by
            newest = heads[:, self.number]
            newest[newest > first] += by
            self.tail += by

    def fit(self, rows: int, heads: Heads) -> None:
        """Give a ring the room that so many rows need, if that is less; its tail is then slot 0."""
        old, room = self.capacity, max(SMALLEST, int(GROWTH * rows))
        if not self.ring or room >= old:
            return
        slots = self.live()
        before, self.links = self.links, self._lines(room)
        for new, line in zip(arrays(self.links), arrays(before), strict=True):
            if len(line):
                new[: len(slots)] = line[slots]
        self.payload.move(room, _runs(slots) if len(slots) else [])
        # Slots count from the tail now; 0 is no row, and what names expired ones is never followed.
        for named in (self.links.older, heads[:, self.number]):
            named[named > 0] = (named[named > 0] - 1 - self.tail) % old + 1
        self.tail = 0

    def expire(self, clock: int, keys: JoinKeys) -> int:
        """Let go of rows of no use after `clock`, and of keys without any row; return how many."""
        if self.ring:
            # The oldest row says it for all: `keep` never decreases.
            if not self.count or self.keep[self.tail] > clock:
                return 0
            dead = np.empty(self.count, np.int64)
            where = self.tail, self.count
            went, gone = expire_ring(self.links, *where, clock, keys.heads, self.number, dead)
            self.passed(went)
        else:
            slots = NONE if self.due is None else self.due.pop(clock)[1]
            if not len(slots):
                return 0
            dead, went = np.empty(len(slots), np.int64), len(slots)
            gone = unlink_rows(slots, self.links, keys.heads, self.number, dead)
            self.release(slots)
        keys.table.release(dead[:gone])
        return int(went)

    def passed(self, rows: int) -> None:
        """Move the tail of a ring past rows that were counted out."""
        self.tail = (self.tail + rows) % self.capacity
        self.count -= rows

    def _ring_slots(self, first: int) -> I64:
        """Return the slots of a ring's rows, without the first ones."""
        start, count = (self.tail + first) % self.capacity, self.count - first
        cut = min(count, self.capacity - start)
        slots = np.arange(start, start + cut)
        return slots if cut == count else np.concatenate([slots, np.arange(count - cut)])

    def live(self) -> I64:
        """Return the slots in use, oldest first in a ring."""
        if self.ring:
            return self._ring_slots(0)
        return np.flatnonzero(self.links.codes[: self.top] >= 0)

    def codes(self) -> I64:
        """Return the codes of the rows, as `live`."""
        return self.links.codes[self.live()].astype(np.int64)

    def held(self, keys: JoinKeys, clock: int) -> Delta:
        """Return the rows with all columns that the join reads, and their ends.

        Their ts is not kept: where bands ask for it, the times that they compare stand for it.
        """
        slots, side = self.live(), self.side
        words = side.key_codec.columns(keys.table.words[self.codes()])
        columns = dict(zip(side.keys, words, strict=True)) | self.payload.take(slots)
        times = self.links.times[slots]
        for k, name in enumerate(self.timed):
            columns.setdefault(name, Vector(side.schema[name].type, times[:, k].copy()))
        exp = np.full(len(slots), FOREVER) if self.endless else self.links.exp[slots]
        return Delta(times_of(columns, self.bands, len(slots), clock), columns, exp)

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        links = self.links
        shared = links.exp is links.keep
        lines = sum(a.nbytes for a in arrays(links._replace(exp=NONE) if shared else links))
        return super(JoinRows, self).nbytes + lines

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return interned_codes(self.payload.fields, self.payload.take(self.live()))

    def _used(self) -> I64:
        """Return the slots that are saved: a pool's free ones too, so that each keeps its own."""
        return self.live() if self.ring else np.arange(self.top)

    def content(self, rows: int) -> Saved:
        """Return the rows in use, in their slots."""
        slots = self._used()
        lines = dict(zip(Links._fields, arrays(self.links), strict=True))
        if self.links.exp is self.links.keep:
            # One array under two names is saved once.
            lines["exp"] = NONE
        return {
            "form": self._saved_form,
            "at": [self.capacity, self.tail, self.count, self.top],
            "free": self.free[: self.frees].copy(),
            "lines": {n: a[slots] if len(a) else a for n, a in lines.items()},
            "payload": save_columns(self.payload.take(slots)),
        }

    @property
    def _saved_form(self) -> list[str | int]:
        """What the arrays of a store depend on: those of another form do not fit it."""
        return [self.form.value, int(self.endless), len(self.bands), len(self.timed)]

    def take_over(self, saved: Saved) -> None:
        """Take over saved rows, in their slots."""
        if saved["form"] != self._saved_form:
            raise misfit(self, "form", f"{saved['form']} instead of {self._saved_form}")
        capacity, self.tail, self.count, self.top = cast("list[int]", saved["at"])
        lines = cast("dict[str, I64]", saved["lines"])
        self.payload.move(capacity, [])
        self.links = self._lines(capacity)
        columns = load_columns(self.payload.fields, cast("Saved", saved["payload"]))
        self.payload.admit(columns)
        slots = self._used()
        self.payload.write(slots, columns, slice(0, len(slots)))
        for name, line in zip(Links._fields, arrays(self.links), strict=True):
            if len(lines[name]):
                line[slots] = lines[name]
        self.release(cast("I64", saved["free"]))
        if self.due is not None:
            live = self.live()
            self.schedule(live, self.keep[live])

    def invariants(self) -> None:
        """Assert the invariants of the store; for chains see `check_chains`."""
        super(JoinRows, self).invariants()
        assert len(self) <= self.capacity, "invariant 2: more rows than room"
        if self.ring:
            assert (np.diff(self.keep[self.live()]) >= 0).all(), "invariant 2: out of order"
        assert len(self.live()) == len(self), "invariant 3: a slot is lost"

    def check_chains(self, keys: JoinKeys) -> None:
        """Assert that chains lead to all rows."""
        counted = np.bincount(self.codes(), minlength=len(keys.heads))
        codes, found = np.flatnonzero(counted), 0
        at = keys.heads[codes, self.number].astype(np.int64) - 1
        while len(codes):
            own = self.links.codes[at]
            assert np.array_equal(own, codes), "invariant 4: a chain changes its key"
            found += 1
            more = counted[codes] > found
            at, codes = self.links.older[at[more]].astype(np.int64) - 1, codes[more]


def arrays(links: Links) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays of links, of whatever kind."""
    return tuple(links)


def _runs(slots: I64) -> list[tuple[slice, slice]]:
    """Return the slots of new rows of a ring as slices, two if they wrap, and whose each is."""
    first, count = int(slots[0]), len(slots)
    rest = int(slots[-1]) + 1 if slots[-1] < first else 0
    runs = [(slice(first, first + count - rest), slice(0, count - rest))]
    return [*runs, (slice(0, rest), slice(count - rest, count))] if rest else runs
