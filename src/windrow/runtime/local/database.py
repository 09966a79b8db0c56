"""The façade of the in-process engine: declare, register, push, advance, ask."""

from __future__ import annotations

from datetime import UTC, datetime
from types import TracebackType

import numpy as np
import pyarrow as pa

from windrow.core.errors import BindError, InputError
from windrow.core.time import BEGINNING, Clock
from windrow.kernels.cache import tell_if_cold
from windrow.language.statements import CreateQuery, Drop, Statement
from windrow.plan.catalog import Relation, Stream
from windrow.plan.functions.moments import parse_timestamp
from windrow.plan.nodes import Query, Scan, inputs_of
from windrow.plan.session import Session
from windrow.runtime.local.handle import QueryHandle
from windrow.runtime.local.ingest import Pushed, to_batch
from windrow.runtime.local.inputs import StreamInput
from windrow.runtime.local.query import RunningQuery
from windrow.runtime.local.relations import SIGN, TIME, RelationInput

Instant = int | str | datetime


class Database:
    """Streams, relations and standing queries in this process.

    >>> db = Database()
    >>> db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
    >>> q = db.query("SELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k")
    >>> db.push("s", [{"ts": 1, "k": 7}, {"ts": 4, "k": 7}])
    >>> q.answer().to_pylist()
    [{'k': 7, 'n': 2}]
    >>> db.advance(12)
    >>> q.answer().to_pylist()
    [{'k': 7, 'n': 1}]
    """

    def __init__(self) -> None:
        self.session = Session()
        self._streams: dict[str, StreamInput] = {}
        self._relations: dict[str, RelationInput] = {}
        self._running: dict[str, RunningQuery] = {}
        self._closed = False

    def execute(self, text: str) -> None:
        """Run a script of statements; CREATE QUERY registers and starts."""
        self.session.execute(text, self._after)

    def _after(self, statement: Statement, result: object) -> None:
        """Carry out in the engine what the session has just noted."""
        match statement:
            case CreateQuery() if isinstance(result, Query):
                self._start(result, None)
            case Drop(kind="QUERY", name=name):
                self._running.pop(name.lower(), None)
        for entry in self.session.catalog.entries.values():
            if isinstance(entry, Stream):
                self._streams.setdefault(entry.name, StreamInput(entry))
            else:
                self._relations.setdefault(entry.name, RelationInput(entry))

    def query(self, text: str, *, strategy: str | None = None, name: str | None = None) -> QueryHandle:
        """Register a standing query and return the handle to read it by.

        `text` is a query, or the name of one that a script has registered.
        """
        if text.lower() in self._running:
            return QueryHandle(self, text.lower())
        bound = self.session.bind_text(text, name or self._free_name())
        self.session.queries[bound.name.lower()] = bound
        self._start(bound, strategy)
        return QueryHandle(self, bound.name.lower())

    def _free_name(self) -> str:
        n = 1
        while f"query_{n}" in self.session.queries:
            n += 1
        return f"query_{n}"

    def _start(self, query: Query, strategy: str | None) -> None:
        chosen = strategy or str(self.session.settings["strategy"])
        if chosen not in ("auto", "upa", "direct", "negative"):
            raise BindError(
                f'unknown strategy "{chosen}"', hint="Use auto, upa, direct or negative."
            )
        tell_if_cold()
        running = RunningQuery(query, chosen)
        for relation in self._relations.values():
            for ts, sign, arrays in relation.history:
                running.feed(relation.relation.name, ts, arrays, sign)
        self._running[query.name.lower()] = running

    def push(self, name: str, data: Pushed) -> None:
        """Add tuples to a stream, or rows to a relation, and bring all answers up to date."""
        self._require_open()
        entry = self._entry(name)
        if isinstance(entry, Relation):
            self._push_relation(self._relations[entry.name], data)
            return
        stream = self._streams[entry.name]
        ts, batch = stream.accept(to_batch(data, entry.schema, entry.name))
        self._deliver(entry.name, ts, batch.arrays)

    def _push_relation(self, target: RelationInput, data: Pushed) -> None:
        relation = target.relation
        batch = to_batch(data, relation.schema, relation.name, extra=(TIME, SIGN))
        now = max((s.frontier for s in self._streams.values()), default=BEGINNING)
        ts, sign, arrays = target.accept(batch, now)
        for query in self._readers(relation.name):
            query.feed(relation.name, np.maximum(ts, query.clock), arrays, sign)
            self._run(query)

    def _deliver(self, name: str, ts: np.ndarray, arrays: dict[str, pa.Array]) -> None:
        for query in self._readers(name):
            if len(ts):
                query.feed(name, ts, arrays)
            self._run(query)

    def _readers(self, name: str) -> list[RunningQuery]:
        return [q for q in self._running.values() if q.reads(name)]

    def _run(self, query: RunningQuery, *, ends: bool = False) -> None:
        query.run(self.clock_of(query), ends=ends)

    def clock_of(self, query: RunningQuery) -> int:
        """Return the query's clock: the least frontier of the streams it reads."""
        names = stream_names(query.query)
        return min(
            (self._streams[n].frontier for n in names),
            default=max((s.frontier for s in self._streams.values()), default=query.clock),
        )

    def held_back_by(self, query: RunningQuery) -> str | None:
        """Return the stream whose clock is the query's, if there are several."""
        names = stream_names(query.query)
        return min(names, key=lambda n: self._streams[n].frontier) if len(names) > 1 else None

    def advance(self, instant: Instant, stream: str | None = None) -> None:
        """A heartbeat: all streams, or one, have reached `instant`."""
        self._require_open()
        for target in self._heard(stream):
            at = to_instant(instant, target.stream.clock)
            ts, batch = target.heartbeat(at)
            for query in self._readers(target.stream.name):
                if len(ts):
                    query.feed(target.stream.name, ts, batch.arrays)
        for query in self._running.values():
            self._run(query)

    def _heard(self, stream: str | None) -> list[StreamInput]:
        if stream is None:
            return list(self._streams.values())
        entry = self._entry(stream)
        if isinstance(entry, Relation):
            raise InputError(f'"{stream}" is a relation: it has no heartbeat')
        return [self._streams[entry.name]]

    def drain(self) -> None:
        """End of input: every answer up to the last event time comes out."""
        self._require_open()
        for target in self._streams.values():
            ts, batch = target.end()
            for query in self._readers(target.stream.name):
                if len(ts):
                    query.feed(target.stream.name, ts, batch.arrays)
        last = max((s.frontier for s in self._streams.values()), default=BEGINNING)
        for target in self._streams.values():
            target.frontier = max(target.frontier, last)
        for query in self._running.values():
            self._run(query, ends=True)

    def late(self, name: str) -> pa.Table:
        """Return the tuples of a stream that came too late to be used."""
        return _kept(self._streams[self._entry(name).name].late, self._entry(name))

    def rejected(self, name: str) -> pa.Table:
        """Return the rows that did not fit their declaration, as text, with the reason."""
        entry = self._entry(name)
        inputs = self._streams if isinstance(entry, Stream) else self._relations
        tables = inputs[entry.name].poison
        if tables:
            return pa.concat_tables(tables, promote_options="default")
        return pa.table({"_reason": pa.array([], pa.string())})

    def running(self, name: str) -> RunningQuery:
        """Return a standing query by its name."""
        found = self._running.get(name)
        if found is None:
            raise InputError(f'query "{name}" has been dropped')
        return found

    def streams_of(self, name: str) -> tuple[str, ...]:
        """Return the streams that a standing query reads."""
        return stream_names(self.running(name).query)

    def _entry(self, name: str) -> Stream | Relation:
        return self.session.entry(name)

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("this database is closed", hint="Open another with connect().")

    def close(self) -> None:
        """Forget everything."""
        self._running.clear()
        self._closed = True

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def stream_names(query: Query) -> tuple[str, ...]:
    """Return the streams that a query reads, each once."""
    found: dict[str, None] = {}
    todo = [query.root]
    while todo:
        plan = todo.pop()
        if isinstance(plan, Scan):
            found[plan.stream.name] = None
        todo += inputs_of(plan)
    return tuple(found)


def to_instant(instant: Instant, clock: Clock) -> int:
    """Return an instant of the clock: ticks as they are; times from ISO text or datetime."""
    if isinstance(instant, datetime):
        moment = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        instant = moment.isoformat()
    if isinstance(instant, int):
        return instant
    parsed = parse_timestamp(instant) if clock is Clock.TIMESTAMP else None
    if parsed is None:
        kind = "a timestamp" if clock is Clock.TIMESTAMP else "an integer"
        raise InputError(
            f"{instant!r} is no instant of this clock", hint=f"Give {kind} to advance()."
        )
    return parsed


def _kept(tables: list[pa.Table], entry: Stream | Relation) -> pa.Table:
    return pa.concat_tables(tables) if tables else entry.schema.arrow().empty_table()



