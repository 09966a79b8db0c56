"""Connections on three links of a network: skewed, bursty, and the same for the same seed.

Hosts open sessions; a session is a run of connections of one host to one destination, over one
protocol, on one link, a little apart in time:

    host ─┬─ session ── ● ─ ●● ── ● ─── ●          (https, link1)
          └─ session ──────── ● ── ● ●             (dns, link2)
                                                    ──► time

Who talks is Zipf's law, how much is Pareto's: a few hosts make most sessions, a few connections
carry most bytes. Each host is at home on some of the links only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

START = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z in µs."""
SECOND = 1_000_000
LINKS = ("link1", "link2", "link3")
LOADS = np.array([0.5, 0.3, 0.2])
"""How the links share the sessions of a host that is on all of them."""
HOMES = tuple(
    tuple(n in chosen for n in range(3))
    for size in (1, 2, 3)
    for chosen in combinations(range(3), size)
)
"""The links that a host can be on: each alone, each two, all three."""
HOME_SHARES = np.array([0.30, 0.16, 0.10, 0.18, 0.10, 0.06, 0.10])
"""Shares of the hosts, in the order of `HOMES`."""
SKEW = 0.9
"""Exponent of Zipf's law."""
LARGEST = 1 << 30
"""Bytes of the largest connection."""
SESSION = 8
"""Connections a session, on average."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What connections of a protocol are like."""

    name: str
    share: float  # of the sessions
    least: int  # bytes
    tail: float  # Pareto's exponent: the smaller, the heavier
    gap: float  # seconds between two connections of a session, on average


PROTOCOLS = (
    Protocol("https", 0.60, 600, 1.15, 2.0),
    Protocol("http", 0.14, 400, 1.3, 1.5),
    Protocol("dns", 0.12, 60, 3.0, 0.5),
    Protocol("ssh", 0.05, 150, 1.6, 4.0),
    Protocol("smtp", 0.04, 900, 1.4, 1.0),
    Protocol("telnet", 0.04, 50, 2.0, 3.0),
    Protocol("ftp", 0.01, 5_000, 1.05, 6.0),
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """How much of everything: connections of all links together, and the time they take."""

    rows: int = 3_000_000
    seconds: int = 600
    seed: int = 7

    def __post_init__(self) -> None:
        if self.rows < 1 or self.seconds < 1:
            msg = f"traffic has rows and seconds, got {self.rows} and {self.seconds}"
            raise ValueError(msg)

    @property
    def hosts(self) -> int:
        """Sources: a hundredth of the connections, three at least: a home of each size."""
        return max(3, self.rows // 100)

    @property
    def destinations(self) -> int:
        """Destinations: a tenth as many as sources."""
        return max(2, self.hosts // 10)

    @property
    def length(self) -> int:
        """The time from the first connection to the end, in µs."""
        return self.seconds * SECOND


@dataclass(frozen=True, slots=True)
class Sessions:
    """One entry a session: who, to whom, how, on which link, from when, how many connections."""

    host: I64
    destination: I64
    protocol: I64
    link: I64
    start: F64
    connections: I64


def traffic(scale: Traffic) -> dict[str, pa.Table]:
    """Return each link's connections in time order: ts, src, dst, proto, bytes."""
    random = np.random.default_rng(scale.seed)
    made = sessions(scale, random)
    of = np.repeat(np.arange(len(made.host)), made.connections)
    ts = connection_times(scale, made, of, random)
    size = connection_bytes(made.protocol[of], random)
    order = np.argsort(ts, kind="stable")
    link = made.link[of[order]]
    return {
        name: link_table(scale, made, of, ts, size, order[link == n])
        for n, name in enumerate(LINKS)
    }


def sessions(scale: Traffic, random: np.random.Generator) -> Sessions:
    """Return sessions whose connections are as many as the scale's rows."""
    lengths = random.geometric(1 / SESSION, scale.rows)
    ends = np.cumsum(lengths)
    count = int(np.searchsorted(ends, scale.rows)) + 1
    connections = lengths[:count].copy()
    connections[-1] -= ends[count - 1] - scale.rows
    host = random.permutation(scale.hosts)[zipf(scale.hosts, count, random)]
    return Sessions(
        host,
        zipf(scale.destinations, count, random),
        random.choice(len(PROTOCOLS), count, p=[p.share for p in PROTOCOLS]),
        links_of(homes(scale.hosts, random)[host], random),
        wave(random.random(count)) * scale.length,
        connections,
    )


def zipf(values: int, count: int, random: np.random.Generator) -> I64:
    """Draw from ``0 .. values-1``: value i with a weight of ``1 / (i+1)**SKEW``."""
    reached = np.cumsum(np.arange(1, values + 1) ** -SKEW)
    drawn: I64 = np.searchsorted(reached, random.random(count) * reached[-1])
    return drawn


def homes(hosts: int, random: np.random.Generator) -> I64:
    """Return the home of each host: a position in `HOMES`."""
    return random.choice(len(HOMES), hosts, p=HOME_SHARES)


def links_of(home: I64, random: np.random.Generator) -> I64:
    """Choose a link for each session among those of its host's home, by their loads."""
    weights = np.array(HOMES) * LOADS
    reached = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    drawn = random.random(len(home))[:, None]
    chosen: I64 = (drawn >= reached[home, :2]).sum(axis=1)
    return chosen


def wave(uniform: F64) -> F64:
    """Turn uniform numbers of [0, 1) into ones that come in three waves: busy, quiet, busy."""
    at = np.linspace(0, 1, 1_001)
    reached = at - np.cos(6 * np.pi * at) * 0.4 / (6 * np.pi)
    reached = (reached - reached[0]) / (reached[-1] - reached[0])
    return np.interp(uniform, reached, at)


def connection_times(scale: Traffic, made: Sessions, of: I64, random: np.random.Generator) -> I64:
    """Return the time of each connection, in µs.

    Gaps within a session are exponential. What would be after the end comes at the beginning
    instead: sessions that were open before the first connection look like that.
    """
    mean = np.array([p.gap for p in PROTOCOLS])[made.protocol[of]] * SECOND
    gaps = random.exponential(1.0, len(of)) * mean
    first = np.cumsum(made.connections) - made.connections
    gaps[first] = made.start
    walked = np.cumsum(gaps)
    before = walked[first] - made.start
    offset: I64 = np.mod(walked - before[of], scale.length).astype(np.int64)
    return START + offset


def connection_bytes(protocol: I64, random: np.random.Generator) -> I64:
    """Return the size of each connection."""
    least = np.array([p.least for p in PROTOCOLS])[protocol]
    tail = np.array([p.tail for p in PROTOCOLS])[protocol]
    size = least * (1.0 - random.random(len(protocol))) ** (-1 / tail)
    return np.minimum(size, LARGEST).astype(np.int64)


def link_table(scale: Traffic, made: Sessions, of: I64, ts: I64, size: I64, rows: I64) -> pa.Table:
    """Return the chosen connections as the table of one link."""
    session = of[rows]
    return pa.table(
        {
            "ts": pa.array(ts[rows]).view(pa.timestamp("us", "UTC")),
            "src": named(addresses(10, scale.hosts), made.host[session]),
            "dst": named(addresses(172, scale.destinations), made.destination[session]),
            "proto": named([p.name for p in PROTOCOLS], made.protocol[session]),
            "bytes": size[rows],
        }
    )


def named(names: list[str], positions: I64) -> pa.Array:
    """Return the name at each position."""
    return pa.array(names).take(pa.array(positions))


def addresses(network: int, count: int) -> list[str]:
    """Return so many IPv4 addresses of a network.

    >>> addresses(10, 300)[258]
    '10.0.1.2'
    """
    return [f"{network}.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}" for i in range(count)]
