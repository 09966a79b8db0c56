"""The streams that the benchmarks run on: made from a seed, shaped by a scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

START = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z in µs: a multiple of every slide that divides a second."""
MILLISECOND = 1_000
SEED = 7

NAMES = ("a", "b")
"""The streams of most benchmarks; a third, "c", is there for joins of three."""


def declaration(name: str) -> str:
    """Return the statement that creates a stream of this data."""
    return f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, src STRING, v DOUBLE) TIMESTAMP BY ts"


STREAMS = tuple(map(declaration, NAMES))

Tables = dict[str, pa.Table]
"""Each stream's tuples, by its name."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of everything. One tuple a millisecond, so `window` counts ms and tuples alike.

    ``window / keys`` is the number of matches that a tuple finds in the other window.
    """

    rows: int = 2_000_000
    window: int = 60_000
    keys: int = 20_000
    sources: int = 2_000
    batch: int = 100_000

    def __post_init__(self) -> None:
        if self.window < 60 or self.window % 60:
            msg = f"a window is a multiple of 60 ms, got {self.window}"
            raise ValueError(msg)

    @classmethod
    def of(cls, rows: int) -> Scale:
        """Return the full scale with everything shrunk in proportion to `rows`."""
        full = cls()
        if rows >= full.rows:
            return cls(rows=rows)
        window = max(1, full.window * rows // (60 * full.rows)) * 60
        return cls(rows, window, window // 3, max(2, window // 30), max(1, min(100_000, rows // 4)))

    def shrunk(self, share: float) -> Scale:
        """Return a share of this scale, its shape kept as far as whole numbers go."""
        if share == 1:
            return self
        window = max(1, round(self.window * share / 60)) * 60
        rows = max(2 * window, round(self.rows * share))
        return Scale(rows, window, window // 3, max(2, window // 30), max(1, rows // 2))

    @property
    def slide(self) -> int:
        """Milliseconds between two refreshes: a sixtieth of the window."""
        return self.window // 60

    @property
    def width(self) -> int:
        """The window in µs."""
        return self.window * MILLISECOND

    @property
    def end(self) -> int:
        """The time of the last tuple."""
        return START + (self.rows - 1) * MILLISECOND


def streams(scale: Scale, seed: int = SEED, names: tuple[str, ...] = NAMES) -> Tables:
    """Return the streams, one tuple a millisecond each; a stream's tuples depend on its name."""
    return {name: stream(scale, seed + "abc".index(name)) for name in names}


def stream(scale: Scale, seed: int) -> pa.Table:
    """Return one stream: k uniform, src skewed as Zipf's law has it, v in [0, 100)."""
    random = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, scale.sources + 1)
    names = pa.array([address(i) for i in range(scale.sources)])
    chosen = random.choice(scale.sources, scale.rows, p=shares / shares.sum())
    ts = START + np.arange(scale.rows) * MILLISECOND
    return pa.table(
        {
            "ts": pa.array(ts).view(pa.timestamp("us", "UTC")),
            "k": random.integers(0, scale.keys, scale.rows),
            "src": names.take(pa.array(chosen)),
            "v": random.random(scale.rows) * 100,
        }
    )


def address(number: int) -> str:
    """Return an IPv4 address.

    >>> address(258)
    '10.0.1.2'
    """
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


PROTOCOLS = {"telnet": 0.1, "ftp": 0.01, "http": 0.89}
"""Shares of the links' tuples: telnet makes ten times the tuples of ftp, as in the thesis."""


def links(ticks: int, sources: int, seed: int = SEED) -> Tables:
    """Return two links of an integer clock, one tuple a tick on each [THESIS 3.6]."""
    return {f"link{n}": link(ticks, sources, seed + n) for n in (1, 2)}


def link(ticks: int, sources: int, seed: int) -> pa.Table:
    """Return one link: src uniform, four destinations a source, a protocol."""
    random = np.random.default_rng(seed)
    hosts = pa.array([address(i) for i in range(sources)])
    targets = pa.array([address(65536 + i) for i in range(4)])
    protocols = pa.array(list(PROTOCOLS))
    kinds = random.choice(len(PROTOCOLS), ticks, p=list(PROTOCOLS.values()))
    return pa.table(
        {
            "t": np.arange(ticks),
            "src": hosts.take(pa.array(random.integers(0, sources, ticks))),
            "dst": targets.take(pa.array(random.integers(0, 4, ticks))),
            "proto": protocols.take(pa.array(kinds)),
        }
    )


LINKS = tuple(
    f"CREATE STREAM link{n} (t BIGINT, src STRING, dst STRING, proto STRING) TIMESTAMP BY t"
    for n in (1, 2)
)
