"""Nexmark as Parquet files: one folder a stream, each file a stretch of events.

DIR/person/00000.parquet ...   DIR/auction/...   DIR/bid/...   the n-th of each: the same stretch
DIR/side_input/00000.parquet   the relation of q13
DIR/streams.cql                declares them
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from windrow.generate.files import FIRST_WRITTEN, refuse_used, write_piece
from windrow_lab.generate.nexmark.declarations import declarations
from windrow_lab.generate.nexmark.events import SIDE_INPUT, STREAMS, side_input, stretch
from windrow_lab.generate.nexmark.scale import Nexmark, forgetting

SCRIPT = "streams.cql"


def write_nexmark(folder: Path, scale: Nexmark, *, files: int) -> Iterator[int]:
    """Write all events, and yield how many each stretch had as it is done.

    Stretches are made by as many threads as there are processors: NumPy and Arrow let go of the
    interpreter while they work. Refuses folders that are not empty.
    """
    for name in (*STREAMS, SIDE_INPUT):
        refuse_used(folder / name)
    write_piece(folder / SIDE_INPUT / "00000.parquet", side_input(), FIRST_WRITTEN)
    note = f"-- Note: {warning}.\n" if (warning := forgetting(scale)) else ""
    (folder / SCRIPT).write_text(note + declarations(scale, folder.resolve()), encoding="utf-8")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda n: write_stretch(folder, scale, n, files), range(files))


def write_stretch(folder: Path, scale: Nexmark, number: int, files: int) -> int:
    """Write one stretch of so many equal ones: a file a stream."""
    low, high = (scale.events * n // files for n in (number, number + 1))
    for name, table in stretch(scale, low, high).items():
        write_piece(folder / name / f"{number:05}.parquet", table, FIRST_WRITTEN + number)
    return high - low
