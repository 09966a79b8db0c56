"""What a checkpoint folder says of its run, beside Spark's own log and the shards' state.

DIR/run.json      the name of the run, by which sinks know it again; never changed
DIR/drain.json    the last end of input: an intent until it is done
DIR/spark/        Spark's offsets and commits
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from windrow.core.errors import StateError
from windrow.runtime.shards.files import Files, open_files
from windrow.runtime.shards.store import version_of

RUN, DRAIN = "run.json", "drain.json"


@dataclass(frozen=True, slots=True)
class Drain:
    """An end of input: the version that it makes, when it came (µs), and whether all is done."""

    version: int
    wall: int
    done: bool


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    where: str

    @property
    def files(self) -> Files:
        """The folder as files."""
        return open_files(self.where)

    @property
    def spark(self) -> str:
        """Where Spark keeps its own log, as Spark names places.

        A plain path is meant on this machine, whatever file system is Spark's default.
        """
        if "://" not in self.where:
            return f"file://{Path(self.where).absolute()}/spark"
        return f"{self.where}/spark".replace("s3://", "s3a://")

    def name(self) -> str:
        """Return the name of the run; a folder without one gets one."""
        known = self._read(RUN)
        if known is not None:
            return str(known["run"])
        name = uuid4().hex
        self._write(RUN, {"run": name})
        return name

    def last_batch(self) -> int:
        """Return the last batch that Spark has committed; -1 before the first."""
        names = self.files.sizes("spark/commits")
        return max((int(name) for name in names if name.isdecimal()), default=-1)

    def planned_batch(self) -> int | None:
        """Return the batch that Spark has planned and not committed, if there is one."""
        names = self.files.sizes("spark/offsets")
        planned = max((int(name) for name in names if name.isdecimal()), default=-1)
        return planned if planned > self.last_batch() else None

    def batch_time(self, batch: int) -> int:
        """Return the time, in µs, that Spark has given a batch when it was first planned."""
        lines = bytes(self.files.read(f"spark/offsets/{batch}")).decode().splitlines()
        return int(json.loads(lines[1])["batchTimestampMs"]) * 1000

    def reached(self) -> int:
        """Return the last version that is done for good; 0 before the first."""
        batch, drain = self.last_batch(), self.drain()
        drained = drain.version if drain is not None and drain.done else 0
        return max(0 if batch < 0 else version_of(batch), drained)

    def drain(self) -> Drain | None:
        """Return the last end of input, if there was one."""
        known = self._read(DRAIN)
        if known is None:
            return None
        return Drain(int(str(known["version"])), int(str(known["wall"])), bool(known["done"]))

    def is_drained(self) -> bool:
        """Return whether the newest version is an end of input."""
        drain = self.drain()
        return drain is not None and drain.done and drain.version > version_of(self.last_batch())

    def note(self, drain: Drain) -> None:
        """Write down how far an end of input has come."""
        self._write(DRAIN, {"version": drain.version, "wall": drain.wall, "done": drain.done})

    def _read(self, name: str) -> dict[str, object] | None:
        try:
            read = json.loads(bytes(self.files.read(name)))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StateError(
                f"{self.where}/{name} is damaged",
                hint="Bring the file back from a copy, or start anew with an empty checkpoint.",
            ) from error
        assert isinstance(read, dict), f"{name} holds an object"
        return read

    def _write(self, name: str, what: dict[str, object]) -> None:
        draft = self.files.draft(name)
        draft.write(json.dumps(what).encode())
        draft.publish()
        draft.sync()
