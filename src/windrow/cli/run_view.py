"""A run on the terminal: a live table of its progress, or a line a batch where nobody looks."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from windrow.cli.signals import Signals, StopRequest, leave

if TYPE_CHECKING:
    from windrow.runtime.spark.metrics import MetricsServer
    from windrow.runtime.spark.progress import Activity, Progress
    from windrow.runtime.spark.run import Run

GRACE_SECONDS = 20.0
"""What the batch under way may take after Ctrl-C or SIGTERM. Kubernetes kills after 30."""

IDLE_SECONDS = 60.0
"""Where lines are printed: between two that say that nothing happens."""


REBUILD_SECONDS = 2.0
"""The same, between two that say how far a shard is with rebuilding its state."""


@dataclass(slots=True)
class Compiling:
    """Kernels that shards on this machine compile before their first batch can end."""

    folder: Path
    next_line: float = 0.0

    @classmethod
    def begun(cls) -> Compiling | None:
        """Return what to watch, if no kernel is compiled here yet."""
        from windrow.kernels.cache import cache_folder, kernels_are_cold  # noqa: PLC0415 - numba

        return cls(cache_folder()) if kernels_are_cold() else None

    def shown(self) -> str:
        """Return how many there are by now."""
        count = sum(1 for _ in self.folder.rglob("*.nbi"))
        return f"compiles kernels for this machine, once (up to 15 s): {count} so far"

    def line(self, seconds: float) -> list[str]:
        """Return a line every other second."""
        if seconds < self.next_line:
            return []
        self.next_line = seconds + REBUILD_SECONDS
        return [self.shown()]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Where metrics are served."""

    port: int
    host: str = "127.0.0.1"


def watch(
    run: Run,
    checkpoint: str,
    sinks: Iterable[str],
    signals: Signals,
    metrics: Metrics | None,
    compiling: Compiling | None = None,
) -> int:
    """Show a run until it ends, or until a signal stops it; return the exit code."""
    server = None if metrics is None else serve_metrics(run, metrics)
    began = time.monotonic()
    places = list(sinks)
    console = Console(highlight=False, stderr=True)
    try:
        signals.started()
        show(run, console, signals, compiling, live="console" not in places)
    except KeyboardInterrupt:
        return stop(run, checkpoint, signals.asked or StopRequest(signal.SIGINT))
    except Exception:
        if signals.asked is None:
            raise
        return stop(run, checkpoint, signals.asked)  # the JVM gets the signal, too
    finally:
        if server is not None:
            server.close()
    click.echo(summary(run.progress(), time.monotonic() - began), err=True)
    click.echo(ending(checkpoint, drained=run.is_drained), err=True)
    for place in dict.fromkeys(s for s in places if ":" in s):
        click.echo(f"answers: {place}", err=True)
    return 0


def stop(run: Run, checkpoint: str, asked: StopRequest) -> int:
    """Stop a run after the batch that is under way, and say so; return the exit code.

    SIGTERM in a run that would have ended by itself is no success: not all was read.
    """
    click.echo(
        f"{asked.name}: stops after the batch under way; once more ends it at once", err=True
    )
    try:
        between = run.stop(within=GRACE_SECONDS)
    except Exception:  # the signal went to the JVM as well, and it is gone
        click.echo(f"stopped with its JVM; the same command goes on from {checkpoint}", err=True)
        leave(asked.code)
    where = "between two batches" if between else "in a batch, which is run again"
    click.echo(f"stopped {where}; the same command goes on from {checkpoint}", err=True)
    cut_off = asked.name != "Ctrl-C" and run.ends and not run.complete
    return asked.code if cut_off else 0


def serve_metrics(run: Run, metrics: Metrics) -> MetricsServer:
    """Serve a run's metrics, and say where."""
    from windrow.runtime.spark.metrics import MetricsServer as Server  # noqa: PLC0415 - as the engine

    server = Server(metrics.port, run.progress, metrics.host)
    click.echo(f"metrics: http://{metrics.host}:{server.port}/metrics", err=True)
    return server


def show(
    run: Run, console: Console, signals: Signals, compiling: Compiling | None, *, live: bool
) -> None:
    """Wait for the end of a run, or for a signal, with its progress on the console.

    It is a live table if a terminal is there, and nobody else prints on it.
    """
    if live and console.is_terminal:
        with Live(console=console, refresh_per_second=5, transient=True) as view:

            def update(progress: Progress) -> None:
                signals.check()
                shown = table(progress)
                if compiling is not None and progress.batch is None:
                    shown = Group(Text(compiling.shown()), shown)
                view.update(shown)

            run.wait(each=update)
        return
    lines = RunLines()

    def print_lines(progress: Progress) -> None:
        signals.check()
        texts = lines.of(progress)
        if compiling is not None and progress.batch is None:
            texts += compiling.line(progress.activity.seconds)
        for text in texts:
            console.print(text, soft_wrap=True, markup=False)

    run.wait(each=print_lines)


@dataclass(slots=True)
class RunLines:
    """The lines of a run where nobody looks: one a batch, one a minute without any.

    And one every other second while shards rebuild their state.
    """

    batch: int = -1
    quiet: float = IDLE_SECONDS
    rebuilt: float = 0.0

    def of(self, progress: Progress) -> list[str]:
        """Return what is new."""
        if progress.batch is not None and progress.batch != self.batch:
            self.batch, self.quiet = progress.batch, IDLE_SECONDS
            return [line(progress)]
        rebuilds = progress.activity.doing == "rebuilding"
        if rebuilds and progress.activity.seconds >= self.rebuilt:
            self.rebuilt += REBUILD_SECONDS
            return [doing(progress.activity)]
        if progress.activity.seconds >= self.quiet:
            self.quiet += IDLE_SECONDS
            return [doing(progress.activity)]
        return []


def doing(activity: Activity) -> str:
    """Return what a run does and what it waits for: idle or stuck.

    >>> from windrow.runtime.spark.progress import Activity
    >>> doing(Activity("idle", 42.0, "new data; looks every 2 seconds", "2 seconds", 42.3))
    'idle for 42 s, awaits new data; looks every 2 seconds; last batch 42 s ago'
    >>> doing(Activity("rebuilding", 4.0, "shard 0: 1,000 of 4,000 rows replayed"))
    'rebuilding for 4 s: shard 0: 1,000 of 4,000 rows replayed; no batch yet'
    >>> doing(Activity("working", 3.21, "batch 7", "available-now"))
    'working for 3 s on batch 7; no batch yet'
    """
    what = {"idle": ", awaits ", "working": " on "}.get(activity.doing, ": ")
    since = activity.since_batch
    last = "no batch yet" if since is None else f"last batch {since:.0f} s ago"
    awaits = f"{what}{activity.awaits}" if activity.awaits else ""
    return f"{activity.doing} for {activity.seconds:.0f} s{awaits}; {last}"


def line(progress: Progress) -> str:
    """Return a batch as one line."""
    state = sum(shard.state_bytes for shard in progress.shards)
    parts = " ".join(f"{part} {seconds:.2f}" for part, seconds in progress.seconds.items())
    clocks = " ".join(f"{name}@{query.clock}" for name, query in progress.queries.items())
    return (
        f"batch {progress.batch}: {progress.rows:,} rows in {progress.batch_seconds:.2f} s "
        f"({parts}), {size(state)} of state, {clocks}"
    )


def table(progress: Progress) -> Group:
    """Return the progress as a table of the run and one of its queries."""
    head = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    state = sum(shard.state_bytes for shard in progress.shards)
    parts = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in progress.seconds.items())
    late = sum(progress.late.values())
    dead = sum(sum(kinds.values()) for kinds in progress.dead_letters.values())
    unread = sum(progress.unreadable.values())
    for name, value in (
        ("now", doing(progress.activity)),
        ("batch", "-" if progress.batch is None else f"{progress.batch}  ({progress.status})"),
        ("rows", f"{progress.total_rows:,}  ({progress.rows_per_second:,.0f} a second)"),
        ("time", f"{progress.batch_seconds:.2f} s: {parts}" if parts else "-"),
        ("state", f"{size(state)} on {len(progress.shards)} shards"),
        ("late", f"{late:,}, set aside {dead:,}, unreadable files {unread:,}"),
    ):
        head.add_row(Text(name, "bold"), value)
    body = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("query", "clock", "held back by", "rows kept", "bytes kept"):
        body.add_column(title, header_style="bold")
    for name, query in progress.queries.items():
        clock = "-" if query.clock is None else str(query.clock)
        kept = f"{query.state_rows:,}"
        body.add_row(name, clock, query.held_back_by or "", kept, size(query.state_bytes))
    return Group(head, Text(), body)


def summary(progress: Progress, seconds: float) -> str:
    """Return what a run has done, in a line."""
    late = sum(progress.late.values())
    dead = sum(sum(kinds.values()) for kinds in progress.dead_letters.values())
    lost = f", {late:,} late" if late else ""
    aside = f", {dead:,} set aside" if dead else ""
    files = sum(progress.unreadable.values())
    unread = f", {files:,} file{'s' * (files > 1)} could not be read" if files else ""
    return (
        f"done: {progress.total_rows:,} rows in {progress.batches} batches, {seconds:.1f} s"
        f"{lost}{aside}{unread}"
    )


def ending(checkpoint: str, *, drained: bool) -> str:
    """Return whether a run that has come to its end can be continued, and what that means."""
    if drained:
        return (
            "drained: every answer up to the newest time is out; older rows that arrive for a "
            f"later run on {checkpoint} are late"
        )
    return (
        f"not drained: the same command goes on from {checkpoint}; --drain closes the streams "
        "and lets out what waits for later rows"
    )


def size(count: int) -> str:
    """Return bytes for people.

    >>> size(512), size(3_400_000)
    ('512 B', '3.4 MB')
    """
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("the last unit takes any amount")
