"""What is written while a shard works, and how it comes to the disk.

Log files are forced to the disk while the shard runs on: a version is waited for only before the
answer of its last level, for until then Spark has not committed the batch, and would run it again
from its sources. Snapshots are written to memory at once, and to the disk while nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from windrow.core.errors import StateError, WindrowError
from windrow.operators.task import Saved
from windrow.runtime.shards.clocks import Moment
from windrow.runtime.shards.entry import EntryWriter, Step
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.files import Draft
from windrow.runtime.shards.store import Store

SMALLEST_LOG = 8 << 20
"""Bytes of log below which no snapshot is worth its writing."""
SMALLEST_FILE = 4096
"""Bytes that a file takes at least: a long log of tiny files is slow to read as well."""
KEPT_SNAPSHOTS = 2
TROUBLES = 10
"""How many of the last failures that stopped nobody are told."""


@dataclass(slots=True)
class Ledger:
    """The writing side of a store. `bases` are snapshots that are known to be good, oldest first.

    `log_bytes` is how much must be read and done again from the newest of them on.
    """

    store: Store
    bases: list[int] = field(default_factory=list)
    log_bytes: int = 0
    troubles: list[str] = field(default_factory=list)
    _disk: ThreadPoolExecutor = field(init=False)
    _chores: ThreadPoolExecutor = field(init=False)
    _syncing: list[Future[None]] = field(default_factory=list)
    _snapshot: Future[None] | None = None

    def __post_init__(self) -> None:
        self._disk = ThreadPoolExecutor(1, "disk")
        self._chores = ThreadPoolExecutor(1, "chores")  # long ones: no request waits for them

    @property
    def is_durable(self) -> bool:
        """Tell whether everything that was published has been waited for."""
        return not self._syncing

    def start_from(self, base: int) -> None:
        """A snapshot was read, and is good."""
        self.bases, self.log_bytes = [base], 0

    def replayed(self, size: int) -> None:
        """A log file of this size was done again."""
        self.log_bytes += max(SMALLEST_FILE, size)

    def publish(
        self, writer: EntryWriter, step: Step, after: int, moment: Moment | None = None
    ) -> None:
        """Let a log file appear; begin to force it to the disk."""
        writer.publish(self.store.shard, step, after, moment)
        self.log_bytes += max(SMALLEST_FILE, writer.size)
        self._syncing.append(self._disk.submit(self._sync, writer.draft, step))

    def _sync(self, draft: Draft, step: Step) -> None:
        """Force a file to the disk, or take it away: who tries again must not believe it."""
        try:
            draft.sync()
        except StateError:
            draft.abandon()
            self.store.remove(step)
            raise

    def wait(self) -> None:
        """Return when all that was published would survive a loss of power."""
        fault("before-sync")
        waiting, self._syncing = self._syncing, []
        for future in waiting:
            future.result()
        self.store.files.sync(self.store.log)
        fault("after-sync")

    def forget(self) -> None:
        """What was published belongs to a state that is no more."""
        self._syncing.clear()

    def wants_snapshot(self, version: int, state_bytes: int) -> bool:
        """Tell whether the log has grown to the size of the state."""
        if version in self.bases or (self._snapshot is not None and not self._snapshot.done()):
            return False
        return self.log_bytes >= max(SMALLEST_LOG, state_bytes)

    def write_snapshot(self, version: int, state: Saved) -> None:
        """Write the state of a version; it counts when it is on the disk."""
        try:
            draft = self.store.write_snapshot(version, state)
        except StateError as error:
            self.trouble(error)
            self.log_bytes //= 2  # try again when as much has come once more
            return
        self.log_bytes = 0
        self._snapshot = self._chore(partial(self._publish_snapshot, version, draft))

    def _publish_snapshot(self, version: int, draft: Draft) -> None:
        fault("before-snapshot-rename")
        try:
            draft.publish()
            draft.sync()
            self.store.files.sync(self.store.snapshots)
        except StateError:
            draft.abandon()
            raise
        self.bases.append(version)
        fault("after-snapshot")

    def remove_unneeded(self) -> None:
        """Remove what no kept snapshot needs. Call when the newest one's version is committed."""
        if len(self.bases) > KEPT_SNAPSHOTS:
            self.bases = self.bases[-KEPT_SNAPSHOTS:]
            self._chore(partial(self.store.remove_before, self.bases[0]))

    def _chore(self, work: Callable[[], None]) -> Future[None]:
        """Do something that no request waits for; it is told in `troubles` if it fails."""

        def done() -> None:
            try:
                work()
            except (StateError, OSError) as error:
                self.trouble(error)

        return self._chores.submit(done)

    def trouble(self, error: Exception) -> None:
        """Note a failure that stopped nobody."""
        text = error.message if isinstance(error, WindrowError) else str(error)
        self.troubles = [*self.troubles, text][-TROUBLES:]

    def close(self) -> None:
        """Return when everything that was begun is written."""
        self._disk.shutdown()
        self._chores.shutdown()
