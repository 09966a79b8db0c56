"""How far a shard is with rebuilding its state, for whoever waits: a small file in the checkpoint.

    DIR/shards/0003/rebuilding.json    there while shard 3 loads a snapshot and replays its log

The driver, every executor and `windrow state` reach the checkpoint, wherever the shard's process
is. A file of a process that was killed is old, and not believed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from windrow.core.errors import StateError
from windrow.runtime.shards.entry import LogStep, read_footer
from windrow.runtime.shards.files import Files, open_files
from windrow.runtime.shards.store import Store

NAME = "rebuilding.json"
BETWEEN_SECONDS = 0.5
OLD_SECONDS = 60.0
QUIET_ROWS, QUIET_BYTES = 100_000, 32 << 20
"""A rebuild that is over in a moment is not shown."""


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """Rows of log that a shard has replayed, of how many.

    `snapshot`: the version whose snapshot it started from; 0 if it had none.
    `at`: when this was so, in seconds since 1970. `seconds`: how long it has worked on it.
    """

    shard: int
    snapshot: int
    snapshot_bytes: int
    rows: int
    of_rows: int
    seconds: float
    at: float

    def shown(self) -> str:
        """Return it for people.

        >>> Rebuilding(0, 40, 1 << 20, 1_200_000, 4_000_000, 2.0, 0.0).shown()
        'shard 0: 1,200,000 of 4,000,000 rows replayed'
        >>> Rebuilding(0, 40, 310 << 20, 0, 0, 2.0, 0.0).shown()
        'shard 0: loads its snapshot'
        """
        if not self.rows and self.snapshot:
            return f"shard {self.shard}: loads its snapshot"
        return f"shard {self.shard}: {self.rows:,} of {self.of_rows:,} rows replayed"


@dataclass(slots=True)
class RebuildReport:
    """The writing side. It is written now and then, and removed at the end."""

    store: Store
    snapshot: int = 0
    snapshot_bytes: int = 0
    rows: int = 0
    of_rows: int = 0
    began: float = field(default_factory=time.monotonic)
    _written: float | None = None

    @property
    def path(self) -> str:
        """Where it is in the checkpoint."""
        return _path(self.store.shard)

    def load(self, base: int, steps: Iterable[LogStep]) -> None:
        """A snapshot is about to be loaded, and files of the log to be replayed after it."""
        self.snapshot, self.snapshot_bytes = base, self.store.kept().get(base, 0)
        self.rows = 0
        self.of_rows = sum(_rows_in(self.store, step) for step in steps)
        if self.of_rows > QUIET_ROWS or self.snapshot_bytes > QUIET_BYTES:
            self._write()

    def replayed(self, rows: int) -> None:
        """So many more rows of the log are applied."""
        self.rows += rows
        if self._written is not None and time.monotonic() - self._written > BETWEEN_SECONDS:
            self._write()

    def _write(self) -> None:
        """Replace the file. It need not survive a loss of power, nor be written at all."""
        self._written = time.monotonic()
        progress = Rebuilding(
            self.store.shard,
            self.snapshot,
            self.snapshot_bytes,
            self.rows,
            self.of_rows,
            time.monotonic() - self.began,
            time.time(),
        )
        with suppress(StateError, OSError):
            draft = self.store.files.draft(self.path)
            draft.write(json.dumps(asdict(progress)).encode())
            draft.publish()
            draft.abandon()

    def end(self) -> None:
        """The shard is rebuilt, or cannot be."""
        if self._written is not None:
            with suppress(StateError, OSError):
                self.store.files.remove(self.path)
            self._written = None


def _path(shard: int) -> str:
    return f"shards/{shard:04}/{NAME}"


def _rows_in(store: Store, step: LogStep) -> int:
    """Return the rows of a log file; 0 if it cannot be read: the replay finds out why."""
    with suppress(StateError, OSError):
        return read_footer(store.files, f"{store.log}/{step}").rows
    return 0


def rebuilding_of(checkpoint: str, shards: int) -> list[Rebuilding]:
    """Return the shards of a checkpoint that are being rebuilt now."""
    files = open_files(checkpoint)
    found = (_read(files, number) for number in range(shards))
    return [each for each in found if each is not None and time.time() - each.at < OLD_SECONDS]


def _read(files: Files, shard: int) -> Rebuilding | None:
    with suppress(FileNotFoundError, StateError, ValueError, TypeError):
        return Rebuilding(**json.loads(bytes(files.read(_path(shard)))))
    return None
