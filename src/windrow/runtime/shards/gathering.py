"""Where the tasks of one batch meet: each leaves the times of its shard, and waits for the rest.

    task 0 ── a: 3..9 ───────────► 0000.times ─┬─► a: 3..12, b: 4..8
    task 1 ── a: 5..12, b: 4..8 ─► 0001.times ─┘   for each task

The batch's own time, where it is asked for, comes to one task with a tick, and so to all.

Notes lie in the folder of the shards' processes on this host, and outlive all of them: a task or a
process may die at any time, and whoever comes back finds the notes of the others. A batch that
is run again brings the same rows, so a note may be written again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from windrow.core.errors import StateError
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.wire import times_from_json, times_to_json

SHORTEST_LOOK, LONGEST_LOOK = 0.0002, 0.002
"""Seconds between two looks for the others' notes."""


def meet(
    folder: Path, batch: tuple[str, int], place: tuple[int, int], batch_clock: BatchClock
) -> BatchClock:
    """Leave the note of shard `number` of `count`; return the merged notes once all are there.

    A batch is a run and a version in it. Only for tasks that run at the same time on one host:
    each waits for the others. A shard's note lies there until its next one, which it makes when
    all have read the first; notes of other runs are nobody's.
    """
    number, count = place
    _leave(_note(folder, number), batch, batch_clock)
    fault("meeting-half")
    notes = [_found(_note(folder, other), batch) for other in range(count)]
    return BatchClock(merged(each.times for each in notes), max(each.wall for each in notes))


def _note(folder: Path, number: int) -> Path:
    return folder / f"{number:04}.times"


def _leave(note: Path, batch: tuple[str, int], batch_clock: BatchClock) -> None:
    _read(note, batch)
    written = note.with_suffix(f".{os.getpid()}{note.suffix}")  # `launch.remove_unused` knows it
    written.write_text(json.dumps([*batch, times_to_json(batch_clock.times), batch_clock.wall]))
    written.replace(note)


def _found(note: Path, batch: tuple[str, int]) -> BatchClock:
    """Wait for the note of a batch."""
    pause = SHORTEST_LOOK
    while (batch_clock := _read(note, batch)) is None:
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_LOOK)
    return batch_clock


def _read(note: Path, batch: tuple[str, int]) -> BatchClock | None:
    """Return what a note of the batch says; None without one."""
    try:
        run, version, times, wall = json.loads(note.read_text())
    except FileNotFoundError:
        return None
    if run == batch[0] and version > batch[1]:
        raise StateError(
            f"version {batch[1]} is past: the shards meet for {version}",
            detail="A later batch has begun, so this one is committed.",
        )
    return BatchClock(times_from_json(times), wall) if (run, version) == batch else None


def merged(shards: Iterable[Mapping[str, InputTimes]]) -> dict[str, InputTimes]:
    """Return the times of each input, merged over several shards."""
    found: dict[str, InputTimes] = {}
    for shard in shards:
        for name, times in shard.items():
            found[name] = times if name not in found else found[name].merged(times)
    return found
