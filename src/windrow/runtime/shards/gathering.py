"""Where the tasks of one batch meet: each leaves what its shard has heard, and waits for the rest.

    task 0 ── a: 3..9 ───────────► 0000.heard ─┬─► a: 3..12, b: 4..8
    task 1 ── a: 5..12, b: 4..8 ─► 0001.heard ─┘   for each task

The batch's own time, where it is asked for, comes to one task with a tick, and so to all.

Notes lie in the folder of the shards' processes on this host, and outlive all of them: a task or a
process may die at any time, and whoever comes back finds what the others have left. A batch that
is run again brings the same rows, so what was told once may be told again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from windrow.core.errors import StateError
from windrow.runtime.shards.clocks import Heard, Moment
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.wire import heard_from_json, heard_to_json

SHORTEST_LOOK, LONGEST_LOOK = 0.0002, 0.002
"""Seconds between two looks for the others' notes."""


def meet(folder: Path, batch: tuple[str, int], place: tuple[int, int], moment: Moment) -> Moment:
    """Tell what shard `number` of `count` knows of a batch; return what all do, when all told.

    A batch is a run and a version in it. Only for tasks that run at the same time on one host:
    each waits for the others. A shard's note lies there until its next one, which it makes when
    all have read the first; notes of other runs are nobody's.
    """
    number, count = place
    _leave(_note(folder, number), batch, moment)
    fault("meeting-half")
    told = [_found(_note(folder, other), batch) for other in range(count)]
    return Moment(merged(each.heard for each in told), max(each.wall for each in told))


def _note(folder: Path, number: int) -> Path:
    return folder / f"{number:04}.heard"


def _leave(note: Path, batch: tuple[str, int], moment: Moment) -> None:
    _read(note, batch)
    written = note.with_suffix(f".{os.getpid()}{note.suffix}")  # `launch.remove_unused` knows it
    written.write_text(json.dumps([*batch, heard_to_json(moment.heard), moment.wall]))
    written.replace(note)


def _found(note: Path, batch: tuple[str, int]) -> Moment:
    """Wait for the note of a batch."""
    pause = SHORTEST_LOOK
    while (moment := _read(note, batch)) is None:
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_LOOK)
    return moment


def _read(note: Path, batch: tuple[str, int]) -> Moment | None:
    """Return what a note of the batch says; None without one."""
    try:
        run, version, heard, wall = json.loads(note.read_text())
    except FileNotFoundError:
        return None
    if run == batch[0] and version > batch[1]:
        raise StateError(
            f"version {batch[1]} is past: the shards meet for {version}",
            detail="A later batch has begun, so this one is committed.",
        )
    return Moment(heard_from_json(heard), wall) if (run, version) == batch else None


def merged(told: Iterable[Mapping[str, Heard]]) -> dict[str, Heard]:
    """Return what several shards have heard together."""
    heard: dict[str, Heard] = {}
    for each in told:
        for name, times in each.items():
            heard[name] = times if name not in heard else heard[name].merged(times)
    return heard
