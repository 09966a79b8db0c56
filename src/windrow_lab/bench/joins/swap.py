"""A fast stream becomes slow: orders follow, and are soon as good as those of a new query."""

from __future__ import annotations

from windrow_lab.bench.joins.feed import JoinCase, JoinTiming, Match, Source, difference
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest

BAR = 0.8
WINDOW = 40_000
STEPS = 16
REPEATS = 12
"""Runs of which the best counts, at least: a run is a tenth of a second, and of three the best of
one contestant was seen to be a third above that of twelve."""

VALUES = 2_000

ARENA = JoinCase(
    (
        Source(every=10, window=WINDOW, k=VALUES, j=VALUES),
        Source(every=1, window=WINDOW // 10, k=VALUES, j=VALUES),
        Source(every=10, window=WINDOW, k=VALUES, j=VALUES),
        Source(every=1, window=WINDOW, k=VALUES, later=2_000),
        Source(every=2_000, window=WINDOW, k=1, j=VALUES, later=1),
    ),
    "s1.k = s0.k AND s0.j = s4.j AND s1.j = s2.j AND s2.k = s3.k",
    ticks=6 * WINDOW,
)
"""A path s4 - s0 - s1 - s2 - s3, fast at one end and slow at the other. New tuples of its middle
should go to the slow end first: there hardly any match. Three windows before the swap; the second
window length after it is timed."""


def measure(repeats: int) -> Bar:
    """Compare one window length after the swap with a query that has the best orders for it."""
    tables = ARENA.tables()
    swap = ARENA.ticks // 2
    changes: list[int] = []

    def after(match: Match) -> JoinTiming:
        match.run(0, swap + WINDOW, 4 * STEPS)
        found = match.run(swap + WINDOW, swap + 2 * WINDOW, STEPS)
        changes.append(match.watch.reorderings)
        return found

    fresh = Match.of(ARENA, "hash", tables)
    fresh.run(0, swap + 2 * WINDOW, 5 * STEPS)
    right = fresh.watch.best()
    early = Match.of(ARENA, "hash", tables)
    early.run(0, swap, 3 * STEPS)
    wrong = early.watch.best()
    sides = [
        lambda: after(Match.of(ARENA, "hash", tables)),
        lambda: after(Match.of(ARENA, "hash", tables).fix(right)),
        lambda: after(Match.of(ARENA, "hash", tables).fix(wrong)),
    ]
    adapted, planned, stale = fastest(by_turns(sides, max(repeats, REPEATS)))
    return Bar(
        "rate_swap",
        planned.seconds / adapted.seconds,
        BAR,
        adapted.seconds,
        adapted.rows / adapted.seconds,
        verdict_of(difference([adapted, planned, stale])),
        {},
        {
            "against": f"the best orders from the start, {planned.seconds:.3f} s",
            "ratio_without_change": planned.seconds / stale.seconds,
            "reorderings": max(changes),
        },
    )
