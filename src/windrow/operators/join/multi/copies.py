"""What a join of many signed inputs stores of one of them: distinct rows, or rows in order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.hashing import ENTRIES
from windrow.kernels.records import gather_word
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.multi.held import HeldRows
from windrow.operators.join.multi.rows import NONE
from windrow.operators.state.key_table import KeyTable, interned_words
from windrow.operators.state.row_columns import interned_codes, load_columns, save_columns
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Form, JoinInput


@dataclass(slots=True)
class BagOfRows:
    """The distinct rows of an input, in the columns that the join reads, numbered by their code.

    A departure takes away one copy of an equal row. O(changes).
    """

    source: JoinInput
    fields: tuple[Field, ...]
    codec: RowCodec = field(init=False)
    order: dict[str, int] = field(init=False)
    table: KeyTable = field(init=False)

    def __post_init__(self) -> None:
        self.codec = RowCodec(self.fields)
        self.order = {f.name: i for i, f in enumerate(self.fields)}
        self.table = KeyTable(self.codec.width)

    @property
    def ring(self) -> bool:
        """Rows expire in any order."""
        return False

    def unfolded(self, delta: Delta) -> Delta:
        """Return the changes as they are: a row has any number of copies."""
        return delta

    def add(self, delta: Delta, tail: int, head: int) -> I64:
        """Return the numbers of changed rows; where rows stand does not matter."""
        del tail, head
        words = self.codec.words([delta.columns[f.name] for f in self.fields], len(delta))
        return self.table.encode(words)

    def span(self, tail: int, head: int) -> tuple[int, int]:
        """Return the numbers that a loop over all rows looks at, now."""
        del tail, head
        return 0, int(self.table.meta[ENTRIES])

    def live(self, tail: int, head: int) -> int:
        """Return how many rows there are. O(1)."""
        del tail, head
        return len(self.table)

    def needed(self, delta: Delta, live: int) -> int:
        """Return how many places there must be once changes are added."""
        del delta, live
        return self.table.capacity

    def resize(self, capacity: int, tail: int, head: int) -> None:
        """The table has grown by itself."""

    def take(self, places: I64) -> dict[str, Vector]:
        """Return the rows at the places, as columns."""
        columns = self.codec.columns_at(self.table.words, places)
        return dict(zip((f.name for f in self.fields), columns, strict=True))

    def columns(self, names: tuple[str, ...], places: I64) -> dict[str, Vector]:
        """Return some columns of the rows at the places."""
        words = self.table.words
        found = {n: self.codec.column_at(words, places, self.order[n]) for n in names}
        if self.codec.nullable and names:
            nulls = np.empty(len(places), np.int64)
            gather_word(words, self.codec.width - 1, places, nulls)
            if nulls.any():
                for name in names:
                    found[name].valid = (nulls >> self.order[name]) & 1 == 0
        return found

    def sweep(self, numbers: I64, copies: I64) -> I64:
        """Forget those of the rows that have no copies left; return them, each once."""
        gone: I64 = numbers[copies == 0]
        if len(gone):
            gone = np.unique(gone)
            self.table.release(gone)
        return gone

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.table.nbytes

    def live_codes(self, numbers: I64) -> list[I64]:
        """Return the interned codes that rows refer to."""
        del numbers
        return interned_words(self.fields, self.table)

    def save(self, numbers: I64) -> Saved:
        """Return the rows."""
        del numbers
        return {"table": self.table.save()}

    def load(self, saved: Saved, numbers: I64) -> None:
        """Take over saved rows under their numbers."""
        del numbers
        table = saved["table"]
        assert isinstance(table, dict)
        self.table = KeyTable.loaded(table)

    def check(self, numbers: I64) -> None:
        """Assert that exactly the rows with copies are kept."""
        self.table.check()
        assert np.array_equal(numbers, self.table.live()), "a row without copies is kept"


@dataclass(slots=True)
class RingOfRows:
    """The rows of an input that expire in order of arrival: count windows.

    Each copy has a number of its own, from a counter that goes round; a departure takes the row
    at the tail, and no row is looked for [MULTI 3.6]. O(changes).
    """

    source: JoinInput
    fields: tuple[Field, ...]
    rows: HeldRows = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(f.name for f in self.fields)
        self.rows = HeldRows(JoinInput(self.source.schema, names), Form.FIFO)

    @property
    def ring(self) -> bool:
        """Rows expire in order of arrival."""
        return True

    def unfolded(self, delta: Delta) -> Delta:
        """Return the changes one copy each."""
        weight = delta.weights()
        copies = np.abs(weight)
        if (copies == 1).all():
            return delta
        each = delta.take(np.repeat(np.arange(len(delta)), copies))
        each.weight = np.sign(each.weights())
        return each

    def add(self, delta: Delta, tail: int, head: int) -> I64:
        """Store the rows that come; return the numbers of all changed."""
        come = delta.weights() > 0
        numbers = np.where(come, head - 1 + np.cumsum(come), tail - 1 + np.cumsum(~come))
        self.rows.payload.admit(delta.columns)
        self.rows.add(delta.take(np.flatnonzero(come)), head)
        return numbers

    def read(self, delta: Delta) -> Delta:
        """Return the changes with the columns that the join reads."""
        return delta.replace_columns({f.name: delta.columns[f.name] for f in self.fields})

    def span(self, tail: int, head: int) -> tuple[int, int]:
        """Return the numbers of rows that are there; the loops move both ends."""
        return tail, head

    def live(self, tail: int, head: int) -> int:
        """Return how many rows there are. O(1)."""
        return head - tail

    def needed(self, delta: Delta, live: int) -> int:
        """Return how many places there must be for the rows that come."""
        return live + int(np.count_nonzero(delta.weights() > 0))

    def resize(self, capacity: int, tail: int, head: int) -> None:
        """Take as many places as the input has now."""
        self.rows.resize(capacity, tail, head)

    def take(self, places: I64) -> dict[str, Vector]:
        """Return the rows at the places, as columns."""
        return self.rows.payload.take(places)

    def sweep(self, numbers: I64, copies: I64) -> I64:
        """Return nothing: the tail has passed what left, and numbers are never used again."""
        del numbers, copies
        return NONE

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.rows.payload.nbytes

    def live_codes(self, numbers: I64) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return interned_codes(self.fields, self._columns(numbers))

    def _columns(self, numbers: I64) -> dict[str, Vector]:
        return self.take(numbers & (self.rows.payload.capacity - 1))

    def save(self, numbers: I64) -> Saved:
        """Return the rows, oldest first."""
        return {"payload": save_columns(self._columns(numbers))}

    def load(self, saved: Saved, numbers: I64) -> None:
        """Take over saved rows under their numbers."""
        payload = saved["payload"]
        assert isinstance(payload, dict)
        columns = load_columns(self.rows.payload.fields, payload)
        self.rows.payload.admit(columns)
        self.rows.add(Delta(numbers, columns), int(numbers[0]) if len(numbers) else 0)

    def check(self, numbers: I64) -> None:
        """Assert the invariant of the columns."""
        del numbers
        self.rows.check()


Copies = BagOfRows | RingOfRows
