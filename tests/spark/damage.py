"""Folders of files, some of them damaged: what is there, and what of it counts."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

Row = tuple[int, int, str]
"""A tuple of the stream: t, k, w."""

DECLARED = "t BIGINT, k BIGINT, w STRING"


def parquet(rows: list[Row], path: Path) -> None:
    pq.write_table(table_of(rows), path)


def orc_file(rows: list[Row], path: Path) -> None:
    orc.write_table(table_of(rows), path)


def csv_file(rows: list[Row], path: Path) -> None:
    path.write_text("t,k,w\n" + "".join(f"{t},{k},{w}\n" for t, k, w in rows))


def json_file(rows: list[Row], path: Path) -> None:
    path.write_text("".join(json.dumps({"t": t, "k": k, "w": w}) + "\n" for t, k, w in rows))


def table_of(rows: list[Row]) -> pa.Table:
    t, k, w = zip(*rows, strict=True)
    return pa.table({"t": pa.array(t, pa.int64()), "k": pa.array(k, pa.int64()), "w": w})


WRITERS: dict[str, Callable[[list[Row], Path], None]] = {
    "parquet": parquet,
    "orc": orc_file,
    "csv": csv_file,
    "json": json_file,
}


def rewritten(path: Path, **columns: pa.Array) -> None:
    """Give columns of a Parquet or ORC file other values."""
    is_orc = path.suffix == ".orc"
    table = orc.read_table(path) if is_orc else pq.read_table(path)
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    (orc.write_table if is_orc else pq.write_table)(table, path)


def renamed(path: Path, names: list[str | None]) -> None:
    """Rename the columns of a Parquet or ORC file; None drops one."""
    is_orc = path.suffix == ".orc"
    table = orc.read_table(path) if is_orc else pq.read_table(path)
    dropped = [c for c, n in zip(table.schema.names, names, strict=True) if n is None]
    table = table.drop(dropped).rename_columns([n for n in names if n is not None])
    (orc.write_table if is_orc else pq.write_table)(table, path)


def garbage(path: Path) -> None:
    path.write_bytes(b"\xff\xfegarbage" * 40)


def cut(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def torn_page(path: Path) -> None:
    """Damage the data of a Parquet file; its footer stays as it was."""
    whole = bytearray(path.read_bytes())
    whole[8:40] = b"\x99" * 32
    path.write_bytes(whole)


def texts(path: Path) -> None:
    rewritten(path, k=pa.array(["x"] * _rows(path)))


def reals(path: Path) -> None:
    rewritten(path, k=pa.array([0.5] * _rows(path)))


def parts(path: Path) -> None:
    rewritten(path, k=pa.array([{"a": 1}] * _rows(path)))


def no_time(path: Path) -> None:
    renamed(path, [None, "k", "w"])


def _rows(path: Path) -> int:
    table = orc.read_table(path) if path.suffix == ".orc" else pq.read_table(path)
    return int(table.num_rows)


def latin(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"w", b"\xe9", 1))


def wide_letters(path: Path) -> None:
    path.write_bytes(path.read_text().encode("utf-16"))


def other_header(path: Path) -> None:
    path.write_text(path.read_text().replace("t,k,w", "k,t,w", 1))


def shorter_header(path: Path) -> None:
    path.write_text("t,w\n1,a\n")


Damage = Callable[[Path], None]

UNREADABLE: dict[str, dict[Damage, str]] = {
    "parquet": {
        garbage: "Parquet magic bytes not found",
        cut: "Parquet magic bytes not found",
        empty: "it is empty",
        torn_page: "",
        texts: 'its column "k" is STRING, and is read as BIGINT',
        reals: 'its column "k" is DOUBLE, and is read as BIGINT',
        parts: 'its column "k" is STRUCT<a: BIGINT>, and is read as BIGINT',
        no_time: 'it has no column "t"',
    },
    "orc": {
        garbage: "",
        cut: "",
        empty: "it is empty",
        texts: 'its column "k" is STRING, and is read as BIGINT',
        reals: 'its column "k" is DOUBLE, and is read as BIGINT',
        no_time: 'it has no column "t"',
    },
    "csv": {
        garbage: "it is not UTF-8: byte 0 is 0xff",
        latin: "it is not UTF-8: byte 4 is 0xe9",
        wide_letters: "it is not UTF-8: byte 0 is 0xff",
        other_header: "its columns are others, or elsewhere. Its header is k,t,w; t,k,w is read",
        shorter_header: 'it has no column "k". Its header is t,w; t,k,w is read',
    },
    "json": {
        garbage: "it is not UTF-8: byte 0 is 0xff",
        latin: "it is not UTF-8",
        wide_letters: "it is not UTF-8: byte 0 is 0xff",
    },
}
"""Of each format what makes a file unreadable, and what is said of it."""


@dataclass(slots=True)
class Folder:
    """The files of a stream. Each is as if written a second after the one before."""

    path: Path
    format: str
    counted: list[Row] = field(default_factory=list)
    damaged: dict[str, Damage] = field(default_factory=dict)
    written: int = 0

    def add(self, rows: list[Row], damage: Damage | None = None, *, packed: bool = False) -> Path:
        """Write a file, and damage it; its rows count if it stays whole."""
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / f"{self.written:04} é.{self.format}"
        WRITERS[self.format](rows, path)
        if packed:
            whole = path.read_bytes()
            path.unlink()
            path = path.with_name(path.name + ".gz")
            path.write_bytes(gzip.compress(whole))
        if damage is None:
            self.counted += rows
        else:
            damage(path)
            self.damaged[path.name] = damage
        os.utime(path, (1_700_000_000 + self.written,) * 2)
        self.written += 1
        return path

    def grow(self, random: Random, files: int, share: float) -> None:
        """Add files of random rows in the order of their times, of which a share is damaged."""
        kinds = list(UNREADABLE[self.format])
        for _ in range(files):
            first = self.written * 10
            times = [random.randrange(first, first + 10) for _ in range(random.randint(1, 9))]
            rows = [(t, random.randrange(4), random.choice("abc")) for t in sorted(times)]
            self.add(rows, random.choice(kinds) if random.random() < share else None)

    def declaration(self, name: str = "s", extra: str = "", columns: str = DECLARED) -> str:
        """Return the stream of the folder."""
        header = ", header 'true'" if self.format == "csv" else ""
        options = f"path '{self.path}'{header}{extra}"
        return (
            f"CREATE STREAM {name} ({columns}) USING {self.format} OPTIONS ({options}) "
            "TIMESTAMP BY t;\n"
        )
