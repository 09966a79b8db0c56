"""The traces that the queries run on: links of an integer clock, one connection a tick on average.

`lbl` is generated, with the proportions that the thesis states of its trace; `lbl-zipf` is the same
but that ftp and telnet are used by all sources, not alike by some. `zeek` is real: three days at
one host, cut into three links by the clients' port; its clock counts every third connection. It is
not part of the project: it is read from the folder that ``WINDROW_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from windrow.core.errors import InputError
from windrow_lab.generate.lbl import Lbl, lbl

ENVIRONMENT = "WINDROW_DATA"
LINKS = 3
COLUMNS = "t BIGINT, src STRING, dst STRING, proto STRING, bytes BIGINT"
STREAMS = tuple(f"CREATE STREAM link{n} ({COLUMNS}) TIMESTAMP BY t" for n in range(1, LINKS + 1))


@dataclass(frozen=True, slots=True)
class Trace:
    """Links, and which protocols play the parts of ftp (rare) and telnet (frequent)."""

    tables: dict[str, pa.Table]
    rare: str
    frequent: str
    description: str

    @property
    def ticks(self) -> int:
        """Return how many ticks all links cover."""
        return min(int(table["t"][-1].as_py()) + 1 for table in self.tables.values())

    def between(self, link: str, low: int, high: int) -> pa.Table:
        """Return a link's connections of the ticks ``[low, high)``."""
        table = self.tables[link]
        start, end = np.searchsorted(table["t"].to_numpy(), (low, high)).tolist()
        return table.slice(start, end - start)


@dataclass(frozen=True, slots=True)
class LinkFeed:
    """The links that a query reads, with windows of one width."""

    trace: Trace
    reads: tuple[str, ...]
    window: int

    @property
    def statements(self) -> Sequence[str]:
        """What declares the links."""
        return STREAMS

    def part(self, low: int, high: int) -> dict[str, pa.Table]:
        """Return the connections of the ticks ``[low, high)``."""
        return {name: self.trace.between(name, low, high) for name in self.reads}

    def alive(self, now: int) -> dict[str, pa.Table]:
        """Return the connections in the windows at an instant."""
        return self.part(now - self.window + 1, now + 1)


def load(name: str, ticks: int, seed: int) -> Trace:
    """Return a trace by its name; a real one has as many ticks as it has."""
    if name == "zeek":
        return zeek()
    users = name == "lbl"
    option = "" if users else " --no-users"
    tables = lbl(Lbl(ticks, LINKS, seed, users))
    description = f"Trace: generated with LBL's proportions (`windrow generate lbl{option}`)."
    return Trace(tables, "ftp", "telnet", description)


def zeek() -> Trace:
    """Return the real trace: ssh for telnet, http for ftp."""
    read = csv.read_csv(
        zeek_path(),
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
        convert_options=csv.ConvertOptions(
            null_values=["-"],
            strings_can_be_null=True,
            column_types={"ts": pa.decimal128(18, 6), "service": pa.string()},
        ),
    ).sort_by([("ts", "ascending"), ("log_seq", "ascending")])
    place = compute.binary_join_element_wise(
        read["id.resp_h"], read["id.resp_p"].cast(pa.string()), ":"
    )
    whole = pa.table(
        {
            "t": np.arange(len(read)) // LINKS,
            "src": read["id.orig_h"],
            "dst": place,
            "proto": read["service"].fill_null("other"),
            "bytes": read["orig_bytes"].cast(pa.int64()).fill_null(0),
        }
    ).combine_chunks()
    number = read["id.orig_p"].to_numpy() % LINKS
    tables = {f"link{n + 1}": whole.filter(pa.array(number == n)) for n in range(LINKS)}
    description = (
        "Trace: three days of Zeek's connections at one host, cut into links by client port; "
        "http stands for ftp, ssh for telnet."
    )
    return Trace(tables, "http", "ssh", description)


def zeek_path() -> Path:
    """Return where the real trace is, in the folder that the environment names."""
    named = os.environ.get(ENVIRONMENT)
    path = Path(named or "") / "zeek-3day" / "conn.tsv.gz"
    if not named or not path.exists():
        unset = f"The environment variable {ENVIRONMENT} is not set."
        empty = f"The folder that {ENVIRONMENT} names has no zeek-3day/conn.tsv.gz."
        raise InputError(
            "the real trace is not here",
            detail=empty if named else unset,
            hint=f"Set {ENVIRONMENT} to the folder that has it, or use --trace lbl, which is "
            "generated.",
        )
    return path
