"""What goes over the socket between a shard's process and those who feed it.

A message is four bytes with the length of its head, eight with that of its body, the head (JSON)
and the body (an Arrow IPC message, or nothing). Rows and answers are a schema for each port or
output, then record batches, then ``{"end": true}``. A hundred megabytes cross in 0.1 s; by way of
a file in shared memory they took twice as long.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.core import errors
from windrow.core.errors import WindrowError
from windrow.runtime.shards.clocks import BatchClock, InputTimes


@dataclass(slots=True)
class Stepped:
    """What a level gave: rows for ports of the next, changes by output, and what came too late."""

    forwarded: dict[int, pa.Table] = field(default_factory=dict)
    changes: dict[int, pa.Table] = field(default_factory=dict)
    late: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The size of all tables."""
        parts = (self.forwarded, self.changes, self.late)
        return sum(table.nbytes for part in parts for table in part.values())


def joined(pieces: list[Stepped]) -> Stepped:
    """Return what was given bit by bit as one."""
    whole = Stepped()
    for name in ("forwarded", "changes", "late"):
        tables: dict[int | str, list[pa.Table]] = {}
        for piece in pieces:
            for key, table in getattr(piece, name).items():
                tables.setdefault(key, []).append(table)
        getattr(whole, name).update({key: pa.concat_tables(t) for key, t in tables.items()})
    return whole


HEAD = struct.Struct("<IQ")
CHUNK_ROWS = 1 << 17
"""Rows of an answer that go at once, so that both sides work at the same time."""
SOCKET_BUFFER = 4 << 20

Head = dict[str, Any]


class ClosedError(ConnectionError):
    """The other side is gone."""


def tune(connection: socket.socket) -> socket.socket:
    """Give a connection room for large messages."""
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
    return connection


def send(connection: socket.socket, head: Head, body: Any = b"") -> None:
    """Send one message."""
    text = json.dumps(head).encode()
    raw = memoryview(body)
    connection.sendall(HEAD.pack(len(text), raw.nbytes) + text)
    if raw.nbytes:
        connection.sendall(raw)


def receive(connection: socket.socket) -> tuple[Head, pa.Buffer]:
    """Return the next message; raise `ClosedError` at the end."""
    length, size = HEAD.unpack(_exactly(connection, HEAD.size))
    head = json.loads(bytes(_exactly(connection, length)))
    assert isinstance(head, dict), "the head of a message is a dict"
    return head, _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> pa.Buffer:
    buffer = pa.allocate_buffer(size)
    rest = memoryview(buffer)
    while rest:
        got = connection.recv_into(rest)
        if not got:
            raise ClosedError("the other side has closed the connection")
        rest = rest[got:]
    return buffer


def send_rows(
    connection: socket.socket, rows: Iterable[tuple[int, pa.RecordBatch]], compression: str | None
) -> Iterator[int]:
    """Send rows by port, then the end; yield after each batch."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    schemas: dict[int, pa.Schema] = {}
    for port, batch in rows:
        if port not in schemas:
            schemas[port] = batch.schema
            send(connection, {"rows": port, "schema": True}, batch.schema.serialize())
        assert batch.schema.equals(schemas[port]), "all rows of a port have the same columns"
        if batch.num_rows:
            message = serialized(batch, options)
            send(connection, {"rows": port, "count": batch.num_rows}, message)
            yield port
    send(connection, {"end": True})


def serialized(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> pa.Buffer:
    """Return a batch as one IPC message."""
    if options.compression is None:
        return batch.serialize()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
        end = sink.tell()
    begin = batch.schema.serialize().size  # the stream's own schema comes first
    return sink.getvalue().slice(begin, end - begin)


def send_piece(connection: socket.socket, answer: Stepped) -> Iterator[None]:
    """Send what a step made, or a slice of it; yield after each batch. `send_end` comes last."""
    for part in ("forwarded", "changes", "late"):
        for key, table in getattr(answer, part).items():
            head = {"part": part, "key": key}
            send(connection, {**head, "schema": True}, table.schema.serialize())
            for batch in table.to_batches(max_chunksize=CHUNK_ROWS):
                send(connection, head, batch.serialize())
                yield


def send_end(connection: socket.socket, stats: Mapping[str, object]) -> None:
    """Send the end of an answer, with the report of the shard."""
    send(connection, {"end": True, "stats": stats})


Piece = tuple[str, int | str, pa.Schema, pa.RecordBatch | None]
"""A part of an answer ("forwarded", "changes", "late"), its key, its schema, and some rows."""


def receive_answer(connection: socket.socket) -> Generator[Piece, None, dict[str, object]]:
    """Yield an answer as it comes: for each table its schema without rows, then its batches.

    Returns the report of the shard.
    """
    schemas: dict[tuple[str, int | str], pa.Schema] = {}
    while True:
        head, body = receive(connection)
        if "end" in head:
            return dict(head["stats"])
        raise_error(head)
        part, key = head["part"], head["key"]
        if "schema" in head:
            schemas[part, key] = pa.ipc.read_schema(body)
            yield part, key, schemas[part, key], None
        else:
            schema = schemas[part, key]
            yield part, key, schema, pa.ipc.read_record_batch(body, schema)


def collected(pieces: Iterable[Piece]) -> Stepped:
    """Return an answer as tables."""
    found: dict[tuple[str, int | str], tuple[pa.Schema, list[pa.RecordBatch]]] = {}
    for part, key, schema, batch in pieces:
        _, batches = found.setdefault((part, key), (schema, []))
        if batch is not None:
            batches.append(batch)
    answer = Stepped({}, {}, {})
    for (part, key), (schema, batches) in found.items():
        getattr(answer, part)[key] = pa.Table.from_batches(batches, schema)
    return answer


TIMES_KEY = "heard"
"""The key of the inputs' times in log files of format 1."""


def times_to_json(times: Mapping[str, InputTimes]) -> Head:
    """Return the times of inputs as plain values."""
    return {name: [h.first, h.newest, h.rows] for name, h in times.items()}


def times_from_json(plain: Head) -> dict[str, InputTimes]:
    """Return the times of `times_to_json`."""
    return {name: InputTimes(*times) for name, times in plain.items()}


def batch_clock_to_json(batch_clock: BatchClock) -> Head:
    """Return a batch clock as plain values, under the keys that log files have."""
    times = times_to_json(batch_clock.times)
    return {TIMES_KEY: times, "wall": batch_clock.wall, "drain": batch_clock.drain}


def batch_clock_from_json(plain: Head) -> BatchClock:
    """Return the batch clock of `batch_clock_to_json`."""
    return BatchClock(times_from_json(plain[TIMES_KEY]), plain["wall"], plain["drain"])


def error_head(error: BaseException, trace: str) -> Head:
    """Return an error as the head of a message: a user's error in its parts, a bug as its trace."""
    if isinstance(error, WindrowError):
        parts = {"message": error.message, "detail": error.detail, "hint": error.hint}
        return {"error": {"class": type(error).__name__, **parts}}
    return {"error": {"class": "", "message": trace}}


class ShardError(RuntimeError):
    """A shard's process met a bug; the text is its trace."""


def raise_error(head: Head) -> None:
    """Raise the error that a head holds, if it holds one."""
    error = head.get("error")
    if error is None:
        return
    kind = getattr(errors, error["class"], None)
    if kind is None:
        raise ShardError(error["message"])
    raise kind(error["message"], detail=error["detail"], hint=error["hint"])
