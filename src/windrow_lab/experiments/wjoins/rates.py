"""W-joins of many streams, and of streams whose rates change [WJOIN figure 9]."""

from __future__ import annotations

from typing import ClassVar

from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import (
    Finding,
    Kind,
    Outcome,
    above,
    all_of,
    below,
    known,
)
from windrow_lab.experiments.wjoins.base import (
    CLOCK,
    LOOKED,
    RIGHT,
    WJoinExperiment,
    looked_at,
    ratios_in_words,
    service_time,
    times_longer,
)
from windrow_lab.experiments.wjoins.contestants import HW, MW, MW_FROM, NLW, NLW_LAST, WJoinArena
from windrow_lab.experiments.wjoins.streams import SECOND, Source, generate, one_window

FAST = 1_000
"""Tuples a second."""
FROM_ORDER = (
    "The loops of NLW and HW go in the order of FROM. Those of MW begin with the stream that has "
    "the fewest rows, which is ours: the paper's loops have one order."
)


class ManyStreams(WJoinExperiment):
    """Joins 2 to 6 streams of one kind."""

    source: ClassVar[Source]
    values: ClassVar[int]
    factors = {"streams": (2, 3, 4, 5, 6), "algorithm": (NLW, MW, HW)}
    panels = (
        service_time("streams", "streams", "algorithm", "Service time"),
        looked_at("streams", "streams", "algorithm", "Rows looked at"),
    )
    seconds = 4
    """Seconds of a run."""
    kind: ClassVar[str]

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        return (
            f"{self.kind} The window is 1 second, and {self.values:,} keys are about as many as a "
            f"stream has rows in it. A run is {self.seconds} seconds, in steps of one. "
            f"{FROM_ORDER} {RIGHT}"
        )

    def arena(self, levels: Levels) -> WJoinArena:
        """Return so many streams."""
        count = int(levels["streams"])
        total = 4 + self.runs * self.seconds
        streams = generate([self.source] * count, total, self.values, self.seed)
        match = one_window(count, SECOND)
        return WJoinArena(streams, [match], 4 * SECOND, self.seconds * SECOND, SECOND, self.runs)

    def hash_finding(self, table: Table) -> Finding:
        """Judge whether HW is the fastest for all numbers of streams."""
        return Finding(
            "HW-join is more scalable and achieves the best performance.",
            all_of(
                above(times_longer(table, other, HW, streams=n), 1)
                for n in table.levels("streams")
                for other in (NLW, MW)
            ),
            ratios_in_words(table, MW, HW, "streams"),
        )


class WJoinFigure9a(ManyStreams):
    """How do W-joins of streams with variable rates scale with their number?

    Claim    MW-join is more than an order of magnitude better than NLW-join, and this relative
             performance is maintained as streams are added; HW-join performs best.
    Refuted  if NLW takes less than 5 times as long as MW from three streams on (with two there is
             one loop, and no order); if HW is not the fastest.
    Source   [WJOIN 4.3, figure 9(a)].
    """

    name = "wjoin-figure-9a"
    title = "the number of streams, variable rates"
    figures = "WJOIN 9(a)"
    source = Source(FAST, 100, 2_000, 200)
    values = 550
    kind = (
        "Each stream goes from 1,000 to 100 tuples a second and back, after 2,000 and 200 tuples, "
        "independently of the others."
    )

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clock; what was looked at stands beside."""
        several = [n for n in table.levels("streams") if int(n) >= 3]
        return [
            Finding(
                "MW-join is far better than NLW-join: 5 times from three streams on (the paper: "
                "more than an order of magnitude).",
                all_of(above(times_longer(table, NLW, MW, streams=n), 5) for n in several),
                ratios_in_words(table, NLW, MW, "streams"),
            ),
            self.hash_finding(table),
        ]


class WJoinFigure9b(ManyStreams):
    """How do W-joins of streams with comparable rates scale with their number?

    Claim    the performance of NLW-join and MW-join converges, as mode 2 becomes similar to NLW;
             HW-join performs best.
    Refuted  if MW looks at less than half the rows of NLW, or NLW takes over 5 times as long at the
             most streams; if HW is not the fastest.
    Source   [WJOIN 4.3, figure 9(b)].
    """

    name = "wjoin-figure-9b"
    title = "the number of streams, comparable rates"
    figures = "WJOIN 9(b)"
    source = Source(FAST)
    values = FAST
    kind = "Each stream has 1,000 tuples a second, for the paper's sales of stores."

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clock and by what was looked at."""
        most = table.levels("streams")[-1]
        rows = table.ratio(LOOKED, "algorithm", NLW, MW, streams=most)
        return [
            Finding(
                "The performance of NLW-join and MW-join converges: at the most streams they look "
                "at about as many rows, and are within 5 times.",
                all_of([below(rows, 2), below(times_longer(table, NLW, MW, streams=most), 5)]),
                ratios_in_words(table, NLW, MW, "streams"),
            ),
            self.hash_finding(table),
        ]


class OneSlow(WJoinExperiment):
    """Joins three even streams and one that swings."""

    seconds = 6

    def swinging(self, slow: int, width: int) -> WJoinArena:
        """Return streams of which the last swings down to a rate, and a window in ms."""
        last = Source(FAST) if slow == FAST else Source(FAST, slow, 100, 100)
        total = 2 + self.runs * self.seconds
        values = max(FAST * width // 2_000, 10)
        streams = generate([Source(FAST)] * 3 + [last], total, values, self.seed)
        match = one_window(4, width * SECOND // 1_000)
        return WJoinArena(streams, [match], 2 * SECOND, self.seconds * SECOND, SECOND, self.runs)

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        return (
            "Four streams of 1,000 tuples a second; the last one swings between that and a slow "
            "rate, every 100 of its tuples. Keys are half of what a window has of an even stream, "
            f"10 at least. {self.window} A run is {self.seconds} seconds, in steps of one. "
            f"{FROM_ORDER} `{MW_FROM}` shows what the modes give without that, `{NLW_LAST}` what "
            f"windrow's planner makes of nested loops. {RIGHT}"
        )

    window: ClassVar[str]


class WJoinFigure9c(OneSlow):
    """How do W-joins react if one stream slows down?

    Claim    MW-join reacts rapidly to changes in the rates, and its performance is greatly
             improved. NLW-join and HW-join are not changed significantly.
    Refuted  if at the slowest rate MW is not twice as fast as with even rates, or NLW takes less
             than 5 times as long (ours: 10 times, and 5 in the best order of its loops); if NLW
             or HW is over three times as fast.
    Source   [WJOIN 4.3, figure 9(c)].
    """

    name = "wjoin-figure-9c"
    title = "one stream that swings"
    figures = "WJOIN 9(c)"
    factors = {"slow_rate": (FAST, 100, 10), "algorithm": (NLW, MW, MW_FROM, NLW_LAST, HW)}
    panels = (
        service_time("slow_rate", "slow rate, tuples a second", "algorithm", "Service time",
                     log_x=True),
        looked_at("slow_rate", "slow rate, tuples a second", "algorithm", "Rows looked at",
                  log_x=True),
    )  # fmt: skip
    window = "The paper does not state its window here; ours is 1 second, as in its figure 13."

    def arena(self, levels: Levels) -> WJoinArena:
        """Return streams of a slow rate."""
        return self.swinging(int(levels["slow_rate"]), 1_000)

    def findings(self, table: Table) -> list[Finding]:
        """Judge at the slowest rate."""
        slow = table.levels("slow_rate")[-1]
        lead = times_longer(table, NLW, MW, slow_rate=slow)
        gains = {
            name: table.ratio(CLOCK, "slow_rate", FAST, slow, algorithm=name)
            for name in (NLW, MW, HW)
        }
        return [
            Finding(
                "MW-join's performance is greatly improved: at least twice as fast.",
                above(gains[MW], 2),
                f"It is {gains[MW]} as fast as with even rates.",
            ),
            Finding(
                "NLW-join takes at least 5 times as long as MW-join.",
                above(lead, 5),
                ratios_in_words(table, NLW, MW, "slow_rate"),
            ),
            Finding(
                "NLW-join and HW-join are not changed significantly: under 3 times as fast.",
                all_of([below(gains[NLW], 3), below(gains[HW], 3)]),
                f"NLW-join is {gains[NLW]} as fast as with even rates, HW-join {gains[HW]}: with "
                "fewer tuples there are fewer results.",
            ),
            Finding(
                "NLW-join takes at least 10 times as long as MW-join.",
                above(lead, 10),
                f"It takes {lead} as long.",
                Kind.OURS,
            ),
            Finding(
                "NLW-join takes at least 5 times as long also in the planner's order, which begins "
                "with the slow stream.",
                above(times_longer(table, NLW_LAST, MW, slow_rate=slow), 5),
                ratios_in_words(table, NLW_LAST, MW, "slow_rate"),
                Kind.OURS,
            ),
        ]


class WJoinWindows(OneSlow):
    """Where do the two modes of MW-join pay, and where the order of its loops?

    Claim    where the slow stream often has no row in a window, mode 1 alone saves most of the
             rows; where it has some, only loops that begin with it do.
    Refuted  if at the shortest window MW in the order of FROM looks at over half the rows of NLW;
             if at the longest MW looks at over a tenth of them.
    Source   [ours; WJOIN 3.2 and 4.3: "MW-join runs most of the time in Mode 1"].
    """

    name = "wjoin-windows"
    title = "modes and order of MW-join, over the window"
    figures = "none"
    factors = {"window_ms": (20, 50, 200, 1_000), "algorithm": (NLW, MW, MW_FROM, NLW_LAST, HW)}
    panels = (
        service_time("window_ms", "window, ms", "algorithm", "Service time", log_x=True),
        looked_at("window_ms", "window, ms", "algorithm", "Rows looked at", log_x=True),
    )
    window = "The slow rate is 10 tuples a second: in 20 ms there is mostly none, in 1 s about ten."

    def arena(self, levels: Levels) -> WJoinArena:
        """Return streams of a window."""
        return self.swinging(10, int(levels["window_ms"]))

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the rows that were looked at."""
        widths = table.levels("window_ms")
        return [
            self._finding(
                table,
                MW_FROM,
                known(self._rows(table, MW_FROM, int(widths[0])) >= 2),
                "In the shortest window mode 1 alone at least halves the rows looked at.",
            ),
            self._finding(
                table,
                MW,
                known(self._rows(table, MW, int(widths[-1])) >= 10),
                "In the longest, loops that begin with the fewest rows look at a tenth of them.",
            ),
        ]

    def _rows(self, table: Table, name: str, width: int) -> float:
        return table.ratio(LOOKED, "algorithm", NLW, name, window_ms=width).value

    def _finding(self, table: Table, name: str, outcome: Outcome, claim: str) -> Finding:
        return Finding(claim, outcome, ratios_in_words(table, NLW, name, "window_ms"), Kind.OURS)
