"""Runs an experiment: blocks of contestants by turns, a wrong answer ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean
from time import perf_counter
from typing import TypeVar

from windrow.core.errors import RunError
from windrow_lab.contest.measurement import EQUAL, Measurement
from windrow_lab.experiments.library.experiment import Experiment
from windrow_lab.experiments.library.machine import Facts, facts
from windrow_lab.experiments.library.spread import Spread
from windrow_lab.experiments.library.table import Level, Levels, Row, Table
from windrow_lab.experiments.library.verdict import Finding, verdict

CaseT = TypeVar("CaseT")
Progress = Callable[[int, str], None]
"""Gets how many steps are done, and what is measured now."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave: the numbers, what they say, and where they were measured."""

    table: Table
    findings: tuple[Finding, ...]
    facts: Facts
    seconds: float

    @property
    def verdict(self) -> str:
        """Return the verdict in a few words."""
        return verdict(self.findings)


def silent(_done: int, _now: str) -> None:
    """Report to nobody."""


def run(experiment: Experiment[CaseT], progress: Progress = silent) -> Result:
    """Measure all cases and judge the claim. Raises where an answer is wrong."""
    where = facts()
    start = perf_counter()
    rows: list[Row] = []
    done = 0
    for block in blocks(experiment):
        rows += run_block(experiment, block, partial(_shifted, progress, done))
        done += len(block) * steps_of(experiment)
    table = Table(tuple(rows))
    seconds = perf_counter() - start
    return Result(table, tuple(experiment.findings(table)), where, seconds)


def _shifted(progress: Progress, done: int, more: int, now: str) -> None:
    progress(done + more, now)


def steps_of(experiment: Experiment[CaseT]) -> int:
    """Return the steps of a case: one to prepare it, one a run."""
    return 1 + experiment.warmups + experiment.repeats


def count_steps(experiment: Experiment[CaseT]) -> int:
    """Return how many steps progress will count."""
    return sum(map(len, blocks(experiment))) * steps_of(experiment)


def blocks(experiment: Experiment[CaseT]) -> list[list[Levels]]:
    """Return the cases, grouped into blocks whose cases are measured by turns."""
    factors = experiment.levels()
    inner = {experiment.turns, *experiment.together}
    outside = {name: levels for name, levels in factors.items() if name not in inner}
    inside = {name: levels for name, levels in factors.items() if name in inner}
    return [[{**levels, **one} for one in choices(inside)] for levels in choices(outside)]


def choices(factors: Mapping[str, tuple[Level, ...]]) -> list[Levels]:
    """Return all choices of a level of each factor.

    >>> choices({"window": (1, 2), "strategy": ("upa",)})
    [{'window': 1, 'strategy': 'upa'}, {'window': 2, 'strategy': 'upa'}]
    """
    return [dict(zip(factors, chosen, strict=True)) for chosen in product(*factors.values())]


def run_block(experiment: Experiment[CaseT], block: list[Levels], progress: Progress) -> list[Row]:
    """Prepare the cases of a block, run them by turns, return their rows."""
    done = 0
    with ExitStack() as opened:
        cases: list[CaseT] = []
        for levels in block:
            progress(done, f"prepares {spoken(levels)}")
            cases.append(experiment.prepare(levels))
            opened.callback(experiment.close, cases[-1])
            done += 1
        seen: list[list[Measurement]] = [[] for _ in block]
        for turn in range(experiment.warmups + experiment.repeats):
            for levels, case, kept in zip(block, cases, seen, strict=True):
                progress(done, spoken(levels))
                found = experiment.measure(case)
                require_right(experiment, levels, found)
                if turn >= experiment.warmups:
                    kept.append(found)
                done += 1
    return [row_of(levels, kept) for levels, kept in zip(block, seen, strict=True)]


def require_right(experiment: Experiment[CaseT], levels: Levels, measurement: Measurement) -> None:
    """Refuse to go on with a wrong answer: it has no speed."""
    if measurement.check != EQUAL:
        raise RunError(
            f"{experiment.name}: the answer is wrong at {spoken(levels)}",
            detail=measurement.check,
            hint="A wrong answer has no speed: nothing was written. This is a bug of windrow.",
        )


def row_of(levels: Levels, kept: list[Measurement]) -> Row:
    """Return a case's row: spreads of the clocks, means of the counts."""
    clocks = {name: Spread.of([m.clocks[name] for m in kept]) for name in kept[-1].clocks}
    names = dict.fromkeys(name for m in kept for name in m.counts)
    counts = {name: fmean(m.counts[name] for m in kept if name in m.counts) for name in names}
    return Row(levels, clocks, counts)


def spoken(levels: Levels) -> str:
    """Return levels as words.

    >>> spoken({"window": 2000, "strategy": "upa"})
    'window 2,000, strategy upa'
    """
    texts = {k: f"{v:,}" if isinstance(v, int) else str(v) for k, v in levels.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items())
