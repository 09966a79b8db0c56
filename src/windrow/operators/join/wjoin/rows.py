"""The state of a W-join: the rows of all streams in order of time, in the same arrays, and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.wjoin_rows import END, FIRST, SHIFT, SPAN_WORDS, STOP, count_codes
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch, equality_codec
from windrow.operators.join.wjoin.terms import Terms
from windrow.operators.state.fields import NestedField, ScratchField, State, StateLayout
from windrow.operators.state.key_table import KeyTable
from windrow.operators.state.row_columns import interned_codes, load_columns, save_columns
from windrow.operators.state.row_records import RowRecords
from windrow.operators.task import Saved
from windrow.operators.vector import I64

SMALLEST = 64


@dataclass(slots=True)
class StreamRows(State):
    """Rows of n streams, each in a stretch of positions of its own.

        ║ gone │ of use │ to come │ room ║ gone │ of use │ ...
        base  FIRST    END      STOP    base + room

    `payload` has the columns of results, `aside` those that are only compared: they have become
    words, and are there for who takes the rows over. Their places count from the stream's base.
    Invariants, asserted by `check`:
      1. each stream lies within its stretch, first <= end <= stop;
      2. its times never decrease.
    """

    stored_as = StateLayout("stream-rows")
    state_fields = (
        *map(ScratchField, ("times", "words", "codes", "back")),
        NestedField("payload"),
        NestedField("aside"),
    )

    terms: Terms
    indexed: bool
    spans: I64 = field(init=False)
    base: I64 = field(init=False)
    room: I64 = field(init=False)
    times: I64 = field(init=False)
    words: I64 = field(init=False)
    codes: I64 = field(init=False)
    back: I64 = field(init=False)
    payload: list[RowRecords] = field(init=False)
    aside: list[RowRecords] = field(init=False)

    def __post_init__(self) -> None:
        match = self.terms.match
        count = len(match.inputs)
        self.room = np.full(count, SMALLEST, np.int64)
        self.base = np.arange(count) * SMALLEST
        self.spans = np.zeros((count, SPAN_WORDS), np.int64)
        self.spans[:, FIRST : STOP + 1] = self.base[:, None]
        self.spans[:, SHIFT] = -self.base
        self._make_lines(count * SMALLEST)
        fields = [stored_fields(self.terms, i) for i in range(count)]
        self.payload = [RowRecords(kept, SMALLEST) for kept, _ in fields]
        self.aside = [RowRecords(rest, SMALLEST) for _, rest in fields]

    def _make_lines(self, total: int) -> None:
        indexes = len(self.terms.match.equalities) if self.indexed else 0
        self.times = np.zeros(total, np.int64)
        self.words = np.zeros((self.terms.lines, total), np.int64)
        self.codes = np.zeros((indexes, total), np.int64)
        self.back = np.zeros((indexes, total), np.int64)

    @property
    def _lines(self) -> tuple[I64, I64, I64, I64]:
        return self.times, self.words, self.codes, self.back

    def __len__(self) -> int:
        return int((self.spans[:, STOP] - self.spans[:, FIRST]).sum())

    def admit(self, arrived: Sequence[Delta], first: int = 0) -> None:
        """Make room for the NULLs of rows that are to be added, of streams from `first` on."""
        for i, delta in enumerate(arrived, first):
            for records in (self.payload[i], self.aside[i]):
                records.admit(delta.columns)

    def add(self, i: int, delta: Delta) -> tuple[slice, I64]:
        """Store admitted rows that are to come; return where, and by how much each stream moved."""
        moved = self._make_room(i, len(delta))
        start = int(self.spans[i, STOP])
        where = slice(start, start + len(delta))
        self.times[where] = delta.ts
        self.terms.write(i, delta, self.words, start)
        local = slice(where.start - int(self.base[i]), where.stop - int(self.base[i]))
        for records in (self.payload[i], self.aside[i]):
            records.write(local, delta.columns, slice(0, len(delta)))
        self.spans[i, STOP] = where.stop
        return where, moved

    def _make_room(self, i: int, count: int) -> I64:
        """Make room for new rows of a stream; return by how much each stream's positions shrank."""
        first, stop = int(self.spans[i, FIRST]), int(self.spans[i, STOP])
        moved = np.zeros(len(self.spans), np.int64)
        if stop + count <= self.base[i] + self.room[i]:
            return moved
        need = 2 * (stop - first + count)
        local = slice(first - int(self.base[i]), stop - int(self.base[i]))
        # Twice the rows of use: then moving them to the front costs O(1) a row, amortised.
        if need > self.room[i]:
            self._grow(i, 1 << (need - 1).bit_length(), moved)
            first, stop = int(self.spans[i, FIRST]), int(self.spans[i, STOP])
        target = int(self.base[i])
        # Rows of use move to the front of their stretch, over those that are gone.
        for lines in self._lines:
            lines[..., target : target + stop - first] = lines[..., first:stop].copy()
        self._shift(i, first - target, moved)
        for records in (self.payload[i], self.aside[i]):
            records.move(int(self.room[i]), [(local, slice(0, stop - first))])
        return moved

    def _grow(self, i: int, room: int, moved: I64) -> None:
        """Give a stream a longer stretch; the others' rows keep their places in theirs."""
        old, starts = self._lines, self.base.copy()
        sizes = self.room.copy()
        self.room[i] = room
        self.base = np.concatenate([[0], np.cumsum(self.room)[:-1]])
        self._make_lines(int(self.room.sum()))
        for j, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            target = int(self.base[j])
            for source, lines in zip(old, self._lines, strict=True):
                lines[..., target : target + size] = source[..., start : start + size]
            # Positions count over all streams, so a longer stretch moves those behind.
            self._shift(j, start - target, moved)

    def _shift(self, i: int, by: int, moved: I64) -> None:
        self.spans[i, FIRST : STOP + 1] -= by
        self.spans[i, SHIFT] += by
        moved[i] += by

    def let_go(self, i: int, before: int) -> None:
        """Forget a stream's rows before an instant."""
        first, stop = int(self.spans[i, FIRST]), int(self.spans[i, STOP])
        # Times ascend, so what is too old is a prefix: found by halving, not by looking at rows.
        gone = int(np.searchsorted(self.times[first:stop], before, side="left"))
        self.spans[i, FIRST] += gone

    def held(self, i: int) -> Delta:
        """Return the rows of use of a stream, with all columns that the join reads."""
        first, stop = int(self.spans[i, FIRST]), int(self.spans[i, STOP])
        places = np.arange(first, stop) - self.base[i]
        columns = self.payload[i].take(places) | self.aside[i].take(places)
        return Delta(self.times[first:stop].copy(), columns)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows refer to."""
        found: list[I64] = []
        for i in range(len(self.spans)):
            kept, rest = stored_fields(self.terms, i)
            found += interned_codes(kept + rest, self.held(i).columns)
        return found

    def content(self, rows: int) -> Saved:
        """Return the rows of use of each stream: all else follows from them."""
        held = [self.held(i) for i in range(len(self.spans))]
        return {"streams": [{"ts": d.ts, "columns": save_columns(d.columns)} for d in held]}

    def take_over(self, saved: Saved) -> None:
        """Take over saved rows, as rows that are to come."""
        for i, stream in enumerate(cast("list[Saved]", saved["streams"])):
            kept, rest = stored_fields(self.terms, i)
            columns = load_columns(kept + rest, cast("Saved", stream["columns"]))
            delta = Delta(cast("I64", stream["ts"]), columns)
            self.admit([delta], i)
            if len(delta):
                self.add(i, delta)

    def invariants(self) -> None:
        """Assert the invariants."""
        for i, (first, end, stop, _) in enumerate(self.spans.tolist()):
            assert self.base[i] <= first <= end <= stop, "invariant 1: a stream is out of order"
            assert stop <= self.base[i] + self.room[i], "invariant 1: a stream has no room"
            assert (np.diff(self.times[first:stop]) >= 0).all(), "invariant 2: time runs back"
        assert (self.spans[:, END] == self.spans[:, STOP]).all(), "invariant 1: a row is to come"


def stored_fields(terms: Terms, i: int) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """Return a stream's columns that results need, and those that are only compared or shown."""
    given = terms.match.inputs[i]
    read = dict.fromkeys(terms.compared(i) + terms.match.band_times(i))
    rest = [n for n in read if n not in given.kept]
    return tuple(given.schema[n] for n in given.kept), tuple(given.schema[n] for n in rest)


class KeyIndex(State):
    """One table of keys for each equality, shared by its streams.

    A key is forgotten with the last row that has it, so no bucket is left with old rows and none
    is ever looked through for them: rows expire by time, whichever key they have. WJOIN 3.1.2
    has to call a routine for buckets that are rarely probed.
    Invariant, asserted by `check`: keys count their rows, and those that are known have some.
    """

    state_fields = (NestedField("tables"), ScratchField("heads"), ScratchField("alive"))

    def __init__(self, match: MultiMatch) -> None:
        self.match = match
        self.codecs = [
            {i: equality_codec(e, match.inputs[i].schema, i) for i in e.inputs}
            for e in match.equalities
        ]
        self.tables = [KeyTable(_width(codecs)) for codecs in self.codecs]
        self.heads: I64 = np.zeros((len(self.tables), 1, len(match.inputs)), np.int64)
        self.alive: I64 = np.zeros((len(self.tables), 1), np.int64)

    def encode(self, i: int, delta: Delta, codes: I64, where: slice) -> None:
        """Write the codes of a stream's new rows, and count them in."""
        for c, (equality, table) in enumerate(zip(self.match.equalities, self.tables, strict=True)):
            if i not in self.codecs[c]:
                continue
            columns = [delta.columns[name] for name in equality.columns[i]]
            codes[c, where] = table.encode(self.codecs[c][i].words(columns, len(delta)))
            self._make_room(table.capacity)
            count_codes(codes[c], where.start, where.stop, 1, self.alive[c], np.empty(0, np.int64))

    def _make_room(self, capacity: int) -> None:
        old = self.alive.shape[1]
        if capacity > old:
            more = ((0, 0), (0, max(capacity, 2 * old) - old))
            self.alive = np.pad(self.alive, more)
            self.heads = np.pad(self.heads, (*more, (0, 0)))

    def forget(self, i: int, codes: I64, start: int, stop: int) -> None:
        """Count out a stream's rows of [start, stop); forget keys that no row is left of."""
        if start == stop:
            return
        dead = np.empty(stop - start, np.int64)
        for c, table in enumerate(self.tables):
            if i in self.codecs[c]:
                gone = count_codes(codes[c], start, stop, -1, self.alive[c], dead)
                self.heads[c, dead[:gone]] = 0
                table.release(dead[:gone])

    def check_rows(self, codes: I64, spans: list[list[int]]) -> None:
        """Assert the invariant, of rows that lie in the spans of their streams."""
        for c, table in enumerate(self.tables):
            counted = np.zeros(self.alive.shape[1], np.int64)
            for i in self.codecs[c]:
                np.add.at(counted, codes[c, slice(*spans[i])], 1)
            assert np.array_equal(counted, self.alive[c]), "a key's rows are miscounted"
            assert np.array_equal(np.flatnonzero(counted), table.live()), "a key has no rows"


def _width(codecs: dict[int, RowCodec]) -> int:
    return next(iter(codecs.values())).width
