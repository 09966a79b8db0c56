r"""One file of a shard's log: rows by port as Arrow, and the times of the batch.

    bytes    what
    8        "windrow\0"
    ...      Arrow IPC messages, each at a multiple of 64: a schema, then record batches, a port
    ...      the footer: JSON, UTF-8
    8        length of the footer
    4        CRC-32 of the footer
    4        version of this format
    8        "windrow\0"

The footer says where each message lies, and holds a CRC-32 of everything before it, so that it can
be believed on its own: who lists a checkpoint reads no rows.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.runtime.shards.clocks import BatchClock
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.files import Draft, Files
from windrow.runtime.shards.wire import batch_clock_from_json, batch_clock_to_json

MAGIC = b"windrow\0"
FORMAT = 1
TAIL = struct.Struct("<QII8s")
ALIGNMENT = 64
FOOTER_GUESS = 1 << 16
"""Bytes to read from the end of a file: nearly always the whole footer."""

INGEST, STEP = "ingest", "step"


@dataclass(frozen=True, slots=True)
class LogStep:
    """Which part of which version: what a log file is named by, in the order of replay.

    >>> str(LogStep(12, 0, INGEST)), LogStep.named("000000000012-1.step")
    ('000000000012-0.ingest', LogStep(version=12, level=1, kind='step'))
    """

    version: int
    level: int
    kind: str

    def __str__(self) -> str:
        return f"{self.version:012}-{self.level}.{self.kind}"

    @classmethod
    def named(cls, name: str) -> LogStep | None:
        """Return what a file name says; None if it is no log file's."""
        stem, _, kind = name.partition(".")
        version, _, level = stem.partition("-")
        if kind not in (INGEST, STEP) or not (version.isdecimal() and level.isdecimal()):
            return None
        return cls(int(version), int(level), kind)


@dataclass(slots=True)
class Messages:
    """Where the rows of one port lie: pairs of place and length."""

    schema: tuple[int, int]
    batches: list[tuple[int, int]] = field(default_factory=list)
    rows: int = 0


@dataclass(slots=True)
class Footer:
    """What a log file holds. `after` is the version that its shard was at before this one."""

    shard: int
    step: LogStep
    after: int
    batch_clock: BatchClock | None
    ports: dict[int, Messages]
    checksum: int

    @property
    def rows(self) -> int:
        """How many rows the file holds."""
        return sum(p.rows for p in self.ports.values())

    def to_bytes(self) -> bytes:
        """Return the footer as JSON."""
        ports = [[n, p.schema, p.batches, p.rows] for n, p in self.ports.items()]
        return json.dumps(
            {
                "shard": self.shard,
                "step": [self.step.version, self.step.level, self.step.kind],
                "after": self.after,
                "moment": None
                if self.batch_clock is None
                else batch_clock_to_json(self.batch_clock),
                "ports": ports,
                "checksum": self.checksum,
            }
        ).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Footer:
        """Return the footer that `to_bytes` wrote."""
        read = json.loads(raw)
        ports = {
            n: Messages(tuple(schema), [(place, size) for place, size in batches], rows)
            for n, schema, batches, rows in read["ports"]
        }
        batch_clock = None if read["moment"] is None else batch_clock_from_json(read["moment"])
        step = LogStep(*read["step"])
        head = (read["shard"], step, read["after"], batch_clock)
        return cls(*head, ports, read["checksum"])


class EntryWriter:
    """A log file that is being written: messages as they come, in the form in which they came."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.size = 0
        self._crc = 0
        self._ports: dict[int, Messages] = {}
        self._put(MAGIC)

    def _put(self, raw: Any) -> tuple[int, int]:
        length = memoryview(raw).nbytes
        place = self.size
        for part in (raw, bytes(-length % ALIGNMENT)):
            self.draft.write(part)
            self._crc = zlib.crc32(part, self._crc)
        self.size += length + -length % ALIGNMENT
        return place, length

    @property
    def rows(self) -> int:
        """How many rows have come so far."""
        return sum(p.rows for p in self._ports.values())

    def open_port(self, port: int, schema: pa.Buffer) -> None:
        """Begin the rows of a port."""
        self._ports[port] = Messages(self._put(schema))

    def add(self, port: int, message: pa.Buffer, rows: int) -> None:
        """Append one record batch, as the message that it is."""
        messages = self._ports[port]
        messages.batches.append(self._put(message))
        messages.rows += rows
        fault("half-log-write")

    def publish(
        self, shard: int, step: LogStep, after: int, batch_clock: BatchClock | None
    ) -> None:
        """Write the end; let the file appear under its name."""
        footer = Footer(shard, step, after, batch_clock, self._ports, self._crc).to_bytes()
        tail = TAIL.pack(len(footer), zlib.crc32(footer), FORMAT, MAGIC)
        self.draft.write(footer + tail)
        self.size += len(footer) + len(tail)
        fault("before-log-rename")
        self.draft.publish()
        fault("after-log-rename")


def read_footer(files: Files, path: str) -> Footer:
    """Return what a log file says of itself, without its rows; `StateError` if it is damaged."""
    raw = files.tail(path, FOOTER_GUESS)
    length = _footer_length(raw, path)
    if length + TAIL.size > len(raw) == FOOTER_GUESS:
        raw = files.tail(path, length + TAIL.size)
    return _footer(raw, path)


def _footer_length(raw: bytes | memoryview, path: str) -> int:
    if len(raw) < TAIL.size:
        raise damaged(path, "it is cut short")
    length, _, version, magic = TAIL.unpack(raw[-TAIL.size :])
    if magic != MAGIC:
        raise damaged(path, "it does not end as a log file does")
    if version != FORMAT:
        raise damaged(path, f"it has format {version}, and this windrow reads format {FORMAT}")
    return int(length)


def _footer(raw: bytes | memoryview, path: str) -> Footer:
    length = _footer_length(raw, path)
    footer = raw[-TAIL.size - length : -TAIL.size]
    if len(footer) != length or zlib.crc32(footer) != TAIL.unpack(raw[-TAIL.size :])[1]:
        raise damaged(path, "the checksum of its footer does not fit")
    return Footer.from_bytes(bytes(footer))


@dataclass(slots=True)
class LogEntry:
    """A log file that was read and found whole."""

    footer: Footer
    body: pa.Buffer

    def tables(self) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of each port, as they were given. Nothing is copied."""
        for port, messages in self.footer.ports.items():
            schema = pa.ipc.read_schema(self.body.slice(*messages.schema))
            batches = [
                pa.ipc.read_record_batch(self.body.slice(*at), schema) for at in messages.batches
            ]
            yield port, pa.Table.from_batches(batches, schema)


def read_entry(files: Files, path: str) -> LogEntry:
    """Return a whole log file; `StateError` if any byte of it is not as it was written."""
    body = files.read(path)
    raw = memoryview(body)
    footer = _footer(raw, path)
    end = len(raw) - TAIL.size - _footer_length(raw, path)
    if zlib.crc32(raw[:end]) != footer.checksum:
        raise damaged(path, "the checksum of its rows does not fit")
    return LogEntry(footer, body)


def damaged(path: str, reason: str) -> StateError:
    """Return the error of a file that is not as it was written."""
    return StateError(
        f"{path} is damaged",
        detail=f"Found that {reason}.",
        hint="Bring the file back from a copy, or start the query anew with an empty checkpoint.",
    )
