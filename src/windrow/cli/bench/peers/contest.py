"""One engine at one workload: asked, its answer checked, then its clock read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from windrow.cli.bench.peers.engines import (
    CHECK,
    TIMED,
    WINDROW,
    Engine,
    Job,
    difference,
    python_of,
)
from windrow.cli.bench.peers.environments import Tell, ensure
from windrow.cli.bench.peers.files import Files, Size, make_files, rows_of
from windrow.cli.bench.peers.forms import Cannot
from windrow.cli.bench.peers.process import DRIVERS, Outcome, Run, ask
from windrow.cli.bench.peers.tasks import Task
from windrow.cli.bench.report import EQUAL, Facts, rounded, verdict_of
from windrow.core.errors import RunError


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an engine at a workload.

    `check` is `EQUAL`, or how the answer differs, or why there is none. `skipped` says that the
    engine cannot do this, or is not there: no failure, but no figure either.
    """

    engine: str
    task: str
    rows_per_second: float = 0.0
    seconds: float = 0.0
    rows: int = 0
    start_seconds: float = 0.0
    peak_bytes: int = 0
    check: str = EQUAL
    skipped: str = ""
    work: Facts = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Tell whether there is a figure to be believed."""
        return not self.skipped and self.check == EQUAL

    def line(self) -> str:
        """Return the result as one line of JSON."""
        return json.dumps(
            {
                "workload": self.task,
                "engine": self.engine,
                "rows_per_second": round(self.rows_per_second),
                "seconds": rounded(self.seconds),
                "rows": self.rows,
                "start_seconds": rounded(self.start_seconds),
                "peak_mb": round(self.peak_bytes / 1e6),
                "check": "" if self.skipped else self.check,
                "skipped": self.skipped,
                "work": self.work,
            },
            default=rounded,
        )


def meet(engine: Engine, job: Job, changes: Path) -> Result:
    """Let an engine do a workload; `changes` is where windrow's answer to it is."""
    request = engine.request(job)
    if isinstance(request, Cannot):
        return Result(engine.name, job.task.name, skipped=request.reason)
    patience = engine.patience(job.size)
    outcome = ask(python_of(engine), DRIVERS / engine.driver, request, patience=patience)
    for run in (CHECK, TIMED):
        shutil.rmtree(job.checkpoint(run), ignore_errors=True)
    if outcome.cannot and engine.kind != "changes":
        return Result(engine.name, job.task.name, skipped=outcome.cannot)
    if outcome.cannot or outcome.failure:  # of windrow, that it is too late is a failure
        return Result(engine.name, job.task.name, check=outcome.failure or outcome.cannot)
    found = difference(engine, job, changes)
    timed = outcome.named(TIMED)
    assert timed, "a driver that does not fail has run what it was asked"
    best = min(timed, key=lambda run: run.seconds / rows_in(run, engine, job))
    return result_of(engine, job, outcome, best, found)


def rows_in(run: Run, engine: Engine, job: Job) -> int:
    """Return the tuples that a run's seconds are for: of a micro-batch, or of all files."""
    return int(run.facts.get("rows") or rows_of(engine.feed(job.files)))


def result_of(engine: Engine, job: Job, outcome: Outcome, best: Run, found: str) -> Result:
    """Make one result of the best run and the answer's difference."""
    rows = rows_in(best, engine, job)
    return Result(
        engine.name,
        job.task.name,
        rows / best.seconds,
        best.seconds,
        rows,
        outcome.ready_seconds,
        outcome.peak_bytes,
        verdict_of(found),
        work={name: best.facts[name] for name in ("results",) if name in best.facts},
    )


@dataclass(slots=True)
class Contest:
    """All engines at all workloads, over files in one folder. `missing`: engines, and why."""

    folder: Path
    size: Size
    missing: dict[str, str]
    made: dict[tuple[str, ...], Files] = field(default_factory=dict)

    def result(self, engine: Engine, task: Task) -> Result:
        """Let one engine do one workload. Needs windrow in process to have done it before."""
        if engine.name in self.missing:
            return Result(engine.name, task.name, skipped=self.missing[engine.name])
        if task.reads not in self.made:
            folder = self.folder / "".join(task.reads)
            self.made[task.reads] = make_files(folder, task.reads, self.size)
        answers = self.folder / "answers" / task.name
        job = Job(task, self.made[task.reads], self.size, answers / engine.name)
        return meet(engine, job, answers / WINDROW.name)


def absent(engines: Iterable[Engine], tell: Tell, *, again: bool) -> dict[str, str]:
    """Make the environments that engines need; return those that cannot be had, and why."""
    reasons = {}
    for engine in engines:
        if engine.environment is None:
            continue
        try:
            ensure(engine.environment, tell, again=again)
        except RunError as error:
            reasons[engine.name] = f"{error.message}: {error.detail}"
    return reasons
