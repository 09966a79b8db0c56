"""One shard and its versions: brought to where a request needs it, logged before it answers.

    at          (version, stage): stage 0 has the rows of level 0, stage n has run level n-1
    whole       the last stage: all levels have run

A request names its version, so it can come twice, or late, or to a process that knows nothing:
what is held is given again, what is behind is refused, what is missing is rebuilt from disk.
An answer comes slice by slice; one that is too large to hold is not, and made again if asked for.

Invariants, asserted by `check`:
  1. the shard's state is that of `at`, or there is no shard: an error in the middle drops it;
  2. `answers` are those of version `at[0]`, of stages that it has passed;
  3. a file of the log is published before the shard does what it says, and all files of a version
     are on the disk before the answer of its last level is given.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

from windrow.core.errors import StateError
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.due import is_worth_a_last
from windrow.runtime.shards.entry import INGEST, STEP, LogStep
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.ledger import Ledger
from windrow.runtime.shards.limits import check_memory, resident, state_bytes, state_rows
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.rebuilding import RebuildReport
from windrow.runtime.shards.receipt import Receipt
from windrow.runtime.shards.shard import Shard
from windrow.runtime.shards.store import Store
from windrow.runtime.shards.wire import Stepped

HELD_BYTES = 1 << 28
"""Bytes of an answer up to which it is held, for a task that is run again."""

LAST_BYTES = 4 << 30
"""Bytes of state up to which a snapshot is written when a process ends: about ten seconds."""

APPLYING = "kernel"
"""The `seconds` that operators work; a replay takes about as long."""

NOTHING_YET: dict[str, object] = {"rows_in": 0, "late": {}, "queries": {}}
"""The stats of a shard that has no state here."""


@dataclass(slots=True)
class Keeper:
    """A shard of a program, at work on its store. Not for two threads at once."""

    program: Program
    number: int
    store: Store
    limit: int
    shard: Shard | None = None
    at: tuple[int, int] = (0, 0)
    after: int = 0
    newest: int = 0
    times: dict[str, InputTimes] | None = None
    batch_clock: BatchClock | None = None
    answers: dict[int, list[Stepped]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.store)
        self.at = (0, self.levels)
        self.store.make_ready()
        self.newest = max((step.version for step in self.store.logged()), default=0)

    @property
    def levels(self) -> int:
        """How many levels the program has."""
        return self.store.levels

    @property
    def is_whole(self) -> bool:
        """Return whether there is a state, and all levels of its version have run."""
        return self.shard is not None and self.at[1] == self.levels

    # Requests

    def rebuild_ahead(self) -> None:
        """Bring the shard to its newest whole version, before anybody asks for it.

        Its answers may be given again then, so what it was made of is forced to the disk: who
        wrote it may have died before. The next request raises what keeps the shard from that.
        """
        last = self.levels - 1
        whole = [s.version for s in self.store.logged() if (s.level, s.kind) == (last, STEP)]
        if not whole or self.shard is not None:
            return
        with suppress(StateError):
            self._bring_to((max(whole), self.levels))
            self.ledger.sync_version(max(whole))

    def known_times(self, version: int) -> dict[str, InputTimes] | None:
        """Return the times of a version if it is ingested; else make ready for its rows."""
        if self.at[0] == version and self.times is not None and self.shard is not None:
            return self.times
        self._refuse_past(version)
        if self.at[0] != version:
            self.seconds = {}
        self._bring_to((self.store.before(version), self.levels))
        self.answers.clear()
        return None

    def ingest(self, version: int, receipt: Receipt) -> dict[str, InputTimes]:
        """Take the rows of level 0 that a version brings; return the times of each input."""
        with self._logging(receipt):
            known = self.known_times(version)
            if known is not None:
                receipt.abandon()
                return known
            fault("before-log-write")
            self.ledger.publish(receipt.writer, LogStep(version, 0, INGEST), self.at[0])
            self._add_seconds(receipt)
        with self._dirty_on_error("kernel"):
            self._begin(version)
            times = self._take(receipt.tables())
        fault("before-ingest-answer")
        return times

    def known_answer(self, version: int, level: int) -> list[Stepped] | None:
        """Return the answer if the step was done and it is held; else make ready for it."""
        if self.at[0] == version and level in self.answers:
            return self.answers[level]
        self._refuse_past(version)
        self._bring_to((version, level))
        return None

    def step(
        self, version: int, level: int, receipt: Receipt, batch_clock: BatchClock | None = None
    ) -> Iterator[Stepped]:
        """Run one level, with the rows that the one below gave, up to the moment of level 0.

        Give the answer slice by slice. Who does not take all of it leaves no shard behind.
        """
        with self._logging(receipt):
            known = self.known_answer(version, level)
            if known is not None:
                receipt.abandon()
                return iter(known)
            batch_clock = batch_clock if level == 0 else self.batch_clock
            assert batch_clock is not None, "level 0 is given the batch clock"
            self.ledger.publish(
                receipt.writer, LogStep(version, level, STEP), self.after, batch_clock
            )
            self._add_seconds(receipt)
        self.batch_clock = batch_clock
        fault("before-step")
        return self._answered(level, self._run(level, receipt.tables(), batch_clock))

    def _answered(self, level: int, slices: Iterator[Stepped]) -> Iterator[Stepped]:
        """Yield slices: the first when the log is on the disk, each if there is room for it."""
        durable = level < self.levels - 1
        while True:
            with self._dirty_on_error("kernel"):
                piece = next(slices, None)
            if piece is None:
                return
            fault("after-step")
            with self._dirty_on_error("sync"):
                if not durable:
                    self.ledger.wait()
                durable = True
                assert self.shard is not None
                check_memory(self.shard.stats(), self.limit, self.number)
            with self._dirty_on_error("send"):
                yield piece
            fault("between-slices")

    def settle(self) -> None:
        """Begin a snapshot if one is due (`due.py`). Call when idle."""
        if self.shard is None or not self.is_whole:
            return
        if self.ledger.wants_snapshot(self.at[0], state_rows(self.shard.stats())):
            with self.timed("snapshot"):
                self.ledger.write_snapshot(self.at[0], self.shard.save)

    def finish(self) -> None:
        """Begin a last snapshot, if much of the log would be replayed. Call before `close`.

        The next start then only has to load it. A huge state would take too long to write.
        """
        if self.shard is None or not self.is_whole or self.at[0] in self.ledger.bases:
            return
        stats = self.shard.stats()
        if is_worth_a_last(self.ledger.log) and state_bytes(stats) <= LAST_BYTES:
            self.ledger.wait_for_snapshot()
            self.ledger.write_snapshot(self.at[0], self.shard.save)

    def stats(self) -> dict[str, object]:
        """Return the report of the shard and of its process.

        One that is lost after its answer is asked for its stats in its next life: it is rebuilt.
        """
        if self.shard is None and self.store.has(LogStep(self.newest, self.levels - 1, STEP)):
            self._bring_to((self.newest, self.levels))
        inside = NOTHING_YET if self.shard is None else self.shard.stats()
        return {
            **inside,
            "version": self.at[0],
            "whole": self.is_whole,
            "log_bytes": self.ledger.log.size,
            "log_rows": self.ledger.log.rows,
            "snapshots": self.ledger.bases,
            "troubles": self.ledger.troubles,
            "process_bytes": resident(),
            "memory_limit": self.limit,
            "seconds": self.seconds,
        }

    def close(self) -> None:
        """Wait for the disk; forget the state."""
        self.ledger.close()
        self.shard = None

    def check(self) -> None:
        """Assert the invariants."""
        assert 0 <= self.at[1] <= self.levels, "invariant 1: no such stage"
        assert all(level < self.at[1] for level in self.answers), "invariant 2: not yet run"
        if self.shard is not None and self.at[1] == self.levels:
            assert self.ledger.is_durable, "invariant 3: answered before it was durable"

    # What a version does

    def _begin(self, version: int) -> None:
        """Leave the whole version behind: it is committed, and what only it needed can go."""
        assert self.at[1] == self.levels, "a version begins when the one before is whole"
        self.after = self.at[0]
        self.at = (version, -1)
        self.newest = max(self.newest, version)
        self.times = None
        self.answers.clear()
        self.ledger.begin()

    def _take(self, tables: Iterator[tuple[int, object]]) -> dict[str, InputTimes]:
        assert self.shard is not None
        for port, table in tables:
            self.shard.ingest(port, table)
        self.times = self.shard.times()
        self.at = (self.at[0], 0)
        return self.times

    def _run(
        self, level: int, tables: Iterator[tuple[int, object]], batch_clock: BatchClock
    ) -> Iterator[Stepped]:
        """Yield what a level gives, and hold it if it is not too much."""
        assert self.shard is not None
        for port, table in tables:
            self.shard.ingest(port, table)
        held: list[Stepped] = []
        size = 0
        for piece in self.shard.slices(level, batch_clock):
            size += piece.nbytes
            held.append(piece)
            if size > HELD_BYTES:
                held.clear()
            yield piece
        self.at = (self.at[0], level + 1)
        if size <= HELD_BYTES:
            self.answers[level] = held

    # Where a request needs the shard

    def _refuse_past(self, version: int) -> None:
        if version < self.newest:
            raise StateError(
                f"version {version} of shard {self.number} is past: it is at {self.newest}",
                detail="A later batch has begun, so this one is committed and its answer is gone.",
                hint="If Spark's own checkpoint was set back, set this one back with it.",
            )

    def _bring_to(self, target: tuple[int, int]) -> None:
        """Bring the shard to a version and stage: from here if it can, else from the disk."""
        if self.shard is not None and self.at == target:
            return
        with self.timed("replay"):
            if self.shard is not None and self.at < target:
                try:
                    self._replay(target)
                except StateError:
                    self.shard = None
            if self.shard is None or self.at != target:
                self._rebuild(target)

    def _rebuild(self, target: tuple[int, int]) -> None:
        """Load the newest snapshot that can be used, and replay the log after it."""
        version, stage = target
        head = version if stage == self.levels else self.store.before(version)
        bases = [v for v in self.store.kept() if v <= head]
        failures: list[StateError] = []
        report = RebuildReport(self.store)
        try:
            for base in [*reversed(bases), 0]:
                try:
                    self._load(base, report)
                    self._replay(target, report)
                except StateError as error:
                    self.shard = None
                    failures.append(error)
                    continue
                for failure in failures:
                    self.ledger.trouble(failure)
                return
        finally:
            report.end()
        raise hopeless(failures)

    def _load(self, base: int, report: RebuildReport) -> None:
        self.shard = None
        report.load(base, [step for step in self.store.logged() if step.version > base])
        state = self.store.read_snapshot(base) if base else None
        self.shard = Shard(self.program, self.number)
        if state is not None:
            self.shard.load(state)
        self.at, self.after = (base, self.levels), base
        self.ledger.start_from(base)
        self.times = None
        self.answers.clear()

    def _replay(self, target: tuple[int, int], report: RebuildReport | None = None) -> None:
        """Do again what the log says, from where the shard is."""
        version, stage = target
        whole = stage == self.levels
        if self.at[1] != self.levels and self.at[0] != version:
            raise StateError("another process has gone on where this one stopped in the middle")
        report = report or RebuildReport(self.store)
        with self._dirty_on_error():
            if self.at[1] == self.levels:
                head = version if whole else self.store.before(version)
                for each in self.store.chain(self.at[0], head):
                    self._replay_version(each, self.levels, report)
            if not whole:
                self._replay_version(version, stage, report)

    def _replay_version(self, version: int, stage: int, report: RebuildReport) -> None:
        began = time.perf_counter()
        if self.at[0] != version:
            report.replayed(self._begin_again(version))
        for level in range(self.at[1], stage):
            entry = self.store.read(LogStep(version, level, STEP))
            self.batch_clock = entry.footer.batch_clock
            assert self.batch_clock is not None, "a step has its batch clock"
            for _ in self._run(level, entry.tables(), self.batch_clock):
                pass
            self.ledger.replayed(entry)
            report.replayed(entry.footer.rows)
            fault("half-replay")
        self.ledger.applied(time.perf_counter() - began)

    def _begin_again(self, version: int) -> int:
        """Give the shard the rows of level 0 once more; return how many. A drain may have none."""
        ingest = LogStep(version, 0, INGEST)
        self._begin(version)
        if version % 2 and not self.store.has(ingest):
            self._take(iter(()))
            return 0
        entry = self.store.read(ingest)
        if entry.footer.after != self.after:
            raise StateError(
                f"version {version} of shard {self.number} is built on {entry.footer.after}, "
                f"but {self.after} is what was found"
            )
        self.ledger.replayed(entry)
        self._take(entry.tables())
        return entry.footer.rows

    # Care

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Add the time that is spent inside to the `seconds` of this version."""
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds[what] = self.seconds.get(what, 0.0) + spent
            if what == APPLYING:
                self.ledger.applied(spent)

    def _add_seconds(self, receipt: Receipt) -> None:
        for what, spent in receipt.seconds.items():
            self.seconds[what] = self.seconds.get(what, 0.0) + spent

    @contextmanager
    def _logging(self, receipt: Receipt) -> Iterator[None]:
        """Forget rows that do not come into the log; the state is as it was."""
        try:
            with self.timed("log"):
                yield
        except BaseException:
            receipt.abandon()
            raise

    @contextmanager
    def _dirty_on_error(self, what: str = "") -> Iterator[None]:
        """Drop the state if anything goes wrong inside. `what` is timed; "" is timed elsewhere."""
        try:
            with self.timed(what) if what else nullcontext():
                yield
        except BaseException:
            self.shard = None
            self.times = None
            self.answers.clear()
            self.ledger.forget()
            raise


def hopeless(failures: list[StateError]) -> StateError:
    """Return the error of a shard that cannot be rebuilt: why not, from each snapshot on."""
    first, *others = dict.fromkeys((f.message, f.detail) for f in failures)
    older = "".join(f" Nor from an older snapshot: {message}." for message, _ in others)
    return StateError(first[0], detail=first[1] + older, hint=failures[0].hint)
