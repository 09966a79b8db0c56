"""The calendar queue by itself: how many partitions Query 1's results need [THESIS 3.6.2]."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from windrow.kernels.calendar import SHIFT, SLOT_WORDS
from windrow.operators.state.calendar import CalendarQueue, empty_meta
from windrow.operators.state.plain_list import PlainList
from windrow.operators.vector import I64
from windrow_lab.contest.measurement import EQUAL, Measurement
from windrow_lab.experiments.library.experiment import Experiment, Options
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, waiting
from windrow_lab.experiments.links.base import (
    FULL_WINDOWS,
    STRETCH,
    WINDOWS,
    largest,
    space_panel,
    time_panel,
)
from windrow_lab.experiments.links.trace import Trace, load

STEP = 100
"""Ticks between two looks at what has ended."""
PARTITIONS = {"8 partitions": 8, "64 partitions": 64}
"""For the thesis' ten and fifty: a circle of windrow's is a power of two."""
LIST, FITTED = "list", "as many as fit"


class PinnedCalendar(CalendarQueue):
    """A calendar queue whose partitions stay as many and as wide as they are."""

    def _is_unfit(self) -> bool:
        return False


def pinned(partitions: int, window: int) -> PinnedCalendar:
    """Return a queue of so many partitions, which together last for a window at least."""
    meta = empty_meta()
    meta[SHIFT] = max(1, (window // partitions).bit_length())
    return PinnedCalendar(slots=np.zeros((partitions, SLOT_WORDS), np.int64), meta=meta)


@dataclass(slots=True)
class QueueCase:
    """A structure with the results that wait in it; `at` is the next tick, `next_row` the next."""

    queue: CalendarQueue | PlainList
    born: I64
    ends: I64
    at: int = 0
    next_row: int = 0

    def step(self, ticks: int) -> tuple[I64, I64]:
        """Let some ticks pass: results come, results leave; return what left, and when."""
        clock = self.at + ticks - 1
        after = int(np.searchsorted(self.born, clock, side="right"))
        fresh = np.arange(self.next_row, after)
        exp = self.ends[self.next_row : after]
        self.at, self.next_row = clock + 1, after
        if isinstance(self.queue, PlainList):
            born = self.born[fresh[0] : after] if len(fresh) else exp
            return self.queue.scan(born, exp, fresh, clock)
        self.queue.push(exp, fresh)
        return self.queue.pop(clock)


class Query1Partitions(Experiment[QueueCase]):
    """How many partitions does the calendar queue of a join's results need?

    Claim    with ten partitions it does well at first but becomes very slow as the window and the
             result grow; with fifty it does not.
    Refuted  if at the largest window 8 partitions take less than 2 times as long as 64: that is
             ours, of partitions that are sorted once; windrow has none that are scanned at each
             arrival, as the thesis' are.
    Source   [THESIS 3.6.2, UPA(10) and UPA(50) of figure 3.9; the structure by itself].
    """

    name = "thesis-3-partitions"
    title = "partitions of the calendar queue"
    figures = "3.9"
    factors = {"window": WINDOWS, "structure": (LIST, *PARTITIONS, FITTED)}
    full = {"window": FULL_WINDOWS}
    turns = "structure"
    traces = ("lbl",)
    panels = (
        time_panel("Query 1's results: time", "structure"),
        space_panel("Query 1's results: space", "structure"),
    )
    set_up = (
        "The results of Query 1 (telnet), made beforehand, are put into each structure as they are "
        f"born and taken out as they end, every {STEP} ticks; the list is looked through at each "
        "tick, as DIRECT does. A partition is sorted once, when its time comes, where the thesis' "
        "is scanned at each arrival. What leaves is compared with the sorted ends."
    )

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.runs = self.warmups + self.repeats
        self._trace: Trace | None = None

    @property
    def trace(self) -> Trace:
        """Return the trace: made once."""
        if self._trace is None:
            ticks = max(int(w) for w in self.levels()["window"]) + self.runs * STRETCH
            self._trace = load("lbl", ticks, self.seed)
        return self._trace

    def prepare(self, levels: Levels) -> QueueCase:
        """Make the results, and let the first window pass."""
        window, name = int(levels["window"]), str(levels["structure"])
        born, ends = results(self.trace, window)
        queue: CalendarQueue | PlainList = PlainList() if name == LIST else CalendarQueue()
        if name in PARTITIONS:
            queue = pinned(PARTITIONS[name], window)
        case = QueueCase(queue, born, ends)
        while case.at < window:
            case.step(STEP)
        return case

    def measure(self, case: QueueCase) -> Measurement:
        """Let the next stretch pass."""
        low = case.at
        looked = case.queue.comparisons if isinstance(case.queue, PlainList) else 0
        gc.collect()
        start = perf_counter()
        left = [case.step(STEP) for _ in range(STRETCH // STEP)]
        seconds = perf_counter() - start
        tuples = 2 * STRETCH
        compared = case.queue.comparisons - looked if isinstance(case.queue, PlainList) else 0
        counts = {
            "comparisons": compared * 1e3 / tuples,
            "waiting": len(case.queue),
            "space_bytes": case.queue.nbytes,
        }
        check = left_difference(case, left, low)
        return Measurement({"ms_per_1000": seconds * 1e6 / tuples}, counts, check)

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clocks."""
        window, clock = largest(table), "ms_per_1000"
        few, many = PARTITIONS
        ratio = table.ratio(clock, "structure", few, many, window=window)
        fitted = table.ratio(clock, "structure", FITTED, many, window=window)
        scanned = table.ratio(clock, "structure", LIST, many, window=window)
        return [
            waiting(
                "UPA(10) becomes very slow as the window grows, UPA(50) does not.",
                "windrow's partitions are sorted once, when their time comes; the thesis' are "
                "scanned at each arrival, which windrow does not have.",
            ),
            Finding(
                f"Few partitions become slow at window {window:,} (2 times counts).",
                above(ratio, 2),
                f"{few} take {ratio} as long as {many}, as many as fit {fitted}, a list {scanned}.",
                Kind.OURS,
            ),
        ]


def results(trace: Trace, window: int) -> tuple[I64, I64]:
    """Return when all results of Query 1 on telnet arrive and expire, in order of arrival."""
    import duckdb  # noqa: PLC0415 - not everybody has it

    text = (
        "SELECT GREATEST(a.t, b.t) AS born, LEAST(a.t, b.t) + $window AS ends "
        "FROM link1 AS a JOIN link2 AS b USING (src) "
        "WHERE a.proto = $kind AND b.proto = $kind AND ABS(a.t - b.t) < $window ORDER BY ALL"
    )
    with duckdb.connect() as connection:
        for name in ("link1", "link2"):
            connection.register(name, trace.tables[name])
        found = connection.execute(text, {"window": window, "kind": trace.frequent}).fetchnumpy()
    return found["born"].astype(np.int64), found["ends"].astype(np.int64)


def left_difference(case: QueueCase, left: list[tuple[I64, I64]], low: int) -> str:
    """Compare what left since `low` with the ends, sorted."""
    ends, rows = (np.concatenate(parts) for parts in zip(*left, strict=True))
    due = np.flatnonzero((case.ends >= low) & (case.ends < case.at))
    order = np.lexsort((due, case.ends[due]))
    if np.array_equal(rows, due[order]) and np.array_equal(ends, case.ends[due[order]]):
        return EQUAL
    return f"{len(rows):,} results left, {len(due):,} were due, or in another order"
