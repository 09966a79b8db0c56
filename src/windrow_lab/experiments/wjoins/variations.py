"""W-joins with a window for each pair, and along a path [WJOIN figures 13 and 14]."""

from __future__ import annotations

from windrow.operators.join.wjoin import MergeWJoin, NestedWJoin, Windows
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, above
from windrow_lab.experiments.wjoins.base import (
    RIGHT,
    WJoinExperiment,
    looked_at,
    ratios_in_words,
    service_time,
    times_longer,
)
from windrow_lab.experiments.wjoins.contestants import WJoinArena
from windrow_lab.experiments.wjoins.streams import SECOND, Source, generate, joined, path

FAST = 1_000
"""Tuples a second."""
GCA, LCA = "GCA", "LCA"
PAIRS = tuple((i, j) for j in range(4) for i in range(j))
PATH = "NLW along the path"
SMALL, LARGE = 1.1, 100
RATES: dict[float, tuple[int, ...]] = {
    SMALL: (1_100, 1_000, 1_100, 1_000),
    LARGE: (10, 1_000, 1_000, 1_000),
}
"""Tuples a second of A, B, C, D, by the highest over the lowest."""


class WJoinFigure13(WJoinExperiment):
    """Is the widest window for all good enough, or should each pair go by its own?

    Claim    LCA outperforms GCA even for small variations between window values.
    Refuted  if GCA is not slower, at 0.8 s against 1 s or at 0.1 s against 1 s.
    Source   [WJOIN 5.3, figure 13].
    """

    name = "wjoin-figure-13"
    title = "GCA and LCA"
    figures = "WJOIN 13"
    factors = {"window_ms": (800, 100), "algorithm": (GCA, LCA)}
    panels = (
        service_time("window_ms", "window of the other pairs, ms", "algorithm", "Service time"),
        looked_at("window_ms", "window of the other pairs, ms", "algorithm", "Rows looked at"),
    )
    ways = {
        GCA: lambda match: MergeWJoin(match, windows=Windows.GLOBAL),
        LCA: lambda match: MergeWJoin(match, windows=Windows.LOCAL),
    }
    seconds = 4
    set_up = (
        "Four streams of 1,000 tuples a second, 500 keys. One pair has a window of 1 second, all "
        "others the shorter one. Both are MW: GCA goes by 1 second and tests results, LCA goes by "
        "each pair's window, at 0.1 s also between the two of the long one: by way of a third it "
        f"is 0.2 s. A run is 4 seconds, in steps of one. {RIGHT}"
    )

    def arena(self, levels: Levels) -> WJoinArena:
        """Return four streams, and windows of pairs."""
        width = int(levels["window_ms"]) * SECOND // 1_000
        mosts = dict.fromkeys(PAIRS, width - 1) | {PAIRS[0]: SECOND - 1}
        match = joined(4, [(i, j, -most, most) for (i, j), most in mosts.items()])
        total = 2 + self.runs * self.seconds
        streams = generate([Source(FAST)] * 4, total, 500, self.seed)
        return WJoinArena(streams, [match], 2 * SECOND, self.seconds * SECOND, SECOND, self.runs)

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clock."""
        return [
            Finding(
                f"LCA outperforms GCA at {int(width) / 1_000:g} s against 1 s.",
                above(times_longer(table, GCA, LCA, window_ms=width), 1),
                ratios_in_words(table.where(window_ms=width), GCA, LCA, "window_ms"),
            )
            for width in table.levels("window_ms")
        ]


class WJoinFigure14(WJoinExperiment):
    """How is a path found best: stream by stream, or by the windows of all pairs?

    Claim    for small variations between rates NLW-join along the path outperforms LCA, for large
             variations LCA performs best.
    Refuted  if LCA is not slower at rates that vary little, or not faster at rates that vary much.
    Source   [WJOIN 5.3, figure 14].
    """

    name = "wjoin-figure-14"
    title = "a path in both directions"
    figures = "WJOIN 14"
    factors = {"variation": (SMALL, LARGE), "algorithm": (PATH, LCA)}
    panels = (
        service_time("variation", "highest over lowest rate", "algorithm", "Service time",
                     log_x=True),
        looked_at("variation", "highest over lowest rate", "algorithm", "Rows looked at",
                  log_x=True),
    )  # fmt: skip
    ways = {PATH: NestedWJoin, LCA: MergeWJoin}
    seconds = 4

    @property
    def set_up(self) -> str:
        """Describe streams and windows."""
        rates = "; ".join(f"{', '.join(map(str, r))}" for r in RATES.values())
        return (
            "The path A, B, C, D and back: two joins with windows of half a second between "
            f"neighbours, whose results count together. Tuples a second: {rates}; 250 keys. NLW "
            "goes along the path, LCA is MW with the windows of all pairs by the shortest path. "
            f"A run is {self.seconds} seconds, in steps of one. {RIGHT}"
        )

    def arena(self, levels: Levels) -> WJoinArena:
        """Return four streams, and the path in both directions."""
        rates = RATES[float(levels["variation"])]
        total = 4 + self.runs * self.seconds
        streams = generate([Source(rate) for rate in rates], total, 250, self.seed)
        widths = [SECOND // 2] * 3
        ways = [path((0, 1, 2, 3), widths), path((3, 2, 1, 0), widths)]
        return WJoinArena(streams, ways, 4 * SECOND, self.seconds * SECOND, SECOND, self.runs)

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clock."""
        return [
            Finding(
                "For small variations NLW-join outperforms LCA.",
                above(times_longer(table, LCA, PATH, variation=SMALL), 1),
                ratios_in_words(table.where(variation=SMALL), LCA, PATH, "variation"),
            ),
            Finding(
                "For large variations LCA performs best.",
                above(times_longer(table, PATH, LCA, variation=LARGE), 1),
                ratios_in_words(table.where(variation=LARGE), PATH, LCA, "variation"),
            ),
        ]
