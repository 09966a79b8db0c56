"""``python -m tests.papers --cases 100000 --seed 1``: random cases, judged by the papers' oracle.

Engine, papers' oracle and DuckDB oracle must agree at every instant. The first differences are made
small and shown; the summary counts cases by feature. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.generate.papers import random_case
from tests.papers.judge import Difference, judge
from tests.papers.shrink import shrunk

CHUNK = 100
"""Cases that one job does before it reports."""

EXPECTED_REFUSALS = (
    "is joined above a negation",
    "is joined above EXISTS or IN",
    "reads no stream",
    "nothing tells when to look at",
    "needs unbounded state",
)
"""What may be refused: all else is a difference."""


@dataclass(frozen=True, slots=True)
class Options:
    """What cases are drawn, and how they are judged."""

    features: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    duckdb_share: float = 1.0
    shrink: bool = True


@dataclass(slots=True)
class Tally:
    """What came of many cases."""

    cases: int = 0
    features: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another job has found."""
        self.cases += other.cases
        self.features += other.features
        self.refused += other.refused
        self.differences += other.differences


def judged(seed: int, options: Options) -> Tally:
    """Judge one case; a difference is made small and written out."""
    case = random_case(seed, options.features, options.without)
    duckdb = (seed * 0.6180339887) % 1 < options.duckdb_share
    verdict = judge(case, duckdb=duckdb)
    tally = Tally(1)
    if verdict.refused is not None:
        tally.refused[verdict.refused] += 1
        if not any(reason in verdict.refused for reason in EXPECTED_REFUSALS):
            tally.differences.append((seed, f"refused: {verdict.refused}\n{case}"))
        return tally
    tally.features += Counter(case.features)
    if verdict.differences:
        tally.differences.append((seed, report(seed, verdict.differences, options)))
    return tally


def report(seed: int, found: list[Difference], options: Options) -> str:
    """Write out the smallest case that differs in the same way."""
    case = random_case(seed, options.features, options.without)
    kind = kind_of(found[0])

    def fails(smaller: object) -> bool:
        try:
            verdict = judge(smaller, duckdb=kind[0] == "duckdb")  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001  a case that makes no sense
            return False
        return any(kind_of(d) == kind for d in verdict.differences)

    small = shrunk(case, fails) if options.shrink else case
    verdict = judge(small)
    return "\n".join([str(small), *map(str, verdict.differences)])


def kind_of(difference: Difference) -> tuple[str, str]:
    """In what way a case differs."""
    return difference.who, difference.where.partition(" at ")[0]


def chunk(seeds: range, options: Options) -> Tally:
    """Judge some cases."""
    tally = Tally()
    for seed in seeds:
        tally.add(judged(seed, options))
    return tally


def chunks(first: int, cases: int) -> Iterator[range]:
    """Seeds in portions."""
    for start in range(first, first + cases, CHUNK):
        yield range(start, min(start + CHUNK, first + cases))


def tallies(first: int, cases: int, options: Options, jobs: int) -> Iterator[Tally]:
    """Judge all cases, by one or several processes, in order."""
    portions = list(chunks(first, cases))
    if jobs == 1:
        yield from (chunk(portion, options) for portion in portions)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(chunk, portions, [options] * len(portions))


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.papers", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="the first seed: case i has seed + i")
    parser.add_argument("--features", default="", help="only cases with all of these, by commas")
    parser.add_argument("--without", default="", help="no case with any of these")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--duckdb", type=float, default=1.0, help="share of cases DuckDB judges too")
    parser.add_argument("--show", type=int, default=5, help="how many differences are written out")
    parser.add_argument("--no-shrink", action="store_true")
    return parser.parse_args(arguments)


def names(text: str) -> frozenset[str]:
    """Read a list of features."""
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    said = parsed(arguments)
    options = Options(
        names(said.features), names(said.without), said.duckdb, shrink=not said.no_shrink
    )
    total, started = Tally(), time.monotonic()
    for tally in tallies(said.seed, said.cases, options, said.jobs):
        before = len(total.differences)
        total.add(tally)
        for seed, text in total.differences[before : said.show]:
            print(f"--- seed {seed}\n{text}\n", flush=True)
        if total.cases % (CHUNK * 10) == 0:
            rate = total.cases / (time.monotonic() - started)
            found = len(total.differences)
            print(f"{total.cases} cases, {found} differ, {rate:.0f} a second", flush=True)
    print_summary(total, said.seed, time.monotonic() - started)
    return 1 if total.differences else 0


def print_summary(total: Tally, seed: int, seconds: float) -> None:
    """Print what was tried and what was found."""
    for feature, count in sorted(total.features.items()):
        print(f"{count:8} {feature}")
    for reason, count in total.refused.most_common():
        print(f"{count:8} refused: {reason}")
    print(
        f"{total.cases} cases from seed {seed} in {seconds:.0f} s: "
        f"{sum(total.refused.values())} refused, {len(total.differences)} differ"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
