"""Streams as files: pieces of equal time, so that streams read file by file stay abreast."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FIRST_WRITTEN = 1_767_225_600
"""When the first file says it was written, in seconds since 1970; the others follow."""


def write_streams(
    folder: Path, streams: Mapping[str, pa.Table], *, pieces: int, first: int = 0
) -> dict[str, list[Path]]:
    """Write ``folder/<stream>/<number>.parquet``, `pieces` a stream, cut at the same times.

    Needs tables in order of their column `ts`; numbers count from `first`. Spark reads a folder's
    files in the order of their modification times, which the clock of a fast machine does not
    tell apart: they are set.
    """
    bounds = cut_times(streams, pieces)
    return {
        name: [
            write_piece(folder / name / f"{n:05}.parquet", piece, FIRST_WRITTEN + n)
            for n, piece in enumerate(cut(table, bounds), first)
        ]
        for name, table in streams.items()
    }


def cut_times(streams: Mapping[str, pa.Table], pieces: int) -> list[int]:
    """Return the times, in µs, at which the pieces after the first begin."""
    times = [table["ts"].cast(pa.int64()) for table in streams.values() if len(table)]
    first = min((column[0].as_py() for column in times), default=0)
    last = max((column[-1].as_py() for column in times), default=0)
    return [first + (last - first) * n // pieces for n in range(1, pieces)]


def cut(table: pa.Table, bounds: list[int]) -> Iterator[pa.Table]:
    """Yield the stretches of a table between bounds."""
    ts = table["ts"].cast(pa.int64()).to_numpy()
    at = [0, *np.searchsorted(ts, bounds).tolist(), len(ts)]
    yield from (table.slice(low, high - low) for low, high in pairwise(at))


def write_piece(path: Path, table: pa.Table, written: int) -> Path:
    """Write one file, as if at the second `written`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    os.utime(path, (written, written))
    return path
