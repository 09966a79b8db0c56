"""One engine at one workload: asked, its answer checked, then its clock read."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from windrow.core.errors import RunError
from windrow_lab.contest.measurement import EQUAL
from windrow_lab.contest.report import Facts, rounded, verdict_of
from windrow_lab.peers.engines import (
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
from windrow_lab.peers.environments import Report, ensure
from windrow_lab.peers.files import Files, Size, make_files, rows_of
from windrow_lab.peers.forms import Cannot
from windrow_lab.peers.process import DRIVERS, Outcome, Run, ask
from windrow_lab.peers.rows import SAME
from windrow_lab.peers.tasks import Task


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
        """Return whether there is a figure to be believed."""
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
    """Let an engine do some workloads in one process; `changes` says where windrow's answers are.

    A process that fails has reported the runs before; what was to come after gets a new one.
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
        while waiting and has_run(waiting[0][1], outcome):
            job, _ = waiting.pop(0)
            yield result_of(engine, job, outcome, difference(engine, job, changes(job.task)))
        if waiting:
            job, _ = waiting.pop(0)
            yield without_figure(engine, job, outcome)


def merged(requests: list[Request]) -> Request:
    """Return one request with the runs of all."""
    return requests[0] | {"runs": [run for request in requests for run in request["runs"]]}


def has_run(request: Request, outcome: Outcome) -> bool:
    """Return whether every run of a request has come to its end, each repeat included."""
    asked = Counter(run["name"] for run in request["runs"])
    return all(len(outcome.named(name)) == times for name, times in asked.items())


def without_figure(engine: Engine, job: Job, outcome: Outcome) -> Result:
    """Return the result of a workload that did not come to its end.

    That a peer is too slow is no failure. Of windrow it is, and of what was in time once.
    """
    timed = outcome.named(job.run(TIMED))
    if outcome.cannot and engine.kind != "changes" and not timed:
        return Result(engine.name, job.task.name, skipped=outcome.cannot)
    reason = outcome.failure or outcome.cannot or "ended before its last run"
    after = f" (after {len(timed)} timed runs)" if timed else ""
    return Result(engine.name, job.task.name, check=f"{reason}{after}")


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
        verdict_of(found or unlike([run.facts.get("results") for run in timed])),
        work=work,
    )


def unlike(counts: list[object]) -> str:
    """Return that repeats had different numbers of results; empty if they had the same."""
    return "" if len(set(counts)) == 1 else f"timed runs differ in their results: {counts}"


@dataclass(slots=True)
class Contest:
    """All engines at all workloads, over files in one folder. `missing`: engines, and why.

    `counts` are the results of windrow in process by workload, as its timed runs reported them.
    """

    folder: Path
    size: Size
    missing: dict[str, str]
    made: dict[tuple[str, ...], Files] = field(default_factory=dict)
    counts: dict[str, object] = field(default_factory=dict)

    def results(self, engine: Engine, tasks: Iterable[Task]) -> Iterator[Result]:
        """Let one engine do workloads. Needs windrow in process to have done them before."""
        chosen = list(tasks)
        if engine.name in self.missing:
            reason = self.missing[engine.name]
            yield from (Result(engine.name, task.name, skipped=reason) for task in chosen)
            return
        together = [chosen] if self.size.shared and engine.shares else [[t] for t in chosen]
        for some in together:
            for result in meet(engine, [self.job(engine, task) for task in some], self.changes):
                yield self.counted(engine, result, next(t for t in some if t.name == result.task))

    def counted(self, engine: Engine, result: Result, task: Task) -> Result:
        """Hold the number of results of the timed runs against windrow's in process.

        Only where it must be the same: for windrow's own changelog, and for those that emit the
        same rows of the same tuples.
        """
        if not result.good:
            return result
        found = result.work.get("results")
        if engine.name == WINDROW.name:
            self.counts[task.name] = found
        alike = engine.kind == "changes" or (task.output.meaning == SAME and engine.pace == "fast")
        expected = self.counts.get(task.name, found)
        if not alike or (found == expected and found is not None):
            return result
        return replace(result, check=f"{found} results when timed, windrow has {expected}")

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


def absent(engines: Iterable[Engine], report: Report, *, again: bool) -> dict[str, str]:
    """Make the environments that engines need; return those that cannot be had, and why."""
    reasons = {}
    for engine in engines:
        if engine.environment is None:
            continue
        try:
            ensure(engine.environment, report, again=again)
        except RunError as error:
            reasons[engine.name] = f"{error.message}: {error.detail}"
    return reasons
