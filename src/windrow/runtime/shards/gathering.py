"""Where the tasks of one batch meet: each tells what its shard has heard, and waits for the rest.

    task 0 ── a: 3..9 ──┐                        ┌── a: 3..12, b: 4..8 ──► task 0
    task 1 ── a: 5..12 ─┴─► shard 0's process ───┴── a: 3..12, b: 4..8 ──► task 1
              b: 4..8

A batch that is run again brings the same rows, so what was told once may be told again, and a task
that comes back finds what the others have left.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from windrow.core.errors import StateError
from windrow.runtime.shards.clocks import Heard
from windrow.runtime.shards.faults import fault


@dataclass(slots=True)
class Gathering:
    """What the shards have told of the newest version. For many threads."""

    version: int = -1
    told: dict[int, Mapping[str, Heard]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def gather(
        self, version: int, number: int, count: int, heard: Mapping[str, Heard]
    ) -> dict[str, Heard]:
        """Tell what shard `number` of `count` has heard; return what all have, when all told."""
        with self._changed:
            if version > self.version:
                self.version, self.told = version, {}
            if version == self.version:
                self.told[number] = heard
            fault("meeting-half")
            self._changed.notify_all()
            self._changed.wait_for(lambda: version != self.version or len(self.told) == count)
            if version != self.version:
                raise StateError(
                    f"version {version} is past: the shards have met for {self.version}",
                    detail="A later batch has begun, so this one is committed.",
                )
            return merged(self.told.values())


def merged(told: Iterable[Mapping[str, Heard]]) -> dict[str, Heard]:
    """Return what several shards have heard together."""
    heard: dict[str, Heard] = {}
    for each in told:
        for name, times in each.items():
            heard[name] = times if name not in heard else heard[name].merged(times)
    return heard
