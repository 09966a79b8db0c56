"""The kernel bars' streams as Parquet files: one file a stream and micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from windrow.generate.files import write_streams
from windrow_lab.bench.data import Scale, Tables, streams

COLUMNS = "ts TIMESTAMP, k BIGINT, src STRING, v DOUBLE"
FULL = 1_000_000
"""Rows a trigger at full size, of all streams that a query reads together."""
SMALLER = 5
"""A small trigger has a fifth of the rows of a large one: 200,000 at full size."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Streams in files, the n-th file of each stream for the n-th micro-batch."""

    folder: Path
    scale: Scale
    tables: Tables
    batches: int

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that are there."""
        return tuple(self.tables)

    def first(self, batches: int) -> Feed:
        """Return the first micro-batches of this feed, in a folder of links to their files."""
        folder = self.folder.with_name(f"{self.folder.name}-first-{batches}")
        for name in self.streams:
            (folder / name).mkdir(parents=True, exist_ok=True)
            for path in sorted((self.folder / name).glob("*.parquet"))[:batches]:
                if not (folder / name / path.name).exists():
                    (folder / name / path.name).hardlink_to(path)
        rows = self.scale.rows * batches // self.batches
        tables = {name: table.slice(0, rows) for name, table in self.tables.items()}
        return Feed(folder, resized(self.scale, rows), tables, batches)


def resized(scale: Scale, rows: int) -> Scale:
    """Return the same shape with other rows."""
    return Scale(rows, scale.window, scale.keys, scale.sources, scale.batch)


def shape(share: float) -> Scale:
    """Return the windows, keys and sources of the kernel bars, or a share of them."""
    return Scale().shrunk(share)


def make_feed(
    folder: Path, shape: Scale, names: Sequence[str], *, per_trigger: int, batches: int
) -> Feed:
    """Write streams in which `per_trigger` rows of all streams together make a micro-batch."""
    each = per_trigger // len(names)
    scale = resized(shape, each * batches)
    tables = streams(scale, names=tuple(names))
    write_streams(folder, tables, pieces=batches)
    return Feed(folder, scale, tables, batches)


def add_empty(feed: Feed, batches: int) -> None:
    """Let micro-batches without a row follow."""
    empty: dict[str, pa.Table] = {name: table.slice(0, 0) for name, table in feed.tables.items()}
    write_streams(feed.folder, empty, pieces=batches, first=feed.batches)
