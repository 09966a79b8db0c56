"""A run on the terminal: a live table of its progress, or a line a batch where nobody looks."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from windrow.runtime.spark.metrics import MetricsServer
    from windrow.runtime.spark.progress import Progress
    from windrow.runtime.spark.run import Run


def watch(run: Run, checkpoint: str, sinks: Mapping[str, str], metrics_port: int | None) -> None:
    """Show a run until it ends, or until Ctrl-C stops it."""
    metrics = None if metrics_port is None else serve_metrics(run, metrics_port)
    began = time.monotonic()
    console = Console(highlight=False, stderr=True)
    try:
        with interruption() as heard:
            show(run, console, heard, live="console" not in sinks.values())
    except KeyboardInterrupt:
        run.stop()
        click.echo(f"stopped; the same command goes on from {checkpoint}", err=True)
        return
    finally:
        if metrics is not None:
            metrics.close()
    click.echo(summary(run.progress(), time.monotonic() - began), err=True)
    for place in dict.fromkeys(s for s in sinks.values() if ":" in s):
        click.echo(f"answers: {place}", err=True)


@contextmanager
def interruption() -> Iterator[Callable[[], None]]:
    """Notice Ctrl-C; yield what raises it when called. A second one is raised where it comes.

    The first would be lost there, if that is the callback of a weak reference: Python ignores what
    those raise, and the bridge to the JVM has many of them.
    """
    came = threading.Event()
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def note(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        came.set()

    def heard() -> None:
        if came.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def serve_metrics(run: Run, port: int) -> MetricsServer:
    """Serve a run's metrics, and say where."""
    from windrow.runtime.spark.metrics import MetricsServer as Server  # noqa: PLC0415 - as the engine

    server = Server(port, run.progress)
    click.echo(f"metrics: http://127.0.0.1:{server.port}/metrics", err=True)
    return server


def show(run: Run, console: Console, heard: Callable[[], None], *, live: bool) -> None:
    """Wait for the end of a run, or until `heard` raises, with its progress on the console.

    It is a live table if a terminal is there, and nobody else prints on it.
    """
    if live and console.is_terminal:
        with Live(console=console, refresh_per_second=5, transient=True) as view:

            def update(progress: Progress) -> None:
                heard()
                view.update(table(progress))

            run.wait(each=update)
        return
    told = -1

    def tell(progress: Progress) -> None:
        nonlocal told
        heard()
        if progress.batch is not None and progress.batch != told:
            told = progress.batch
            console.print(line(progress), soft_wrap=True, markup=False)

    run.wait(each=tell)


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
