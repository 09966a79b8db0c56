"""One engine at one workload: asked, its answer checked, then its clock read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from windrow.cli.bench.peers.engines import (
    CHECK,
    READ,
    TIMED,
    WINDROW,
    Engine,
    Job,
    Request,
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


def meet(engine: Engine, jobs: list[Job], changes: Callable[[Task], Path]) -> Iterator[Result]:
    """Let an engine do some workloads in one process; `changes` tells where windrow's answers are.

    A process that fails has told the runs before; what was to come after gets a new one.
    """
    asked = [(job, engine.request(job)) for job in jobs]
    for job, request in asked:
        if isinstance(request, Cannot):
            yield Result(engine.name, job.task.name, skipped=request.reason)
    waiting = [(job, request) for job, request in asked if not isinstance(request, Cannot)]
    while waiting:
        patience = engine.patience(waiting[0][0].size) * len(waiting)
        whole = merged([request for _, request in waiting])
        outcome = ask(python_of(engine), DRIVERS / engine.driver, whole, patience=patience)
        for job, _ in waiting:
            shutil.rmtree(job.checkpoint(CHECK), ignore_errors=True)
            shutil.rmtree(job.checkpoint(TIMED), ignore_errors=True)
        while waiting and outcome.named(waiting[0][0].run(TIMED)):
            job, _ = waiting.pop(0)
            yield result_of(engine, job, outcome, difference(engine, job, changes(job.task)))
        if waiting:
            job, _ = waiting.pop(0)
            yield without_figure(engine, job, outcome)


def merged(requests: list[Request]) -> Request:
    """Return one request with the runs of all."""
    return requests[0] | {"runs": [run for request in requests for run in request["runs"]]}


def without_figure(engine: Engine, job: Job, outcome: Outcome) -> Result:
    """Return the result of a workload that did not come to its end."""
    if outcome.cannot and engine.kind != "changes":
        return Result(engine.name, job.task.name, skipped=outcome.cannot)
    reason = outcome.failure or outcome.cannot  # of windrow, that it is late is a failure
    assert reason, "a driver that does not fail has run what it was asked"
    return Result(engine.name, job.task.name, check=reason)


def rows_in(run: Run, engine: Engine, job: Job) -> int:
    """Return the tuples that a run's seconds are for: of a micro-batch, or of all files."""
    return int(run.facts.get("rows") or rows_of(engine.feed(job.files)))


def result_of(engine: Engine, job: Job, outcome: Outcome, found: str) -> Result:
    """Make one result of the best timed run and the answer's difference."""
    runs = [run for kind in (CHECK, TIMED) for run in outcome.named(job.run(kind))]
    timed = outcome.named(job.run(TIMED))
    best = min(timed, key=lambda run: run.seconds / rows_in(run, engine, job))
    rows = rows_in(best, engine, job)
    work: Facts = {name: best.facts[name] for name in ("results",) if name in best.facts}
    for read in outcome.named(job.run(READ)):
        work["rows_read_per_second"] = round(rows / read.seconds)
    return Result(
        engine.name,
        job.task.name,
        rows / best.seconds,
        best.seconds,
        rows,
        outcome.ready_seconds,
        max(run.peak_bytes for run in runs),
        verdict_of(found),
        work=work,
    )


@dataclass(slots=True)
class Contest:
    """All engines at all workloads, over files in one folder. `missing`: engines, and why."""

    folder: Path
    size: Size
    missing: dict[str, str]
    made: dict[tuple[str, ...], Files] = field(default_factory=dict)

    def results(self, engine: Engine, tasks: Iterable[Task]) -> Iterator[Result]:
        """Let one engine do workloads. Needs windrow in process to have done them before."""
        chosen = list(tasks)
        if engine.name in self.missing:
            reason = self.missing[engine.name]
            yield from (Result(engine.name, task.name, skipped=reason) for task in chosen)
            return
        together = [chosen] if self.size.shared and engine.shares else [[t] for t in chosen]
        for some in together:
            yield from meet(engine, [self.job(engine, task) for task in some], self.changes)

    def job(self, engine: Engine, task: Task) -> Job:
        """Return an engine's work; its files are made when they are first needed."""
        if task.reads not in self.made:
            folder = self.folder / "".join(task.reads)
            self.made[task.reads] = make_files(folder, task.reads, self.size)
        return Job(task, self.made[task.reads], self.size, self.answer(engine, task))

    def answer(self, engine: Engine, task: Task) -> Path:
        """Return where an engine leaves its answer."""
        return self.folder / "answers" / task.name / engine.name

    def changes(self, task: Task) -> Path:
        """Return where windrow's own answer is."""
        return self.answer(WINDROW, task)


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
