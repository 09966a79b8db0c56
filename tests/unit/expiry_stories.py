"""Small stories of one query under each approach to expiry: what is told, and when.

    feed   "1 s 4 | 2 r 4 | 6"     at 1 the stream s brings a 4, at 2 r does; at 6 nothing comes
    told   "1 +4 | 7 -4@6"         after the event of 1, +4 is told; after that of 7, what was
                                   about 6

All streams hear of every instant of the feed. A value may be followed by a weight: "1 s 4,10".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.reference.drive import read

from windrow.operators.delta import Delta
from windrow.operators.queued import Processor
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

DECLARATIONS = """
    CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    CREATE STREAM r (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    CREATE RELATION t (k BIGINT);
    CREATE NON RETROACTIVE RELATION n (k BIGINT);
"""

APPROACHES: dict[str, dict[str, object]] = {
    "input_triggered": {"expiry": "input_triggered"},
    "negative": {"expiry": "negative", "join_messages": "off"},
    "messages": {"expiry": "negative", "join_messages": "on"},
    "piggyback": {"expiry": "piggyback"},
}

Event = tuple[int, str | None, dict[str, int]]


def parsed(feed: str) -> Iterator[Event]:
    """Yield the events of a feed: instant, stream or none, tuple."""
    for part in feed.split("|"):
        ts, *rest = part.split()
        if not rest:
            yield int(ts), None, {}
            continue
        name, values = rest
        k, _, v = values.partition(",")
        yield int(ts), name, {"ts": int(ts), "k": int(k), "v": int(v or 1)}


@dataclass
class Story:
    """A query in the middle of its feed; `seen` are the outputs of all operators, by label."""

    text: str
    approach: str
    rows: tuple[int, ...] = ()
    processor: Processor | None = None
    db: Database = field(init=False)
    query: QueryHandle = field(init=False)
    told: list[str] = field(default_factory=list)
    seen: list[tuple[str, int, Delta]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.db = Database(self.processor)
        self.db.execute(DECLARATIONS)
        for name in "tn" if self.rows else "":
            self.db.push(name, [{"k": k} for k in self.rows])
        self.query = self.db.query(self.text, **APPROACHES[self.approach])
        running = self.db.running(self.query.name)
        run_task = running.flow.run_task

        def watched(i: int, inputs: tuple[Delta, ...], at: int, **how: object) -> Delta:
            made = run_task(i, inputs, at, **how)
            self.seen.append((running.flow.stages[i].label, at, made))
            return made

        running.pipeline.flow = _Watched(running.flow, watched)

    def feed(self, feed: str) -> str:
        """Feed events; return what they told."""
        before = len(self.told)
        for ts, name, row in parsed(feed):
            if name is not None:
                self.db.push(name, [row])
            self.db.advance(ts)
            self.look(ts)
        return " | ".join(self.told[before:])

    def end(self) -> str:
        """Return what draining told."""
        before = len(self.told)
        self.db.drain()
        self.look(None)
        return " | ".join(self.told[before:])

    def look(self, now: int | None) -> None:
        self.db.running(self.query.name).check()
        changes = [
            f"{'+' if sign > 0 else '-'}{','.join(map(str, row))}" + (f"@{ts}" if ts != now else "")
            for ts, sign, row in sorted(read(self.query.changes()), key=lambda c: (c[0], c[1]))
        ]
        if changes:
            self.told.append(f"{'end' if now is None else now} {' '.join(changes)}")

    def counted(self, operator: str, counter: str) -> int:
        """Return a counter of the operators with this label."""
        operators = self.query.stats()["operators"]
        found = [op for op in operators if str(op["operator"]).startswith(operator)]
        assert found, f"no {operator} among {[op['operator'] for op in operators]}"
        return sum(int(op.get(counter, 0)) for op in found)


class _Watched:
    """A dataflow whose tasks are watched."""

    def __init__(self, flow: object, run_task: object) -> None:
        self._flow, self.run_task = flow, run_task

    def __getattr__(self, name: str) -> object:
        return getattr(self._flow, name)
