"""What the four queries' experiments have in common: factors, set-up, panels."""

from __future__ import annotations

from typing import ClassVar

from windrow.core.errors import InputError
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Options, Panel
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.links.contestants import LinkArena, LinkContestant
from windrow_lab.experiments.links.trace import LinkFeed, Trace, load

STRATEGIES = {"NT": "negative", "DIRECT": "direct", "UPA": "upa"}
"""The thesis' names for windrow's strategies."""
STRETCH = 10_000
"""Ticks of one run, at most."""
WINDOWS = (2_000, 5_000, 10_000, 20_000, 50_000)
FULL_WINDOWS = (*WINDOWS, 100_000, 200_000)
ANSWERS = (
    "Not all have the same inside the clock: NT keeps its answer at every change; under UPA and "
    "DIRECT the answer is what the last operator holds anyway, or its changes wait until somebody "
    "asks, which is not timed unless very many wait."
)
PARTITIONS = {
    "UPA(10) and UPA(50)": "windrow's calendar queue chooses the number of its partitions by what "
    "it holds, and sorts a partition when its time comes, so UPA is one level; thesis-3-partitions "
    "measures the structure by itself."
}


def time_panel(title: str, by: str = "strategy") -> Panel:
    """Return the picture of time over windows."""
    return Panel("window", "ms_per_1000", by, title, "window, time units", "ms per 1,000 tuples")


def space_panel(title: str, by: str = "strategy") -> Panel:
    """Return the picture of space over windows."""
    return Panel("window", "space_bytes", by, title, "window, time units", "bytes")


class LinkExperiment(Experiment[LinkContestant]):
    """A query over links; `text` is CQL, `truth` the same as a one-time query over alive tuples."""

    text: ClassVar[str]
    truth: ClassVar[str]
    reads: ClassVar[tuple[str, ...]]
    factors = {"window": WINDOWS, "strategy": tuple(STRATEGIES)}
    full = {"window": FULL_WINDOWS}
    turns = "strategy"
    traces = ("lbl", "lbl-zipf", "zeek")

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.runs = self.warmups + self.repeats
        self._trace: Trace | None = None
        self._arena: LinkArena | None = None

    @property
    def trace(self) -> Trace:
        """Return the trace: made or read once."""
        if self._trace is None:
            ticks = max(int(w) for w in super().levels()["window"]) + self.runs * STRETCH
            self._trace = load(self.options.trace, ticks, self.seed)
        return self._trace

    def levels(self) -> dict[str, tuple[int | float | str, ...]]:
        """Leave out windows that the trace is too short for."""
        found = super().levels()
        longest = self.trace.ticks - 100 * self.runs
        kept = tuple(w for w in found["window"] if int(w) <= longest)
        if not kept:
            raise InputError(
                f"the trace has {self.trace.ticks:,} ticks, too few for {self.runs} runs",
                hint="Use fewer --repeats.",
            )
        return {**found, "window": kept}

    @property
    def set_up(self) -> str:
        """Describe query, trace and what is timed."""
        return (
            f"`{self.query_text(self.text, 'W')}`\n\n{self.trace.description} "
            f"A run is a stretch of at most {STRETCH:,} ticks after all windows (of W ticks) have "
            "filled, pushed as one batch a link; timed are the pushes and the reading of all "
            f"changes. {ANSWERS} The changes of every run are equal for all contestants, and the "
            "answer after the last run is DuckDB's. Work is per 1,000 tuples; space is operators' "
            "state and the answer."
        )

    def query_text(self, text: str, window: object) -> str:
        """Return a query's text with its window and protocols."""
        return text.format(window=window, rare=self.trace.rare, frequent=self.trace.frequent)

    def prepare(self, levels: Levels) -> LinkContestant:
        """Fill the windows."""
        window = int(levels["window"])
        if self._arena is None or self._arena.start != window:
            stretch = min(STRETCH, (self.trace.ticks - window) // self.runs)
            feed = LinkFeed(self.trace, self.reads, window)
            self._arena = LinkArena(feed, window, stretch, self.runs)
        text, strategy = self.contestant(str(levels["strategy"]))
        truth = self.query_text(self.truth, window)
        return LinkContestant.filled(self._arena, self.query_text(text, window), truth, strategy)

    def contestant(self, name: str) -> tuple[str, str]:
        """Return the text and the strategy of a contestant."""
        return self.text, STRATEGIES[name]

    def measure(self, case: LinkContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()

    def close(self, case: LinkContestant) -> None:
        """Close the database."""
        case.db.close()


def largest(table: Table) -> int:
    """Return the largest window that was measured."""
    return max(int(window) for window in table.levels("window"))


def smallest(table: Table) -> int:
    """Return the smallest window that was measured."""
    return min(int(window) for window in table.levels("window"))
