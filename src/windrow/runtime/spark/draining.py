"""The end of input: all streams reach the newest time of any, and what waited for it comes out.

It is asked for, or nothing can follow: rows that arrive afterwards for a slower stream are late.
An intent is written down first, so that a drain which was cut off is finished at the next start;
its version makes it harmless twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from windrow.core.time import Clock
from windrow.plan.catalog import Stream
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.failures import explained
from windrow.runtime.spark.folder import Drain, RunFolder
from windrow.runtime.spark.plan import plan_of
from windrow.runtime.spark.progress import shown_clock
from windrow.runtime.spark.reports import read_reports


def begin_drain(folder: RunFolder) -> None:
    """Write down that the input has ended, unless nothing was read since it last did."""
    batch, before = folder.last_batch(), folder.drain()
    version = version_of(batch, drain=True)
    if batch >= 0 and (before is None or before.version < version):
        folder.note(Drain(version, int(time.time() * 1e6), done=False))
        fault("driver-drain-noted")


def finish_drain(folder: RunFolder, deliver: Callable[[int, int], object]) -> None:
    """Do what an intent says, if there is one: `deliver` what comes out at a time, as a version."""
    drain = folder.drain()
    if drain is None or drain.done:
        return
    try:
        deliver(drain.wall, drain.version)
    except Exception as error:
        raise explained(error) from error
    fault("driver-drain-given")
    folder.note(Drain(drain.version, drain.wall, done=True))


def drained_notice(folder: RunFolder, program: Program) -> str:
    """Return what it means for a run that its checkpoint was drained."""
    reached = closed_at(folder, program)
    times = ", ".join(f'"{name}" at {at}' for name, at in reached.items())
    closed = f" Its streams were closed: {times}." if times else ""
    return (
        f"the checkpoint {folder.where} was drained when it ended last.{closed} "
        "Rows before that are late: they are counted and kept with the dead letters, and no query "
        "uses them. Runs that are to be continued end without a drain."
    )


def closed_at(folder: RunFolder, program: Program) -> dict[str, str | int]:
    """Return how far each stream of a checkpoint has come, as its shards have reported last."""
    clocks = {e.name: e.clock for e in plan_of(program).entries if isinstance(e, Stream)}
    found: dict[str, str | int] = {}
    for report in read_reports(folder.where).values():
        for name, frontier in report["frontiers"].items():
            if name in clocks:
                found[name] = shown_clock(int(frontier), clocks[name] or Clock.TICKS)
    return found
