"""What is written while a shard works, and how it comes to the disk.

Log files are forced to the disk while the shard runs on: a version is waited for only before the
answer of its last level, for until then Spark has not committed the batch, and would run it again
from its sources. Snapshots are written by a process that is forked off, while the shard runs on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial

from windrow.core.errors import StateError, WindrowError
from windrow.operators.task import Saved
from windrow.runtime.shards.apart import Apart, start_apart
from windrow.runtime.shards.clocks import BatchClock
from windrow.runtime.shards.due import LogSize, Written, why_due
from windrow.runtime.shards.entry import EntryWriter, LogEntry, LogStep
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.files import Draft, SharedDraft, clear_errors
from windrow.runtime.shards.store import Store
from windrow.runtime.shards.wire import ShardError

SMALLEST_FILE = 4096
"""Bytes that a file takes at least: a long log of tiny files is slow to read as well."""
KEPT_SNAPSHOTS = 2
TROUBLES = 10
"""How many of the last failures that stopped no request are kept."""
END_SECONDS = 20.0
"""What a snapshot that is being written may still take when the process ends: less than a process
that is started meanwhile waits for this one (`server.LOCK_SECONDS`)."""


@dataclass(slots=True)
class Ledger:
    """The writing side of a store. `bases` are snapshots that are known to be good, oldest first.

    `log` is how much must be read and done again from the newest of them on, `last` what that one
    is. `asked`: after how many rows the user wants one. `_failed` is the log that a snapshot which
    failed was to take the place of.
    """

    store: Store
    bases: list[int] = field(default_factory=list)
    log: LogSize = field(default_factory=LogSize)
    last: Written | None = None
    troubles: list[str] = field(default_factory=list)
    asked: int | None = None
    _disk: ThreadPoolExecutor = field(init=False)
    _chores: ThreadPoolExecutor = field(init=False)
    _syncing: list[Future[None]] = field(default_factory=list)
    _snapshot: Future[None] | None = None
    _apart: Apart | None = None
    _failed: LogSize | None = None

    def __post_init__(self) -> None:
        self._disk = ThreadPoolExecutor(1, "disk")
        self._chores = ThreadPoolExecutor(1, "chores")  # long ones: no request waits for them

    @property
    def is_durable(self) -> bool:
        """Return whether everything that was published has been waited for."""
        return not self._syncing

    def start_from(self, base: int) -> None:
        """A snapshot was read, and is good."""
        self.bases, self.log, self._failed = [base], LogSize(), None
        self.last = Written(self.store.kept().get(base, 0)) if base else None

    def begin(self) -> None:
        """A version begins: the one before is committed, and what only it needed can go."""
        self.log.versions += 1
        self.remove_unneeded()

    def replayed(self, entry: LogEntry) -> None:
        """A log file was done again."""
        self.log.add(entry.footer.rows, max(SMALLEST_FILE, entry.body.size))

    def applied(self, seconds: float) -> None:
        """Operators have worked for so long on what the log holds."""
        self.log.seconds += seconds

    def publish(
        self, writer: EntryWriter, step: LogStep, after: int, batch_clock: BatchClock | None = None
    ) -> None:
        """Let a log file appear; begin to force it to the disk."""
        writer.publish(self.store.shard, step, after, batch_clock)
        self.log.add(writer.rows, max(SMALLEST_FILE, writer.size))
        self._syncing.append(self._disk.submit(self._sync, writer.draft, step))

    def _sync(self, draft: Draft, step: LogStep) -> None:
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

    def sync_version(self, version: int) -> None:
        """Force a version that is whole to the disk, whoever has written it."""
        for step in self.store.logged():
            if step.version == version:
                self.store.files.sync(f"{self.store.log}/{step}")
        self.wait()

    def forget(self) -> None:
        """What was published belongs to a state that is no more."""
        self._syncing.clear()

    def wants_snapshot(self, version: int, state_rows: int) -> bool:
        """Return whether a snapshot is due, and none is being written."""
        if version in self.bases or (self._snapshot is not None and not self._snapshot.done()):
            return False
        if self._failed is not None:
            self.log, self._failed = self._failed.halved().plus(self.log), None
        return why_due(self.log, state_rows, self.last, self.asked) is not None

    def write_snapshot(self, version: int, save: Callable[[], Saved]) -> None:
        """Write the state of a version, which `save` returns; it counts when it is on the disk.

        A process that is forked off does so, and nothing waits for it. Where there can be none,
        the state is written here and now.
        """
        began = time.monotonic()
        pending, self.log = self.log, LogSize()
        draft: SharedDraft | None = None
        try:
            draft = self.store.snapshot_draft(version)
            fill = partial(self._fill, draft, version, save)
            self._apart = start_apart(fill, draft.fileno())
            if self._apart is None:
                fill()
        except StateError as error:
            self._give_up(draft, error, pending)
            return
        finish = partial(self._finish_snapshot, version, draft, began, pending)
        self._snapshot = self._chores.submit(finish)

    def _fill(self, draft: SharedDraft, version: int, save: Callable[[], Saved]) -> None:
        self.store.fill_snapshot(draft, version, save())
        with clear_errors("writing", self.store.snapshots):
            os.fsync(draft.fileno())

    def _finish_snapshot(
        self, version: int, draft: SharedDraft, began: float, pending: LogSize
    ) -> None:
        """Publish a snapshot when it is written; the log before it is needed until then."""
        try:
            if self._apart is not None:
                self._apart.wait()
            size = os.fstat(draft.fileno()).st_size
            fault("before-snapshot-rename")
            draft.publish()
            draft.sync()
            self.store.files.sync(self.store.snapshots)
        except (WindrowError, OSError, ShardError) as error:
            self._give_up(draft, error, pending)
            return
        self.last = Written(size, time.monotonic() - began)
        self.bases.append(version)
        fault("after-snapshot")

    def _give_up(self, draft: Draft | None, error: Exception, pending: LogSize) -> None:
        """A snapshot has failed, which stops nobody: the log is enough to go on."""
        self.trouble(error)
        self._failed = pending
        if draft is not None:
            draft.abandon()

    def remove_unneeded(self) -> None:
        """Remove what no kept snapshot needs. Call when the newest one's version is committed."""
        if len(self.bases) > KEPT_SNAPSHOTS:
            self.bases = self.bases[-KEPT_SNAPSHOTS:]
            self._chore(partial(self.store.remove_before, self.bases[0]))

    def _chore(self, work: Callable[[], None]) -> Future[None]:
        """Do something that no request waits for; a failure is in `troubles`."""

        def done() -> None:
            try:
                work()
            except (StateError, OSError) as error:
                self.trouble(error)

        return self._chores.submit(done)

    def trouble(self, error: Exception) -> None:
        """Log a failure that did not stop the run."""
        text = error.message if isinstance(error, WindrowError) else str(error)
        self.troubles = [*self.troubles, text][-TROUBLES:]

    def wait_for_snapshot(self) -> None:
        """Return when the snapshot that is being written is done, or has taken too long."""
        if self._snapshot is not None and self._apart is not None:
            wait([self._snapshot], END_SECONDS)
            if not self._snapshot.done():
                self._apart.end()

    def close(self) -> None:
        """Return when everything that was begun is written; a snapshot is not waited for long."""
        self._disk.shutdown()
        self.wait_for_snapshot()
        self._chores.shutdown()
