"""Rows on their way in: written to the log as they come, believed when all are here."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pyarrow as pa

from windrow.runtime.shards.entry import EntryWriter
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.limits import check_room
from windrow.runtime.shards.wire import Head, receive


class Receipt:
    """The rows of one request, by port, with the log file that holds them."""

    def __init__(self, writer: EntryWriter) -> None:
        self.writer = writer
        self.rows = 0
        self.seconds = {"receive": 0.0, "log": 0.0}
        self._schemas: dict[int, pa.Schema] = {}
        self._batches: dict[int, list[pa.RecordBatch]] = {}

    def schema(self, port: int, message: pa.Buffer) -> None:
        """Begin the rows of a port."""
        self._schemas[port] = pa.ipc.read_schema(message)
        self._batches[port] = []
        self.writer.open_port(port, message)

    def batch(self, port: int, message: pa.Buffer) -> None:
        """Take some rows of a port."""
        batch = pa.ipc.read_record_batch(message, self._schemas[port])
        began = time.perf_counter()
        self.writer.add(port, message, batch.num_rows)
        self.seconds["log"] += time.perf_counter() - began
        self._batches[port].append(batch)
        self.rows += batch.num_rows

    def tables(self) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of each port."""
        for port, batches in self._batches.items():
            yield port, pa.Table.from_batches(batches, self._schemas[port])

    def abandon(self) -> None:
        """Forget the rows: they are not needed, or not all of them came."""
        self.writer.draft.abandon()


def received(connection: socket.socket, writer: EntryWriter, limit: int) -> Receipt:
    """Return the rows that a client sends, if the process has room for them.

    Raises `ClosedError` if it goes away before the end. If the rows cannot be taken, they are read
    to the end all the same: then the client listens, and can be sent the error.
    """
    receipt = Receipt(writer)
    failure: Exception | None = None
    began = time.perf_counter()
    try:
        while True:
            head, body = receive(connection)
            if "end" in head:
                break
            if failure is None:
                failure = _taken(receipt, head, body, limit)
    except BaseException:
        receipt.abandon()
        raise
    if failure is not None:
        receipt.abandon()
        raise failure
    receipt.seconds["receive"] = time.perf_counter() - began - receipt.seconds["log"]
    return receipt


def _taken(receipt: Receipt, head: Head, body: pa.Buffer, limit: int) -> Exception | None:
    try:
        check_room(limit)
        if "schema" in head:
            receipt.schema(head["rows"], body)
        else:
            receipt.batch(head["rows"], body)
            fault("rows-half-received")
    except Exception as error:
        return error
    return None
