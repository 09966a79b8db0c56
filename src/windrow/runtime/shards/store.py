"""A shard's versions on disk: a log of what each brought, and now and then the whole state.

    DIR/windrow.json                          the program, its fingerprint, how many shards
    DIR/plans.json                            the physical plans of the run, as data
    DIR/shards/0000/log/000000000002-0.ingest     rows of level 0 that version 2 brought
    DIR/shards/0000/log/000000000002-0.step       the moment up to which level 0 ran
    DIR/shards/0000/log/000000000002-1.step       rows of level 1, and the moment
    DIR/shards/0000/snapshots/000000000002.state  the state after version 2

Version 2b+2 is what batch b made, 2b+3 what a drain after it made; version 0 is the empty state. A
version is whole when the step of its last level is there. Every version names the one before it,
so a file that is missing is missed: state is a snapshot and an unbroken chain of log after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.core.errors import StateError
from windrow.operators.state.saved import from_bytes, to_parts
from windrow.runtime.shards.entry import (
    STEP,
    EntryWriter,
    LogEntry,
    LogStep,
    damaged,
    read_entry,
    read_footer,
)
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.files import Draft, Files, SharedDraft, is_left_over

if TYPE_CHECKING:
    from windrow.operators.task import Saved

STATE = ".state"


def version_of(batch: int, *, drain: bool = False) -> int:
    """Return the version that batch `batch` makes, or the drain that follows it."""
    return 2 * batch + (3 if drain else 2)


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of one shard. Nothing is cached here: others may write to it as well."""

    files: Files
    shard: int
    levels: int
    fingerprint: str

    @property
    def log(self) -> str:
        """The folder of the log."""
        return f"shards/{self.shard:04}/log"

    @property
    def snapshots(self) -> str:
        """The folder of the snapshots."""
        return f"shards/{self.shard:04}/snapshots"

    def writer(self, step: LogStep) -> EntryWriter:
        """Begin a file of the log."""
        return EntryWriter(self.files.draft(f"{self.log}/{step}"))

    def has(self, step: LogStep) -> bool:
        """Return whether a file of the log is there."""
        return self.files.exists(f"{self.log}/{step}")

    def remove(self, step: LogStep) -> None:
        """Remove a file of the log."""
        self.files.remove(f"{self.log}/{step}")

    def read(self, step: LogStep) -> LogEntry:
        """Return a file of the log; `StateError` if it is missing, damaged or another's."""
        path = f"{self.log}/{step}"
        try:
            entry = read_entry(self.files, path)
        except FileNotFoundError:
            raise missing(path) from None
        if (entry.footer.shard, entry.footer.step) != (self.shard, step):
            raise damaged(path, f"it holds {entry.footer.step} of shard {entry.footer.shard}")
        return entry

    def logged(self) -> dict[LogStep, int]:
        """Return all files of the log with their sizes, in the order of replay."""
        sizes = self.files.sizes(self.log)
        found = {s: size for name, size in sizes.items() if (s := LogStep.named(name)) is not None}
        return dict(sorted(found.items(), key=lambda item: str(item[0])))

    def whole(self, version: int) -> bool:
        """Return whether a version is complete: the step of its last level is there."""
        return version == 0 or self.has(LogStep(version, self.levels - 1, STEP))

    def before(self, version: int) -> int:
        """Return the version that `version` builds on: a drain or a batch, and that is whole."""
        batch = version - 2 + version % 2
        if version % 2 == 0 and version > 2 and self.whole(version - 1):
            return version - 1
        if self.whole(batch):
            return batch
        raise missing(f"{self.log}/{LogStep(batch, self.levels - 1, STEP)}")

    def chain(self, base: int, head: int) -> list[int]:
        """Return the versions after `base` that lead to `head`, in order."""
        found: list[int] = []
        at = head
        while at > base:
            found.append(at)
            path = f"{self.log}/{LogStep(at, 0, STEP)}"
            try:
                at = read_footer(self.files, path).after
            except FileNotFoundError:
                raise missing(path) from None
        if at != base:
            raise StateError(
                f"version {head} of shard {self.shard} is not built on the snapshot of {base}"
            )
        return found[::-1]

    def kept(self) -> dict[int, int]:
        """Return the versions that have a snapshot, with their sizes, oldest first."""
        sizes = self.files.sizes(self.snapshots)
        return {
            int(name.removesuffix(STATE)): sizes[name]
            for name in sorted(sizes)
            if name.endswith(STATE) and name.removesuffix(STATE).isdecimal()
        }

    def snapshot_draft(self, version: int) -> SharedDraft:
        """Begin the file of a snapshot."""
        fault("before-snapshot")
        return self.files.shared_draft(f"{self.snapshots}/{version:012}{STATE}")

    def fill_snapshot(self, draft: Draft, version: int, state: Saved) -> None:
        """Write the state of a version to the file that `snapshot_draft` began."""
        saved = {"fingerprint": self.fingerprint, "shard": self.shard, "version": version}
        for part in to_parts({**saved, "state": state}):
            draft.write(part)
            fault("half-snapshot")

    def write_snapshot(self, version: int, state: Saved) -> Draft:
        """Write the state of a version; return it, to be published and synced."""
        draft = self.snapshot_draft(version)
        try:
            self.fill_snapshot(draft, version, state)
        except BaseException:
            draft.abandon()
            raise
        return draft

    def read_snapshot(self, version: int) -> Saved:
        """Return the state of a version; `StateError` if it is missing, damaged or another's."""
        path = f"{self.snapshots}/{version:012}{STATE}"
        try:
            saved = from_bytes(memoryview(self.files.read(path)))
        except FileNotFoundError:
            raise missing(path) from None
        except StateError as error:
            raise damaged(path, error.message) from error
        found = (saved["fingerprint"], saved["shard"], saved["version"])
        if found != (self.fingerprint, self.shard, version):
            raise damaged(path, "it holds the state of another version, shard or program")
        state = saved["state"]
        assert isinstance(state, dict), "a shard's state is a dict"
        return state

    def remove_before(self, base: int) -> None:
        """Remove what nobody needs who starts from the snapshot of `base`, or from a later one."""
        for step in self.logged():
            if step.version <= base:
                self.remove(step)
                fault("during-removal")
        for version in self.kept():
            if version < base:
                self.files.remove(f"{self.snapshots}/{version:012}{STATE}")

    def make_ready(self) -> None:
        """Make the folders; remove drafts of processes of this host that are no more."""
        for folder in (self.log, self.snapshots):
            self.files.make(folder)
            for name in self.files.sizes(folder):
                if is_left_over(name):
                    self.files.remove(f"{folder}/{name}")


def missing(path: str) -> StateError:
    """Return the error of a file that should be there."""
    return StateError(
        f"{path} is missing from the checkpoint",
        detail="Without it no later version can be rebuilt.",
        hint="Bring the file back from a copy, or start the query anew with an empty checkpoint.",
    )
