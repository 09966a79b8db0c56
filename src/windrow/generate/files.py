"""Streams as files: pieces of equal time, so that streams read file by file stay abreast."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from windrow.core.errors import InputError

I64 = npt.NDArray[np.int64]

FIRST_WRITTEN = 1_767_225_600
"""When the first file says it was written, in seconds since 1970; the others follow."""


def write_streams(
    folder: Path, streams: Mapping[str, pa.Table], *, pieces: int, first: int = 0, time: str = "ts"
) -> dict[str, list[Path]]:
    """Write ``folder/<stream>/<number>.parquet``, `pieces` a stream, cut at the same times.

    Needs tables in order of their column `time`; numbers count from `first`. Spark reads a folder's
    files in the order of their modification times, which the clock of a fast machine does not
    distinguish: they are set.
    """
    times = {name: table[time].cast(pa.int64()).to_numpy() for name, table in streams.items()}
    bounds = cut_times(times, pieces)
    return {
        name: [
            write_piece(folder / name / f"{n:05}.parquet", piece, FIRST_WRITTEN + n)
            for n, piece in enumerate(cut(table, times[name], bounds), first)
        ]
        for name, table in streams.items()
    }


def cut_times(times: Mapping[str, I64], pieces: int) -> list[int]:
    """Return the times, in µs or ticks, at which the pieces after the first begin."""
    first = min((int(ts[0]) for ts in times.values() if len(ts)), default=0)
    last = max((int(ts[-1]) for ts in times.values() if len(ts)), default=0)
    return [first + (last - first) * n // pieces for n in range(1, pieces)]


def cut(table: pa.Table, times: I64, bounds: list[int]) -> Iterator[pa.Table]:
    """Yield the stretches of a table between bounds."""
    at = [0, *np.searchsorted(times, bounds).tolist(), len(times)]
    yield from (table.slice(low, high - low) for low, high in pairwise(at))


def write_piece(path: Path, table: pa.Table, written: int) -> Path:
    """Write one file, as if at the second `written`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    os.utime(path, (written, written))
    return path


def refuse_used(folder: Path) -> None:
    """Refuse a folder that holds files of another run."""
    if any(folder.glob("*")):
        raise InputError(
            f'"{folder}" is not empty',
            detail="Files of another run would be read as part of this one.",
            hint="Give another folder, or remove that one.",
        )
