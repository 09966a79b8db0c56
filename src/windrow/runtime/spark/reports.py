"""The report of each shard on its last version: small files in the checkpoint.

    DIR/reports/0003.ingest.json    the task that handed the rows of shard 3 over: its time
    DIR/reports/0003.0.json         the task that ran level 0: its time, and at the last level
                                    clocks, late tuples and state

Written by the tasks, so the driver has those of shards on any machine, and of a run that has ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from windrow.runtime.shards.files import Files, open_files

FOLDER = "reports"
TRANSFER, KERNEL, STATE = "transfer", "kernel", "state"
"""Where the time of a shard goes, beside Spark's own."""
STATE_WORK = ("log", "sync", "snapshot", "replay")
"""What a shard's process does for its state."""

Report = dict[str, Any]
T = TypeVar("T")


@dataclass(slots=True)
class Spent:
    """Seconds that a task spends with its shard; waiting for Spark, or for its turn, is not."""

    seconds: float = 0.0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the time of a block."""
        began = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - began

    def inside(self, source: Iterable[T]) -> Iterator[T]:
        """Pass items on; the time that it takes to get them counts."""
        return self._timed(source, 1)

    def outside(self, source: Iterable[T]) -> Iterator[T]:
        """Pass items on; the time that it takes to get them does not count."""
        return self._timed(source, -1)

    def _timed(self, source: Iterable[T], sign: int) -> Iterator[T]:
        items = iter(source)
        while True:
            began = time.perf_counter()
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self.seconds += sign * (time.perf_counter() - began)
            yield item


def write_report(checkpoint: str, name: str, said: Mapping[str, object]) -> None:
    """Replace the report of one of a shard's tasks. It need not survive a loss of power.

    It says which version was made and in which streaming query of Spark, the seconds spent, and
    the shard's own statistics.
    """
    draft = open_files(checkpoint).draft(f"{FOLDER}/{name}.json")
    draft.write(json.dumps(said).encode())
    draft.publish()
    draft.abandon()


def read_reports(checkpoint: str) -> dict[int, Report]:
    """Return the report of each shard on its newest version: its stats, and `seconds` by part."""
    files = open_files(checkpoint)
    parts: dict[int, list[Report]] = {}
    for name in sorted(files.sizes(FOLDER)):
        number, _, rest = name.partition(".")
        if number.isdecimal() and rest.endswith("json"):
            with suppress(FileNotFoundError):
                parts.setdefault(int(number), []).append(_read(files, name))
    return {n: put_together(found) for n, found in parts.items() if any(r["stats"] for r in found)}


def _read(files: Files, name: str) -> Report:
    read = json.loads(bytes(files.read(f"{FOLDER}/{name}")))
    assert isinstance(read, dict), "a report is an object"
    return read


def put_together(parts: list[Report]) -> Report:
    """Return the stats of the last level, with the time of all tasks of that version.

    What was spent and is neither the operators' nor the state's went into moving rows.
    """
    last = next(part for part in parts if part["stats"])
    stats = dict(last["stats"])
    process = stats["seconds"]
    spent = sum(float(p["spent"]) for p in parts if p["version"] == last["version"])
    state = sum(float(process.get(name, 0.0)) for name in STATE_WORK)
    kernel = float(process.get(KERNEL, 0.0))
    transfer = max(0.0, spent - kernel - state)
    stats["seconds"] = {TRANSFER: transfer, KERNEL: kernel, STATE: state}
    stats["query"] = last.get("query")
    return stats
