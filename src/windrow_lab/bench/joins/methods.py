"""Hash against loops, and one operator against a tree of binary joins."""

from __future__ import annotations

from functools import partial

from windrow_lab.bench.joins.feed import JoinCase, JoinTiming, Match, Source, difference
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest

LOOPS_BAR = 5.0
STEPS = 8


def against_loops(repeats: int) -> Bar:
    """Compare indexes with looking at all rows, for three streams of a thousand rows each."""
    sources = (Source(every=1, window=1_000, k=300),) * 3
    case = JoinCase(sources, "s0.k = s1.k AND s1.k = s2.k", ticks=8_000)
    hashed, looped = contest(case, ("hash", "loops"), repeats)
    return Bar(
        "hash_against_loops",
        looped.seconds / hashed.seconds,
        LOOPS_BAR,
        hashed.seconds,
        hashed.rows / hashed.seconds,
        verdict_of(difference([hashed, looped])),
        {},
        {"against": f"loops {looped.seconds:.3f} s"},
    )


SHAPES = {
    "star_1": JoinCase(
        (Source(1, 10_000, 10_000),) * 3, "s0.k = s1.k AND s1.k = s2.k", ticks=100_000
    ),
    "star_4": JoinCase(
        (Source(1, 10_000, 10_000),) * 4,
        "s0.k = s1.k AND s1.k = s2.k AND s2.k = s3.k",
        ticks=60_000,
    ),
    "many_below": JoinCase(
        (
            Source(1, 10_000, 1_000),
            Source(1, 10_000, 1_000, 100_000),
            Source(1, 10_000, 1, 100_000),
        ),
        "s0.k = s1.k AND s1.j = s2.j",
        ticks=40_000,
    ),
    "few_below": JoinCase(
        (Source(1, 10_000, 100_000), Source(1, 10_000, 100_000, 100), Source(1, 10_000, 1, 100)),
        "s0.k = s1.k AND s1.j = s2.j",
        ticks=40_000,
    ),
}
"""One partner a tuple, on one key; many or few results of the first join, where keys differ."""

SIGNED = {
    "counts_star": JoinCase(
        (Source(1, 10_000, 10_000, counts=True),) * 3, "s0.k = s1.k AND s1.k = s2.k", ticks=40_000
    ),
    "counts_many_below": JoinCase(
        (
            Source(1, 10_000, 1_000),
            Source(1, 10_000, 1_000, 100_000, counts=True),
            Source(1, 10_000, 1, 100_000, counts=True),
        ),
        "s0.k = s1.k AND s1.j = s2.j",
        ticks=30_000,
    ),
    "counts_few_below": JoinCase(
        (
            Source(1, 10_000, 100_000),
            Source(1, 10_000, 100_000, 100, counts=True),
            Source(1, 10_000, 1, 100, counts=True),
        ),
        "s0.k = s1.k AND s1.j = s2.j",
        ticks=20_000,
    ),
}
"""The same with count windows, whose departures travel."""


def shapes(repeats: int) -> list[Bar]:
    """Say how many times as long a tree takes as one operator."""
    found = []
    for name, case in (SHAPES | SIGNED).items():
        hashed, tree = contest(case, ("hash", "tree"), repeats)
        found.append(
            Bar(
                f"tree_against_hash_{name}",
                tree.seconds / hashed.seconds,
                None,
                hashed.seconds,
                hashed.rows / hashed.seconds,
                verdict_of(difference([hashed, tree])),
                {},
                {"against": f"a tree of binary joins, {tree.seconds:.3f} s"},
            )
        )
    return found


def contest(case: JoinCase, algorithms: tuple[str, ...], repeats: int) -> list[JoinTiming]:
    """Time some algorithms over the same tuples."""
    tables = case.tables()

    def timed(algorithm: str) -> JoinTiming:
        return Match.of(case, algorithm, tables).run(0, case.ticks, STEPS)

    return fastest(by_turns([partial(timed, algorithm) for algorithm in algorithms], repeats))
