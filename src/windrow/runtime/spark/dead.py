"""Dead letters: rows that no query could use, kept with their reason.

    DIR/dead/<stream>/000000000012-0.poison.parquet      did not fit their declaration
    DIR/dead/<stream>/000000000012-0.late.parquet        came behind the clock
    DIR/dead/<stream>/000000000012-0.unreadable.parquet  whole files, see `unreadable.py`

One file a version, shard and kind, that appears whole: a batch that is run again writes the same
file again. Columns: `_reason`, `_row` (JSON), `_version`.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.runtime.shards.files import Files, open_files

FOLDER = "dead"
POISON, LATE, UNREADABLE = "poison", "late", "unreadable"
SUFFIX = ".parquet"

Letter = tuple[str, str]
"""The reason, and the row as JSON."""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Where one shard keeps the dead letters of one version."""

    checkpoint: str
    version: int
    shard: int

    def write(self, stream: str, kind: str, letters: list[Letter]) -> None:
        """Keep rows of one stream: all that this version has of the kind."""
        columns = list(zip(*letters, strict=True)) or [(), ()]
        table = pa.table(
            {
                "_reason": pa.array(columns[0], pa.string()),
                "_row": pa.array(columns[1], pa.string()),
                "_version": pa.array([self.version] * len(letters), pa.int64()),
            }
        )
        raw = io.BytesIO()
        pq.write_table(table, raw)
        name = f"{self.version:012}-{self.shard}.{kind}{SUFFIX}"
        draft = open_files(self.checkpoint).draft(f"{FOLDER}/{quote(stream, safe='')}/{name}")
        draft.write(raw.getbuffer())
        draft.publish()
        draft.sync()


def late_letters(table: pa.Table, time: str, *, moments: bool) -> list[Letter]:
    """Return late tuples as letters, their times under the stream's own column."""
    ts = table["_ts"].cast(pa.timestamp("us", tz="UTC")) if moments else table["_ts"]
    own = [name for name in table.schema.names if not name.startswith("_")]
    rows = pa.table({time: ts, **{name: table[name] for name in own}}).to_pylist()
    return [("late", json.dumps(row, default=str, ensure_ascii=False)) for row in rows]


def read_dead(checkpoint: str, stream: str) -> pa.Table:
    """Return all dead letters of a stream so far."""
    files = open_files(checkpoint)
    folder = f"{FOLDER}/{quote(stream, safe='')}"
    tables = [
        pq.read_table(pa.BufferReader(files.read(f"{folder}/{name}")))
        for name in sorted(files.sizes(folder))
        if name.endswith(SUFFIX)
    ]
    if tables:
        return pa.concat_tables(tables)
    text = pa.string()
    return pa.schema({"_reason": text, "_row": text, "_version": pa.int64()}.items()).empty_table()


def count_dead(checkpoint: str) -> dict[str, dict[str, int]]:
    """Return how many rows of each stream are dead letters, by kind."""
    return _count(checkpoint, (POISON, LATE))


def count_unreadable(checkpoint: str) -> dict[str, int]:
    """Return how many whole files of each stream are dead letters."""
    counted = _count(checkpoint, (UNREADABLE,))
    return {stream: kinds[UNREADABLE] for stream, kinds in counted.items() if kinds[UNREADABLE]}


def _count(checkpoint: str, kinds: tuple[str, ...]) -> dict[str, dict[str, int]]:
    files = open_files(checkpoint)
    found: dict[str, dict[str, int]] = {}
    for folder in files.folders(FOLDER):
        counts = dict.fromkeys(kinds, 0)
        for name in files.sizes(f"{FOLDER}/{folder}"):
            kind = name.removesuffix(SUFFIX).rpartition(".")[2]
            if name.endswith(SUFFIX) and kind in counts:
                counts[kind] += _rows(files, f"{FOLDER}/{folder}/{name}")
        found[unquote(folder)] = counts
    return found


def _rows(files: Files, path: str) -> int:
    source: Any = pa.BufferReader(files.read(path))
    return int(pq.read_metadata(source).num_rows)
