"""Changes in the driver's memory, to be asked for by `q.changes()` and `q.answer()`."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from windrow.core.errors import RunError
from windrow.runtime.spark.sinks.target import COUNT, Target, copies_of, net_rows

PENDING = 100_000
"""Changes that may wait before they are folded in unasked."""


@dataclass(slots=True)
class MemorySink:
    """The answer, and the changes that nobody has read yet. Exactly once while this process lives.

    Invariant: the answer is the net of `net` and `waiting`.
    """

    target: Target
    version: int = 0
    net: pa.Table = field(init=False)
    waiting: list[pa.Table] = field(default_factory=list)
    unread: list[pa.Table] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.net = net_rows(self.target.changes.empty_table(), self.target.schema)

    @property
    def guarantee(self) -> str:
        """What a reader may rely on."""
        return "exactly once while this process lives"

    def open(self, run: str, reached: int) -> None:
        """Refuse to go on from a checkpoint whose earlier changes this process has not seen."""
        del run
        if reached > self.version:
            raise RunError(
                f'the memory sink does not hold what "{self.target.query}" answered before',
                detail="The checkpoint comes from a process that has ended, its memory with it.",
                hint="Use another checkpoint, or a sink that lasts, such as duckdb:FILE.",
            )

    def write(self, version: int, changes: pa.Table) -> None:
        """Take the changes of a batch, once."""
        if version <= self.version:
            return
        self.version = version
        if len(changes):
            self.waiting.append(changes)
            self.unread.append(changes)
        if sum(map(len, self.waiting)) > PENDING + 2 * len(self.net):
            self._fold()

    def _fold(self) -> None:
        names = list(self.target.schema.names)
        fresh = [
            changes.select(names).append_column(COUNT, changes["_sign"].cast(pa.int64()))
            for changes in self.waiting
        ]
        self.waiting = []
        self.net = net_rows(pa.concat_tables([self.net, *fresh]), self.target.schema)

    def changes(self) -> pa.Table:
        """Return the changes since the last call."""
        unread, self.unread = self.unread, []
        return pa.concat_tables([self.target.changes.empty_table(), *unread])

    def answer(self) -> pa.Table:
        """Return the answer after the newest batch."""
        self._fold()
        return copies_of(self.net, self.target.schema, self.target.order)
