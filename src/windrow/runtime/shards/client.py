"""What Spark's Python workers, and the driver, call: the shards of a checkpoint.

    shards = Shards(checkpoint, program)            # on the driver
    with shards.shard(n) as shard:                  # in a task
        times = shard.ingest(version, rows)
        answer = shard.step(version, 0, moment)

Nothing that compiles is imported here: a worker is ready at once.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.runtime.shards import wire
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.due import ENVIRONMENT, asked_rows
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.gathering import meet
from windrow.runtime.shards.launch import ProcessPlace, connect, find, printed, warm
from windrow.runtime.shards.repeats import Attempt
from windrow.runtime.shards.wire import Stepped

if TYPE_CHECKING:
    from windrow.runtime.shards.program import Program

T = TypeVar("T")

IDLE_SECONDS = 600.0
ATTEMPTS = 3

Rows = Mapping[int, pa.Table] | Iterable[tuple[int, pa.RecordBatch | pa.Table]]
"""Rows by port: its number, and a batch with `_ts`, what the port carries, and its columns."""


class LostError(StateError):
    """The process of a shard has ended in the middle of a request."""


class Shards:
    """All shards of a program on one checkpoint. Small and plain: made to be sent to workers."""

    def __init__(
        self, checkpoint: str, program: Program, *, idle: float = IDLE_SECONDS, memory: int = 0
    ) -> None:
        """Claim the checkpoint for the program.

        Raises `StateError` if it holds the state of another. A process that nobody has asked for
        `idle` seconds ends. The state of a shard may have `memory` bytes; 0 is a share of the
        machine's, or what WINDROW_SHARD_MEMORY says there. WINDROW_SNAPSHOT_ROWS counts here.
        """
        from windrow.runtime.shards.checkpoint import open_checkpoint  # noqa: PLC0415 - not in workers

        self.checkpoint = checkpoint if "://" in checkpoint else str(Path(checkpoint).absolute())
        self.claim = open_checkpoint(self.checkpoint, program).claim
        self.run = uuid4().hex  # one that goes on after a failure is another one
        self.count = program.shards
        self.idle = idle
        self.memory = memory
        self.snapshot_rows = asked_rows(os.environ.get(ENVIRONMENT)) or 0

    def shard(self, number: int, *, watch: int | None = None) -> ShardClient:
        """Return a client of one shard; its process is started when it is first needed.

        The process lives as long as one of those that clients `watch`: the parent of this one,
        which in a Spark task ends with the executor.
        """
        return ShardClient(self.place(number), os.getppid() if watch is None else watch)

    def gathered(self, version: int, number: int, batch_clock: BatchClock) -> BatchClock:
        """Publish the batch clock of shard `number` for a version; return that of all shards.

        Only for tasks that run at the same time on one host: each waits for the others.
        """
        folder = self.place(number).folder
        return meet(folder, (self.run, version), (number, self.count), batch_clock)

    def attempt(self, version: int, number: int, *, again: bool) -> Attempt:
        """Return an attempt to make a version of shard `number`; `again`: it is not the first."""
        return Attempt(self.place(number).path("failed"), self.run, version, again)

    def place(self, number: int) -> ProcessPlace:
        """Return where the process of a shard is found on this host."""
        assert 0 <= number < self.count, f"there are shards 0 to {self.count - 1}"
        limits = (self.idle, self.memory, self.snapshot_rows)
        return ProcessPlace(self.checkpoint, self.claim, number, *limits)

    def warm(self) -> None:
        """Start the processes of all shards on this host, to live as long as this one.

        They load while Spark starts: two seconds that the first batch need not wait for.
        """
        for number in range(self.count):
            warm(self.place(number), os.getpid())

    def shutdown(self) -> None:
        """End the processes of this host."""
        for number in range(self.count):
            connection = find(self.place(number))
            if connection is not None:
                with connection, suppress(ConnectionError):
                    wire.send(connection, {"shutdown": True})
                    while True:  # until it has ended
                        wire.receive(connection)


@dataclass(slots=True)
class ShardClient:
    """A connection to one shard's process. For one thread."""

    place: ProcessPlace
    watch: int
    report: dict[str, object] = field(default_factory=dict)
    _connection: socket.socket | None = None
    _compression: str | None = None

    def __enter__(self) -> ShardClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the process goes on."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ingest(self, version: int, rows: Rows) -> dict[str, InputTimes]:
        """Hand over the rows of level 0; return the times of each input.

        When this returns, the rows outlive the process. All of `rows` are read, also if the
        process has those of this version already.
        """
        head = self._again(lambda: self._exchange({"ingest": version}, rows), rows)
        return wire.times_from_json(head["times"])

    def step(self, version: int, level: int, rows: Rows, batch_clock: BatchClock | None) -> Stepped:
        """Run one level up to the moment, and return what it gives.

        Level 0 takes the rows that `ingest` gave, and the moment. A higher one takes the rows that
        the level below forwarded to this shard; it has the moment already.
        """
        return self._again(
            lambda: wire.collected(self.pieces(version, level, rows, batch_clock)), rows
        )

    def pieces(
        self, version: int, level: int, rows: Rows, batch_clock: BatchClock | None
    ) -> Iterator[wire.Piece]:
        """Run one level, as `step` does; yield what it gives in pieces, as they come.

        After the last level, `report` is the report of the shard, as `stats` does.
        """
        plain = None if batch_clock is None else wire.batch_clock_to_json(batch_clock)
        self._exchange({"step": version, "level": level, "moment": plain}, rows)
        assert self._connection is not None
        done = False
        try:
            self.report = yield from wire.receive_answer(self._connection)
            done = True
        except ConnectionError as error:
            raise self._lost(error) from error
        finally:
            if not done:
                self.close()  # the rest of the answer may still be on its way

    def stats(self) -> dict[str, object]:
        """Return the report of the shard."""
        return dict(self._asked({"stats": True})["stats"])

    def _again(self, request: Callable[[], T], rows: Rows) -> T:
        """Do a request, once more if its process is lost. Rows that were read by one are spent."""
        for _ in range(ATTEMPTS - 1):
            try:
                return request()
            except LostError:
                if not isinstance(rows, Mapping):
                    raise
        return request()

    def _exchange(self, request: wire.Head, rows: Rows) -> wire.Head:
        """Ask; send the rows if they are wanted; return the head of the answer."""
        head = self._asked(request)
        if "go" not in head:
            for _ in rows:
                pass
            return head
        assert self._connection is not None
        try:
            for _ in wire.send_rows(self._connection, _batches(rows), self._compression):
                fault("client-half-sent")
            fault("client-sent")
            return self._report(self._connection)
        except ConnectionError as error:
            raise self._lost(error) from error

    def _asked(self, request: wire.Head) -> wire.Head:
        """Send a request and return the head of its answer, from a fresh process if need be."""
        for attempt in range(ATTEMPTS):
            try:
                if self._connection is None:
                    self._connection, greeting = connect(self.place, self.watch)
                    self._compression = greeting["compression"]
                wire.send(self._connection, request)
                return self._report(self._connection)
            except ConnectionError as error:
                if attempt == ATTEMPTS - 1:
                    raise self._lost(error) from error
                self.close()
        raise AssertionError("the last attempt returns or raises")

    def _report(self, connection: socket.socket) -> wire.Head:
        head, _ = wire.receive(connection)
        wire.raise_error(head)
        return head

    def _lost(self, error: ConnectionError) -> LostError:
        self.close()
        return LostError(
            f"the process of shard {self.place.shard} has ended in the middle of a request",
            detail=f"{error}. Its last words: {printed(self.place) or 'none'}",
            hint="Run the batch again: the shard is rebuilt from the checkpoint. If it was killed "
            "for its memory, use more shards or a smaller window.",
        )


def _batches(rows: Rows) -> Iterator[tuple[int, pa.RecordBatch]]:
    for port, given in rows.items() if isinstance(rows, Mapping) else rows:
        if isinstance(given, pa.Table):
            for batch in given.to_batches():
                yield port, batch
        else:
            yield port, given
