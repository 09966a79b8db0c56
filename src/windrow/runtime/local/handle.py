"""What a user holds of a standing query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.plan.explain import explain_text
from windrow.runtime.local.explain import explain_physical
from windrow.runtime.local.instants import Instant, to_instant

if TYPE_CHECKING:
    from windrow.runtime.local.database import Database


class QueryHandle:
    """Reads one standing query of a database."""

    def __init__(self, db: Database, name: str) -> None:
        self._db = db
        self.name = name

    def changes(self) -> pa.Table:
        """Return the changelog since the last call: _ts, _sign (+1, -1), then the columns."""
        return self._db.running(self.name).changes()

    def answer(self, at: Instant | None = None) -> pa.Table:
        """Return the answer now, or at a later instant if nothing else arrives."""
        running = self._db.running(self.name)
        return running.answer(None if at is None else to_instant(at, running.time_type))

    def explain(self) -> str:
        """Return the plan: update patterns, then the implementation and state of each operator."""
        running = self._db.running(self.name)
        return f"{explain_text(running.query)}\n\n{explain_physical(running)}"

    def stats(self) -> dict[str, object]:
        """Return counters: tuples in and out, negatives, state, probes, late, and the clock."""
        running = self._db.running(self.name)
        late = {n: len(self._db.late(n)) for n in self._db.streams_of(self.name)}
        return {
            **running.stats(),
            "held_back_by": self._db.held_back_by(running),
            "late": sum(late.values()),
            "late_by_stream": late,
        }

    def __repr__(self) -> str:
        return f"<windrow query {self.name}>"
