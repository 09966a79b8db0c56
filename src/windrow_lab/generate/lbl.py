"""Links with the proportions of the trace LBL-CONN-7, as the thesis states them [THESIS 3.6].

An integer clock, one connection a tick on each link. A link knows 2,000 sources and, of each,
sixteen destinations: of a link's 200,000 connections there are about 20,000 pairs, as rare sources
do not get to all of theirs. Each link has its own order of who talks how much:

    link1   src 17 ████████  src 4 ████  src 90 ██▌ ...     Zipf's law, shuffled link by link;
    link2   src 52 ████████  src 17 ████ src 8  ██▌ ...     src 4 has no home on link2

so a source that talks all the time on one link may be seen on another now and then, or never:
what a negation retracts early, and what it keeps. The links' destinations differ, as the thesis
cuts its trace into links by destination.

ftp and telnet are for people: some sources, the users, each as often as another. ftp is rare: in
windows of 33,000 ticks, the join of two links' ftp has as many results as inputs. Telnet is √10
times as frequent, so its join has ten times as many. The thesis does not say who uses them:
`users=False` lets them be used as the others are, by Zipf's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.generate.traffic import F64, I64, addresses, named

Bools = npt.NDArray[np.bool_]

SOURCES = 2_000
FANOUT = 16
"""Destinations a source, on each link."""
SKEW = 1.2
"""Exponent of Zipf's law: in 200,000 connections the rarest source is still seen."""
USERS = 1_000
AT_HOME = 0.8
"""Share of all sources that a link knows."""
FTP = 0.03
PROTOCOLS = {
    "ftp": FTP,
    "telnet": FTP * sqrt(10),
    "smtp": 0.25,
    "nntp": 0.15,
    "http": 0.60 - FTP - FTP * sqrt(10),
}
"""Shares of the connections; the first two are for people."""


@dataclass(frozen=True, slots=True)
class Lbl:
    """How many ticks, which are connections of a link, how many links, and who uses ftp and telnet.

    With `users` these are some sources, each as often as another; without, all by Zipf's law.
    """

    ticks: int = 400_000
    links: int = 3
    seed: int = 7
    users: bool = True

    def __post_init__(self) -> None:
        if self.ticks < 1 or self.links < 1:
            msg = f"a trace has ticks and links, got {self.ticks} and {self.links}"
            raise ValueError(msg)


def lbl(scale: Lbl) -> dict[str, pa.Table]:
    """Return each link's connections in time order: t, src, dst, proto, bytes.

    A link is the same for the same seed and number, however many links there are; and the first
    ticks are the same, however many follow.
    """
    return {name: link(scale, n) for n, name in enumerate(link_names(scale.links))}


def link_names(links: int) -> list[str]:
    """Return the names of so many links."""
    return [f"link{n}" for n in range(1, links + 1)]


def link(scale: Lbl, number: int) -> pa.Table:
    """Return one link. Each column is drawn by a generator of its own."""
    streams = np.random.default_rng((scale.seed, number)).spawn(5)
    kinds = protocols(streams[3].random(scale.ticks))
    personal = kinds < (2 if scale.users else 0)
    source = sources(source_order(streams[0]), personal, streams[1].random(scale.ticks))
    target = streams[2].integers(0, FANOUT, scale.ticks)
    pool = addresses(172 + number, SOURCES * FANOUT // 4)
    size = 40 * (1.0 - streams[4].random(scale.ticks)) ** -0.9
    return pa.table(
        {
            "t": np.arange(scale.ticks),
            "src": named(addresses(10, round(SOURCES / AT_HOME)), source),
            "dst": named(pool, (source * FANOUT + target) * 7 % len(pool)),
            "proto": named(list(PROTOCOLS), kinds),
            "bytes": np.minimum(size, 1 << 30).astype(np.int64),
        }
    )


def source_order(random: np.random.Generator) -> I64:
    """Return the sources of a link, those that talk most first."""
    everyone = round(SOURCES / AT_HOME)
    return random.permutation(everyone)[:SOURCES]


def protocols(uniform: F64) -> I64:
    """Turn uniform numbers of [0, 1) into positions in `PROTOCOLS`, by their shares."""
    reached = np.cumsum(list(PROTOCOLS.values()))
    found: I64 = np.searchsorted(reached[:-1], uniform, side="right")
    return found


def sources(talkers: I64, personal: Bools, uniform: F64) -> I64:
    """Turn uniform numbers into sources: users alike where `personal`, else by Zipf's law.

    Rank i has a weight of ``(i + 1) ** -SKEW``.
    """
    reached = np.cumsum(np.arange(1, len(talkers) + 1) ** -SKEW)
    users = talkers[talkers < USERS]
    at = (uniform * len(users)).astype(np.int64)
    return np.where(personal, users[at], talkers[np.searchsorted(reached, uniform * reached[-1])])
