"""Where the tasks of one batch meet: each tells what its shard has heard, and waits for the rest.

    task 0 ── a: 3..9 ──┐                        ┌── a: 3..12, b: 4..8 ──► task 0
    task 1 ── a: 5..12 ─┴─► shard 0's process ───┴── a: 3..12, b: 4..8 ──► task 1
              b: 4..8

What was told once may be told again, and a task that comes back finds what the others have left.
A task that has its answer goes on and tells no more: what all have told is therefore written down
before the first is answered, for the process that takes this one's place.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from windrow.core.errors import StateError
from windrow.runtime.shards.clocks import Heard
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.wire import heard_from_json, heard_to_json

TURN_SECONDS = 0.5
"""How long to wait for the others before a look at whether anybody still wants to know."""

Told = dict[int, dict[str, Heard]]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Which tasks meet: those of so many shards in one version, as one run makes it."""

    version: int
    run: str
    count: int


@dataclass(slots=True)
class Gathering:
    """What the shards have told in the newest meeting, and in `file` when all had. For threads."""

    file: Path
    meeting: Meeting = Meeting(-1, "", 0)
    told: Told = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def gather(
        self, meeting: Meeting, number: int, heard: dict[str, Heard], look: Callable[[], None]
    ) -> dict[str, Heard]:
        """Tell what one of the shards has heard; return what all have, when all told.

        `look` is called from time to time, and raises if nobody waits for the answer any more.
        """
        with self._changed:
            if meeting.version >= self.meeting.version:
                self._tell(meeting, number, heard)
            fault("meeting-half")
            self._changed.notify_all()
            while not self._changed.wait_for(
                lambda: meeting != self.meeting or len(self.told) == meeting.count, TURN_SECONDS
            ):
                look()
            if meeting != self.meeting:
                raise StateError(
                    f"version {meeting.version} is past: "
                    f"the shards have met for {self.meeting.version}",
                    detail="A later batch has begun, or another run makes this one.",
                )
            return merged(self.told.values())

    def _tell(self, meeting: Meeting, number: int, heard: dict[str, Heard]) -> None:
        told = self.told if meeting == self.meeting else self._written(meeting)
        told = {**told, number: heard}
        if len(told) == meeting.count:
            self._write(meeting, told)
        self.meeting, self.told = meeting, told

    def _write(self, meeting: Meeting, told: Told) -> None:
        """Write down what all have told. It outlives the process; the tasks outlive no machine."""
        plain = {str(number): heard_to_json(heard) for number, heard in told.items()}
        self.file.write_text(json.dumps({"meeting": asdict(meeting), "told": plain}))

    def _written(self, meeting: Meeting) -> Told:
        """Return what all had told in a meeting; nothing if that is not written to its end."""
        try:
            read = json.loads(self.file.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        if read["meeting"] != asdict(meeting):
            return {}
        return {int(number): heard_from_json(heard) for number, heard in read["told"].items()}


def merged(told: Iterable[Mapping[str, Heard]]) -> dict[str, Heard]:
    """Return what several shards have heard together."""
    heard: dict[str, Heard] = {}
    for each in told:
        for name, times in each.items():
            heard[name] = times if name not in heard else heard[name].merged(times)
    return heard
