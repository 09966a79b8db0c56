"""``python -m tests.papers --cases 100000 --seed 1``: random cases, judged by the papers' oracle.

Engine, papers' oracle and DuckDB oracle must agree at every instant. The first differences are made
small and shown; the summary counts cases by feature. Exit code 1 if anything differs.
"""
# ruff: noqa: T201 - a command prints

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.generate.papers import random_case
from tests.papers.judge import Difference, judge
from tests.papers.script import Case
from tests.papers.shrink import shrunk

Kind = tuple[str, str]
"""Who differs, and in what."""

CHUNK = 50
"""Cases that one job does before it reports."""

PROGRESS = 30.0
"""Seconds between two lines of progress."""

EXPECTED_REFUSALS = (
    "is joined above a negation",
    "is joined above EXISTS or IN",
    "reads no stream",
    "nothing says when to look at",
    "needs unbounded state",
    "SINCE takes a timestamp",  # of relations alone
)
"""What may be refused: all else is a difference."""


@dataclass(frozen=True, slots=True)
class Options:
    """What cases are drawn, and how they are judged."""

    features: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    duckdb_share: float = 1.0

    def case(self, seed: int) -> Case:
        """The case of a seed."""
        return random_case(seed, self.features, self.without)

    def asks_duckdb(self, seed: int) -> bool:
        """Whether DuckDB judges the case of a seed, too."""
        return (seed * 0.6180339887) % 1 < self.duckdb_share


@dataclass(slots=True)
class Tally:
    """What came of many cases: by seed, in what way those differ that do."""

    cases: int = 0
    features: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[int, Kind]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another job has found."""
        self.cases += other.cases
        self.features += other.features
        self.refused += other.refused
        self.differences += other.differences


def judged(seed: int, options: Options) -> Tally:
    """Judge one case."""
    case = options.case(seed)
    verdict = judge(case, duckdb=options.asks_duckdb(seed))
    tally = Tally(1)
    if verdict.refused is None:
        tally.features += Counter(case.features)
        kinds = dict.fromkeys(map(kind_of, verdict.differences))
        tally.differences += [(seed, kind) for kind in [*kinds][:1]]
        return tally
    tally.refused[verdict.refused] += 1
    if not any(reason in verdict.refused for reason in EXPECTED_REFUSALS):
        tally.differences.append((seed, ("engine", f"refused: {verdict.refused}")))
    return tally


def written(seed: int, kind: Kind, options: Options) -> str:
    """Write out the smallest case that differs in the same way."""

    def fails(case: Case) -> bool:
        try:
            verdict = judge(case, duckdb=kind[0] == "duckdb")
        except Exception:
            return False
        if verdict.refused is not None:
            return kind[1] == f"refused: {verdict.refused}"
        return any(kind_of(d) == kind for d in verdict.differences)

    small = shrunk(options.case(seed), fails)
    verdict = judge(small)
    found = [verdict.refused] if verdict.refused else verdict.differences
    return "\n".join([f"--- seed {seed}", str(small), *map(str, found)])


def kind_of(difference: Difference) -> Kind:
    """In what way a case differs."""
    return difference.who, re.sub(r" (at|of) (-?\d+|None)", "", difference.where)


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
    parser.add_argument(
        "--duckdb", type=float, default=0.25, help="share of cases DuckDB judges too"
    )
    parser.add_argument("--show", type=int, default=3, help="how many of a kind are written out")
    return parser.parse_args(arguments)


def names(text: str) -> frozenset[str]:
    """Read a list of features."""
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    said = parsed(arguments)
    options = Options(names(said.features), names(said.without), said.duckdb)
    total, shown = Tally(), Counter[Kind]()
    last = started = time.monotonic()
    for tally in tallies(said.seed, said.cases, options, said.jobs):
        total.add(tally)
        for seed, kind in tally.differences:
            shown[kind] += 1
            if shown[kind] <= said.show:
                print(written(seed, kind, options), end="\n\n", flush=True)
        if time.monotonic() - last > PROGRESS:
            last = time.monotonic()
            rate, found = total.cases / (last - started), len(total.differences)
            print(f"{total.cases} cases, {found} differ, {rate:.0f} a second", flush=True)
    print_summary(total, said.seed, time.monotonic() - started)
    return 1 if total.differences else 0


def print_summary(total: Tally, seed: int, seconds: float) -> None:
    """Print what was tried and what was found."""
    for feature, count in sorted(total.features.items()):
        print(f"{count:8} {feature}")
    for kind, count in Counter(kind for _, kind in total.differences).most_common():
        print(f"{count:8} differ: {': '.join(kind)}")
    for reason, count in total.refused.most_common():
        print(f"{count:8} refused: {reason}")
    print(
        f"{total.cases} cases from seed {seed} in {seconds:.0f} s: "
        f"{sum(total.refused.values())} refused, {len(total.differences)} differ"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
