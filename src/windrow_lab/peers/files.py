"""The files that all engines read: the same tuples as Parquet and as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from windrow_lab.bench.data import MILLISECOND
from windrow_lab.bench.spark.data import Feed, make_feed, shape

PARTS = 2
"""CSV files a stream: one for each of two readers, which take turns in time."""
WARM = 2
"""Micro-batches of windrow on Spark that are not counted."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything: rows a trigger and triggers, for windrow and for its peers.

    Slower peers get fewer rows of the same shape; figures are rows a second. `patience`: seconds a
    workload that those get which hardly come to an end. `shared`: JVMs do all workloads in one
    process.
    """

    share: float
    rows: int
    triggers: int
    peer_rows: int
    peer_triggers: int
    repeats: int
    patience: float
    shared: bool = False


FULL = Size(1.0, 1_000_000, 5, 1_000_000, 3, 3, 150.0)
QUICK = Size(0.1, 240_000, 4, 45_000, 3, 2, 10.0, shared=True)
TINY = Size(0.01, 4_000, 3, 2_000, 2, 1, 120.0)


@dataclass(frozen=True, slots=True)
class Files:
    """The feeds of one workload: one to warm up on and check, ours, and the peers'."""

    folder: Path
    check: Feed
    ours: Feed
    peers: Feed


def make_files(folder: Path, reads: tuple[str, ...], size: Size) -> Files:
    """Write everything that a workload over some streams needs."""
    made = shape(size.share)
    enough = 5 * made.window // 4 * len(reads)  # twice this: two and a half windows a stream
    check = make_feed(folder / "check", made, reads, per_trigger=enough, batches=2)
    ours = make_feed(folder / "ours", made, reads, per_trigger=size.rows, batches=size.triggers)
    peers = make_feed(
        folder / "peers", made, reads, per_trigger=size.peer_rows, batches=size.peer_triggers
    )
    for feed in (check, peers):
        write_csv(feed)
    write_csv(check, header=True)
    return Files(folder, check, ours, peers)


def csv_folder(feed: Feed, *, header: bool = False) -> Path:
    """Return where the CSV files of a feed are: those without a header, or those with."""
    return feed.folder.with_name(f"{feed.folder.name}-{'headed' if header else 'csv'}")


def write_csv(feed: Feed, *, header: bool = False) -> None:
    """Write each stream as CSV files, each of which is in order of time."""
    options = csv.WriteOptions(include_header=header, quoting_style="none")
    for name, table in feed.tables.items():
        folder = csv_folder(feed, header=header) / name
        folder.mkdir(parents=True)
        ms = table["ts"].cast(pa.int64()).to_numpy() // MILLISECOND
        rows = pa.table({"ms": ms, "k": table["k"], "src": table["src"], "v": table["v"]})
        for part in range(PARTS):
            mine = rows.take(pa.array(np.arange(part, len(rows), PARTS)))
            csv.write_csv(mine, folder / f"{part}.csv", options)


def rows_of(feed: Feed) -> int:
    """Return the tuples of all streams of a feed."""
    return sum(len(table) for table in feed.tables.values())
