"""The handle of a standing query, and instants as users give them, read on the query's clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.core.errors import InputError, StateError
from windrow.core.naming import shown
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.runtime.handles import Tabular
from windrow.runtime.local.explain import explained
from windrow.runtime.local.recipient import Recipient, To, period_of

if TYPE_CHECKING:
    from windrow.runtime.local.database import Database
from collections.abc import Callable
from datetime import UTC, date, datetime
from numbers import Integral
from time import time_ns

from windrow.core.time import Clock
from windrow.plan.functions.moments import FIRST_MOMENT, LAST_MOMENT, parse_timestamp
from windrow.runtime.local.ingest import FARTHEST

Instant = int | str | date | datetime

Now = Callable[[], Instant]
"""Returns what time it is: µs since 1970, ISO text or a datetime."""


def wall_clock() -> int:
    """Return what time it is by the machine, in µs since 1970."""
    return time_ns() // 1000


def counts_ticks(instant: Instant) -> bool:
    """Return whether an instant is a bare number."""
    return isinstance(instant, Integral) and hasattr(instant, "__index__")


def to_instant(instant: Instant, clock: Clock) -> int:
    """Return an instant of the clock: numbers as they are; times from ISO text or datetime.

    >>> to_instant("1970-01-01 00:00:01", Clock.TIMESTAMP), to_instant(7, Clock.TICKS)
    (1000000, 7)
    """
    first, last = (FIRST_MOMENT, LAST_MOMENT) if clock is Clock.TIMESTAMP else (-FARTHEST, FARTHEST)
    found = _number(instant) if clock is Clock.TICKS or counts_ticks(instant) else _moment(instant)
    if found is None or not first <= found <= last:
        kind = "a timestamp" if clock is Clock.TIMESTAMP else "an integer"
        raise InputError(
            f"{shown(instant)} is no instant of this clock",
            hint=f"Give {kind} that is within its range.",
        )
    return found


def _number(instant: Instant) -> int | None:
    return None if isinstance(instant, bool) or not counts_ticks(instant) else int(instant)  # type: ignore[arg-type]


def _moment(instant: object) -> int | None:
    if isinstance(instant, datetime):
        instant = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).isoformat()
    if isinstance(instant, date):
        instant = instant.isoformat()
    return parse_timestamp(instant) if isinstance(instant, str) else None


class QueryHandle(Tabular):
    """Reads one standing query of a database."""

    def __init__(self, db: Database, name: str) -> None:
        self._db = db
        self.name = name

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer; changes have `_ts` and `_sign` before them."""
        return self._db.standing(self.name).query.root.schema.arrow()

    def changes(self) -> pa.Table:
        """Return the changelog since the last call: _ts, _sign (+1, -1), then the columns.

        Of a query that has failed, what it emitted before is returned once.
        """
        running = self._db.standing(self.name)
        return (running if running.unread else self._db.running(self.name)).changes()

    def answer(self, at: Instant | None = None) -> pa.Table:
        """Return the answer now, or at a later instant if nothing else arrives."""
        running = self._db.running(self.name)
        return running.answer(None if at is None else to_instant(at, running.time_type))

    def report(self, *, every: object, to: To) -> Recipient:
        """Call `to(instant, answer)` for every multiple of a period that the query's clock passes.

        The answer is that of the instant, also if the clock passes several at once. `stop()` of
        what is returned ends it. What `to` raises comes out of the call that let time pass, once
        all queries are up to date: that report is missed, and nothing else.
        """
        running = self._db.running(self.name)
        running.require_answer()
        if not callable(to):
            raise InputError(
                f"a report goes to a function, not to {shown(to)}",
                hint="Give a function of an instant and a table: to=lambda at, answer: print(at).",
            )
        return running.report(period_of(every, running.time_type), to)

    def explain(self) -> str:
        """Return the plan: update patterns, then the implementation and state of each operator."""
        return explained(self._db.standing(self.name))

    def stats(self) -> dict[str, object]:
        """Return counters: tuples in and out, negatives, state, probes, late, and the clock."""
        running = self._db.standing(self.name)
        late = {n: len(self._db.late(n)) for n in self._db.streams_of(self.name)}
        changes = {n: len(self._db.late(n)) for n in self._db.relations_of(self.name)}
        rejected = {n: len(self._db.rejected(n)) for n in running.inputs}
        return {
            **running.stats(),
            "held_back_by": self._db.held_back_by(running),
            "late": sum(late.values()) + sum(changes.values()),
            "late_by_stream": late,
            "late_by_relation": changes,
            "rejected": sum(rejected.values()),
            "rejected_by_input": rejected,
        }

    def reoptimize(
        self,
        strategy: str | None = None,
        *,
        join_algorithm: str | None = None,
        early_aggregation: str | None = None,
    ) -> str:
        """Make the plan anew, by what was measured, and go on with it; return what has changed.

        The answer is the same, and so is the changelog, read or not. Without a strategy, a join
        algorithm, or what is aggregated early, the query keeps its own. Raises `StateError`,
        leaving all as it is, where the plan that runs does not hold what the new one needs.
        """
        return self._db.reoptimize(self.name, strategy, join_algorithm, early_aggregation)

    def snapshot(self) -> bytes:
        """Return the query's state, and how far its streams have come.

        Tuples that SLACK still holds back are not in it: they are not part of any answer yet.
        """
        streams = self._db.streams_of(self.name)
        reached = {n: self._db.frontier(n) for n in streams}
        return to_bytes({"query": self._db.running(self.name).snapshot(), "reached": reached})

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of the same query: the query is as then, streams never go back.

        A stream that has not come as far as it had is brought there. One that has gone on since
        stays where it is: what came between is not in the query, and pushed again it is late, but
        for tuples of the very instant that the stream is at. To go back, restore into a new
        database, and push there what came after the snapshot.
        """
        if not isinstance(snapshot, bytes | bytearray | memoryview):
            raise StateError(
                f"a snapshot is bytes, not {shown(snapshot)}",
                hint="Give what snapshot() of the same query has returned.",
            )
        saved = from_bytes(bytes(snapshot))
        query, reached = saved.get("query"), saved.get("reached")
        if not isinstance(query, dict) or not isinstance(reached, dict):
            raise StateError("this is no snapshot of a query")
        self._db.resume(self.name, query, reached)

    def __repr__(self) -> str:
        return f"<windrow query {self.name}>"
