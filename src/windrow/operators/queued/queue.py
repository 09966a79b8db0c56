"""A first-in-first-out queue between two operators [NEG 3.2], with messages among its rows.

An entry is a row of the edge, of either sign, or a *message*: "what ends up to this time is over".
A message has no columns. It stands for the negative tuples of all results with that end (a join
message), or of all with an end up to it (a piggybacked one): on an edge whose rows have their ends
the reader finds them by itself.

    ts        3      5      5      8
    entry   row  message  row  message        `at`: when each came into the queue
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import BEGINNING, FOREVER
from windrow.kernels.queues import weave
from windrow.operators.delta import Delta
from windrow.operators.state.backlog import batch_bytes, batch_codes, loaded_delta, saved_delta
from windrow.operators.state.fields import State
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Bools

ANY = 1 << 62
"""As many entries as there are."""
MANY = 64
"""Messages that may wait before it is seen which of them nobody will read."""


@dataclass(slots=True)
class Entries:
    """Entries in order of `ts` and of `at`; `is_row` says which are rows of `delta`, in order."""

    ts: I64
    at: I64
    is_row: Bools
    delta: Delta

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def messages(self) -> int:
        """How many entries are messages."""
        return len(self) - len(self.delta)

    @classmethod
    def of(cls, delta: Delta, at: I64, messages: I64, messages_at: I64) -> Entries:
        """Return rows and messages merged by time; at one instant messages come first."""
        if not len(messages):
            return cls(delta.ts, at, np.ones(len(delta), np.bool_), delta)
        total = len(delta) + len(messages)
        ts, came = np.empty(total, np.int64), np.empty(total, np.int64)
        is_row = np.empty(total, np.bool_)
        weave((delta.ts, at), (messages, messages_at), ts, came, is_row)
        return cls(ts, came, is_row, delta)

    def split(self, n: int) -> tuple[Entries, Entries]:
        """Return the first n entries, and the others."""
        rows = int(np.count_nonzero(self.is_row[:n]))
        head = Entries(self.ts[:n], self.at[:n], self.is_row[:n], self.delta.slice(0, rows))
        rest = self.delta.slice(rows, len(self.delta))
        return head, Entries(self.ts[n:], self.at[n:], self.is_row[n:], rest)

    @classmethod
    def concat(cls, parts: list[Entries]) -> Entries:
        """Return parts of one queue as one."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([p.ts for p in parts]),
            np.concatenate([p.at for p in parts]),
            np.concatenate([p.is_row for p in parts]),
            Delta.concat([p.delta for p in parts]),
        )

    def purged(self, *, more: bool) -> Entries:
        """Return the entries without messages that another entry follows [NEG 7].

        That entry carries their news by its own time. `more`: entries follow behind these.
        """
        kept = self.is_row.copy()
        if len(kept) and not more:
            kept[-1] = True
        return Entries(self.ts[kept], self.at[kept], self.is_row[kept], self.delta)

    def thinned(self, now: int) -> Entries:
        """Return the entries without messages between two others, all of them there at `now`.

        The first of a row of messages says since when, and for which time, something waits; the
        last has the news of all.
        """
        message = ~self.is_row & (self.at <= now)
        kept = np.ones(len(self), np.bool_)
        kept[1:-1] = ~(message[:-2] & message[1:-1] & message[2:])
        return Entries(self.ts[kept], self.at[kept], self.is_row[kept], self.delta)

    def carriers(self) -> int:
        """Return how many entries follow a message directly: those would get its flag."""
        return int(np.count_nonzero(~self.is_row[:-1] & self.is_row[1:]))


@dataclass(slots=True)
class QueueCounts:
    """What has passed through a queue. `carriers` are entries that got the PGFlag of NEG 7."""

    rows: int = 0
    messages: int = 0
    purged: int = 0
    carriers: int = 0
    longest: int = 0


@dataclass(slots=True)
class Queue(State):
    """Entries that wait for one operator. With `purges`, messages are dropped as others follow.

    `reached`: the time of the last entry that was taken out, read or dropped.

    Invariants, asserted by `check`:
      1. `ts` and `at` ascend;
      2. parts are not empty, and each has as many rows as it says.
    """

    schema: Schema
    signed: bool
    purges: bool
    counts: QueueCounts = field(default_factory=QueueCounts)
    reached: int = BEGINNING
    _parts: deque[Entries] = field(default_factory=deque)
    _waiting: int = 0
    _rows: int = 0
    _idle: int = 0  # messages behind all rows, at most
    _many: int = field(default_factory=lambda: MANY)

    def __len__(self) -> int:
        """Return how many entries are to be read: not those that will be dropped."""
        if not self.purges or not self._parts:
            return self._waiting
        return self._rows + int(not self._parts[-1].is_row[-1])

    def put(self, entries: Entries) -> None:
        """Add entries at the end."""
        if not len(entries):
            return
        self._parts.append(entries)
        self._waiting += len(entries)
        self._rows += len(entries.delta)
        self._idle = 0 if len(entries.delta) else self._idle + len(entries)
        self.counts.longest = max(self.counts.longest, len(self))

    def thin(self, now: int) -> None:
        """Drop messages behind all rows that a read at `now` or later would drop.

        Only where the operator has no other queue: it then reads up to the last that is there.
        O(1) a message, amortised; what waits is bounded by rows, however long nobody reads.
        """
        if not self.purges or self._idle < self._many:
            return
        # Messages behind the last row; a part with rows ends the search.
        tail: list[Entries] = []
        while self._parts and not len(self._parts[-1].delta):
            tail.append(self._parts.pop())
        self._idle = 0
        if tail:
            whole = Entries.concat(tail[::-1])
            thin = whole.thinned(now)
            self._parts.append(thin)
            self._waiting -= len(whole) - len(thin)
            self.counts.purged += len(whole) - len(thin)
            self._idle = len(thin)
        # Not again before as many have come once more.
        self._many = max(MANY, 2 * self._idle)

    @property
    def head(self) -> int:
        """The time of the first entry; FOREVER if there is none."""
        return int(self._parts[0].ts[0]) if self._parts else FOREVER

    @property
    def since(self) -> int:
        """When the first entry came in; FOREVER if there is none."""
        return int(self._parts[0].at[0]) if self._parts else FOREVER

    def newest(self, now: int) -> int:
        """Return the time of the last entry there at `now`; BEGINNING without any."""
        for part in reversed(self._parts):
            there = int(part.at.searchsorted(now, side="right"))
            if there:
                return int(part.ts[there - 1])
        return BEGINNING

    def last(self, now: int, most: int = ANY) -> tuple[int | None, int]:
        """Return the time of the last entry there at `now` of the first so many; None without any.

        Also return the time of the entry behind it, there or still to come; FOREVER without one.
        Where messages are dropped as others follow, they do not count among so many.
        """
        left, found = most, None
        for part in self._parts:
            there = int(np.searchsorted(part.at, now, side="right"))
            n, counted = self._first(part, there, left)
            if n:
                found = int(part.ts[n - 1])
            left -= counted
            if n < len(part):
                return found, int(part.ts[n])
        return found, FOREVER

    def _first(self, part: Entries, there: int, most: int) -> tuple[int, int]:
        """Return how many entries hold the first `most` that count, and how many count."""
        if not self.purges or most <= 0:
            n = max(0, min(there, most))
            return n, n
        rows = np.flatnonzero(part.is_row[:there])
        if len(rows) < most:
            return there, len(rows)
        return int(rows[most - 1]) + 1, most

    def take(self, clock: int, now: int, most: int = ANY, newest: int = BEGINNING) -> Entries:
        """Remove and return the first entries up to `clock` that were there at `now`, up to `most`.

        What is there in other queues of the operator follows messages before `newest`.
        """
        taken: list[Entries] = []
        left = most
        while self._parts and left:
            # Of the first part, what is old enough and was there; the rest goes back.
            part = self._parts.popleft()
            n = min(
                int(np.searchsorted(part.ts, clock, side="right")),
                int(np.searchsorted(part.at, now, side="right")),
            )
            if n < len(part):
                part, rest = part.split(n)
                self._parts.appendleft(rest)
            # Messages that are dropped have been read, too: they say how far the operator comes.
            reached = int(part.ts[-1]) if n else self.reached
            part = self._purge(part, now, newest)
            if len(part) > left:
                part, rest = part.split(left)
                reached = int(part.ts[-1])
                self._parts.appendleft(rest)
                self._waiting += len(rest)
            self.reached = reached
            left -= len(part)
            if len(part):
                taken.append(part)
            if n == 0 or (self._parts and self._parts[0].ts[0] > clock):
                break
        return self._counted(Entries.concat(taken) if taken else self._nothing())

    def _purge(self, part: Entries, now: int, newest: int) -> Entries:
        """Leave out messages that need not be read, and count the part as taken."""
        self._waiting -= len(part)
        if not self.purges or len(part.delta) == len(part):
            return part
        more = bool(self._parts) and self.since <= now
        kept = part.purged(more=more or part.ts[-1] < newest)
        self.counts.purged += len(part) - len(kept)
        self.counts.carriers += part.carriers()
        return kept

    def _counted(self, taken: Entries) -> Entries:
        self._rows -= len(taken.delta)
        self.counts.rows += len(taken.delta)
        self.counts.messages += taken.messages
        return taken

    def _nothing(self) -> Entries:
        none = np.empty(0, np.int64)
        empty = Delta.empty(self.schema, signed=self.signed)
        return Entries(none, none, np.empty(0, np.bool_), empty)

    @property
    def nbytes(self) -> int:
        """Exact size of what waits."""
        entries = sum(p.ts.nbytes + p.at.nbytes + p.is_row.nbytes for p in self._parts)
        return entries + sum(batch_bytes(part.delta) for part in self._parts)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that waiting rows refer to."""
        return [codes for part in self._parts for codes in batch_codes(part.delta)]

    def content(self, rows: int) -> Saved:
        """Return what waits."""
        return {"parts": [[p.ts, p.at, p.is_row, saved_delta(p.delta)] for p in self._parts]}

    def take_over(self, saved: Saved) -> None:
        """Take over what waited."""
        parts = cast("list[tuple[I64, I64, Bools, Saved]]", saved["parts"])
        self._parts = deque(
            Entries(ts, at, is_row, loaded_delta(rows, self.schema))
            for ts, at, is_row, rows in parts
        )
        self._waiting = sum(map(len, self._parts))
        self._rows = sum(len(part.delta) for part in self._parts)

    def invariants(self) -> None:
        """Assert the invariants."""
        for name in ("ts", "at"):
            times = np.concatenate([getattr(p, name) for p in self._parts] or [np.empty(0)])
            assert (times[1:] >= times[:-1]).all(), f"invariant 1: {name} does not ascend"
        for part in self._parts:
            assert len(part), "invariant 2: an empty part"
            rows = int(np.count_nonzero(part.is_row))
            assert rows == len(part.delta), "invariant 2: rows are missing"
        assert self._rows == sum(len(p.delta) for p in self._parts), "invariant 2: rows are missing"
        assert self._waiting == sum(map(len, self._parts)), "invariant 2: entries are missing"
