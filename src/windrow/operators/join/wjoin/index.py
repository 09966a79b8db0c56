"""The keys of a hash W-join: a code for each, how many rows have it, and the newest of them."""

from __future__ import annotations

import numpy as np

from windrow.kernels.wjoin_rows import count_codes
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.multi.match import MultiMatch, equality_codec
from windrow.operators.state.fields import NestedField, ScratchField, State
from windrow.operators.state.key_table import KeyTable
from windrow.operators.vector import I64


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
