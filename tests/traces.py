"""Real traces: Zeek's logs of three days at one host, in the order in which they were written.

Zeek writes a connection when it ends, so its log is not in the order of its times: a third of the
rows lie behind a later one, most by under a minute and a half, the worst by more than an hour.

The traces are not part of the project. They are read from the folder that ``WINDROW_DATA`` names,
or from ``../shared/data`` beside the project; tests that want them skip where they are not.
`drawn` makes streams with the same kind of disorder, for everywhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import compute, csv

ENVIRONMENT = "WINDROW_DATA"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
SECOND = 1_000_000

Rows = np.ndarray


@dataclass(frozen=True, slots=True)
class Trace:
    """A stream as it arrived: its rows in that order, and when each could have been heard of."""

    rows: pa.Table
    ts: Rows
    arrival: Rows

    def batches(self, width: int) -> list[pa.Table]:
        """Cut what arrived into stretches of time, of `width` µs."""
        stretch = (self.arrival - self.arrival[0]) // width
        bounds = np.searchsorted(stretch, np.arange(stretch[-1] + 2))
        return [self.rows.slice(low, high - low) for low, high in pairwise(bounds)]


def folder() -> Path:
    """Return the folder of real traces, which may not exist."""
    return Path(os.environ.get(ENVIRONMENT) or BESIDE)


def zeek(log: str, columns: dict[str, str], hours: int) -> Trace:
    """Return the first hours of a log; `columns` are its names by ours, `ts` comes by itself."""
    path = folder() / "zeek-3day" / f"{log}.tsv.gz"
    if not path.exists():
        pytest.skip(f"{ENVIRONMENT} names no folder with zeek-3day, nor does one lie beside")
    read = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
        convert_options=csv.ConvertOptions(
            null_values=["-"], strings_can_be_null=True, column_types={"ts": pa.decimal128(18, 6)}
        ),
    ).sort_by("log_seq")
    moments = compute.multiply(read["ts"], pa.scalar(SECOND)).cast(pa.int64()).to_numpy()
    arrival = np.maximum.accumulate(moments)
    kept = int(np.searchsorted(arrival, moments.min() + hours * 3600 * SECOND))
    times = pa.array(moments).cast(pa.timestamp("us", tz="UTC"))
    made = {"ts": times, **{ours: read[theirs] for ours, theirs in columns.items()}}
    return Trace(pa.table(made).slice(0, kept), moments[:kept], arrival[:kept])


def drawn(seed: int, rows: int) -> dict[str, Trace]:
    """Return connections and requests of a day, a third of them in disorder, as Zeek's are."""
    rng = np.random.default_rng(seed)
    made = {}
    for name, share in (("conn", 1), ("http", 3)):
        count = rows // share
        ts = np.sort(rng.integers(0, 24 * 3600 * SECOND, count)) + 1_713_484_800 * SECOND
        delay = np.where(rng.random(count) < 0.35, rng.lognormal(2.5, 1.5, count), 0) * SECOND
        order = np.argsort(ts + delay.astype(np.int64), kind="stable")
        uid, src = rng.integers(0, rows // 2, count), rng.zipf(1.4, count) % 500
        columns: dict[str, pa.Array] = {
            "ts": pa.array(ts).cast(pa.timestamp("us", tz="UTC")),
            "uid": pa.array(uid).cast(pa.string()),
            "src": pa.array(src).cast(pa.string()),
        }
        if name == "conn":
            columns["service"] = pa.array(rng.choice(["ssh", "http", "dns"], count))
            columns["bytes"] = pa.array(rng.integers(0, 5000, count))
        else:
            columns["status"] = pa.array(rng.choice([200, 404], count))
        table = pa.table(columns).take(pa.array(order))
        made[name] = Trace(table, ts[order], np.maximum.accumulate(ts[order]))
    return made


def on_time(batches: list[pa.Table], slack: int) -> list[Rows]:
    """Tell of each row of each batch whether it is in time: the definition.

    It is late if it lies behind the newest time of all earlier batches, less the slack.
    """
    newest, told = None, []
    for batch in batches:
        ts = batch["ts"].cast(pa.int64()).to_numpy()
        told.append(np.ones(len(ts), bool) if newest is None else ts >= newest - slack)
        if len(ts):
            newest = int(ts.max()) if newest is None else max(newest, int(ts.max()))
    return told
