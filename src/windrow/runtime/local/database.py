"""The façade of the in-process engine: declare, register, push, advance, ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType

import numpy as np
import pyarrow as pa

from windrow.core.errors import BindError, InputError
from windrow.core.time import BEGINNING, Clock
from windrow.kernels.cache import tell_if_cold
from windrow.language.statements import CreateQuery, Drop, Explain, Statement
from windrow.operators.few import Incoming
from windrow.operators.lower import require_early_inputs
from windrow.operators.queued import Processor
from windrow.operators.task import Saved
from windrow.plan.catalog import Relation, Stream
from windrow.plan.nodes import Query
from windrow.plan.session import Session
from windrow.plan.settings import check_setting, checked_algorithm, checked_early
from windrow.plan.unused import LOCAL, require_unset, require_used
from windrow.runtime.local.early import followed, measured_placements
from windrow.runtime.local.explain import explained
from windrow.runtime.local.handle import QueryHandle
from windrow.runtime.local.handover import handed_over, measured, what_changed
from windrow.runtime.local.ingest import Pushed, read_columns, to_batch
from windrow.runtime.local.inputs import StreamInput
from windrow.runtime.local.instants import Instant, counts_ticks, to_instant
from windrow.runtime.local.memory import keep_freed_memory
from windrow.runtime.local.query import RunningQuery
from windrow.runtime.local.relations import RelationInput, change_fields

STRATEGIES = ("auto", "upa", "direct", "negative")


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

    def __init__(self, processor: Processor | None = None) -> None:
        """Open an empty one; on a processor, work takes the (virtual) time that it says."""
        keep_freed_memory()
        self._processor = processor
        self.session = Session()
        self._streams: dict[str, StreamInput] = {}
        self._relations: dict[str, RelationInput] = {}
        self._running: dict[str, RunningQuery] = {}
        self._closed = False
        self._drained = False

    def execute(self, text: str) -> str | None:
        """Run a script of statements; CREATE QUERY registers and starts.

        Return what EXPLAIN tells, one text for all of the script's; None if it has none.
        """
        self._require_open()
        told: list[str] = []

        def after(statement: Statement, result: object) -> None:
            if isinstance(statement, Explain):
                assert isinstance(result, Query), "EXPLAIN gives a query"
                told.append(explained(self._planned(result), statement.format))
            else:
                self._after(statement, result)

        self.session.execute(text, after)
        return "\n\n".join(told) if told else None

    def _planned(self, query: Query) -> RunningQuery:
        """Return a query as it runs, or as it would if it were registered now."""
        running = self._running.get(query.name.lower())
        if running is not None:
            return running
        return RunningQuery(query, self._strategy(None), processor=self._processor)

    def _after(self, statement: Statement, result: object) -> None:
        """Carry out in the engine what the session has just noted."""
        match statement:
            case CreateQuery(name=name) if isinstance(result, Query):
                if not (statement.if_not_exists and name.lower() in self._running):
                    self._start(result, None)
            case Drop(kind="QUERY", name=name):
                self._running.pop(name.lower(), None)
            case Drop(name=name):
                self._forget(name)
        for entry in self.session.catalog.entries.values():
            if isinstance(entry, Stream):
                self._streams.setdefault(entry.name, StreamInput(entry))
            else:
                self._relations.setdefault(entry.name, RelationInput(entry))

    def _forget(self, name: str) -> None:
        """Drop an input, unless a standing query reads it."""
        names = [*self._streams, *self._relations]
        key = next((known for known in names if known.lower() == name.lower()), None)
        if key is None:
            return
        stream = self._streams.get(key)
        readers = [q.query.name for q in self._readers(key)]
        if readers:
            entry = stream.stream if stream is not None else self._relations[key].relation
            self.session.catalog.add(entry)
            raise BindError(
                f'"{key}" is read by {", ".join(readers)}',
                detail="A standing query cannot lose its input.",
                hint=f"DROP QUERY {readers[0]} first.",
            )
        self._streams.pop(key, None)
        self._relations.pop(key, None)

    def query(
        self,
        text: str,
        *,
        strategy: str | None = None,
        name: str | None = None,
        **settings: object,
    ) -> QueryHandle:
        """Register a standing query and return the handle to read it by.

        `text` is a query, or the name of one that a script has registered. Any setting may be
        given for this query alone, as in ``expiry="piggyback"``; what is not given, or None, is as
        SET says. One that the query has no use for is refused.
        """
        self._require_open()
        sets = {n: check_setting(n, v) for n, v in settings.items() if v is not None}
        if text.lower() in self._running:
            require_unset(text, sets if strategy is None else {"strategy": strategy, **sets})
            return QueryHandle(self, text.lower())
        self._require_free(name)
        bound = self.session.bind_text(text, name or self._free_name(), **sets)
        if "early_aggregation" in sets:
            require_early_inputs(bound, self._strategy(strategy))
        require_used(bound, sets, LOCAL)
        self.session.queries[bound.name.lower()] = bound
        self._start(bound, strategy)
        return QueryHandle(self, bound.name.lower())

    def _require_free(self, name: str | None) -> None:
        if name is None:
            return
        if name.lower() in self.session.queries or self.session.catalog.get(name) is not None:
            raise BindError(
                f'"{name}" exists already',
                detail="Streams, relations and queries have different names.",
                hint="Choose another name, or drop what has it.",
            )

    def _free_name(self) -> str:
        n = 1
        while f"query_{n}" in self.session.queries or self.session.catalog.get(f"query_{n}"):
            n += 1
        return f"query_{n}"

    def _start(self, query: Query, strategy: str | None) -> None:
        try:
            chosen = self._strategy(strategy)
            tell_if_cold()
            running = RunningQuery(query, chosen, processor=self._processor)
        except BaseException:
            self.session.queries.pop(query.name.lower(), None)
            self._running.pop(query.name.lower(), None)
            raise
        for relation in self._relations.values():
            for changes in relation.history:
                ts, sign, arrays = changes.on(running.time_type)
                running.feed(relation.relation.name, ts, arrays, sign)
        self._running[query.name.lower()] = running

    def _strategy(self, given: str | None) -> str:
        """Return the strategy that is given, or that of the session."""
        chosen = given or str(self.session.settings["strategy"])
        _require_strategy(chosen)
        return chosen

    def push(self, name: str, data: Pushed) -> None:
        """Add tuples to a stream, or rows to a relation, and bring all answers up to date."""
        self._require_open()
        self._require_input()
        entry = self._entry(name)
        if isinstance(entry, Relation):
            self._push_relation(self._relations[entry.name], data)
            return
        stream = self._streams[entry.name]
        fitting = to_batch(
            data, entry.schema, entry.name, time=entry.time_column, unread=entry.unread
        )
        ts, batch = stream.accept(fitting)
        self._deliver(entry.name, ts, batch.columns)

    def _push_relation(self, target: RelationInput, data: Pushed) -> None:
        relation = target.relation
        columns = read_columns(data, relation.name)
        extra = change_fields(columns)
        batch = to_batch(
            columns, relation.schema, relation.name, extra=extra, unread=relation.unread
        )
        now = {clock: self._newest(clock) for clock in Clock if self._on(clock)}
        changes = target.accept(batch, now)
        for query in self._readers(relation.name):
            ts, sign, arrays = changes.on(query.time_type)
            query.feed(relation.name, np.maximum(ts, query.clock), arrays, sign)
            self._run(query)

    def _on(self, clock: Clock) -> list[StreamInput]:
        """Return the streams whose time is of this kind: two kinds are never compared."""
        return [s for s in self._streams.values() if s.stream.clock is clock]

    def _newest(self, clock: Clock) -> int:
        return max((s.frontier for s in self._on(clock)), default=BEGINNING)

    def _deliver(self, name: str, ts: np.ndarray, columns: dict[str, Incoming]) -> None:
        for query in self._readers(name):
            if len(ts):
                query.feed(name, ts, columns)
            self._run(query)

    def _readers(self, name: str) -> list[RunningQuery]:
        return [q for q in self._running.values() if q.reads(name)]

    def _run(self, query: RunningQuery, *, ends: bool = False) -> None:
        query.run(self.clock_of(query), ends=ends)
        if not ends and query.due:
            self._running[query.query.name.lower()] = followed(query)

    def clock_of(self, query: RunningQuery) -> int:
        """Return the query's clock: the least frontier of the streams it reads.

        A query of relations alone goes with the newest of all streams; without any, with the
        newest change of what it reads.
        """
        names = query.streams
        if names:
            return min(self._streams[n].frontier for n in names)
        if self._streams:
            return max(s.frontier for s in self._streams.values())
        changed = [r.newest for n, r in self._relations.items() if query.reads(n)]
        return max(changed, default=query.clock)

    def held_back_by(self, query: RunningQuery) -> str | None:
        """Return the stream that the others wait for; None if all have come equally far."""
        names = query.streams
        reached = [self._streams[n].frontier for n in names]
        if len(set(reached)) < 2:
            return None
        return names[reached.index(min(reached))]

    def advance(self, instant: Instant, stream: str | None = None) -> None:
        """A heartbeat: all streams, or one, have reached `instant`.

        In a database with both kinds of clock a number is meant for the streams that count
        ticks, and a time for the others.
        """
        self._require_open()
        self._require_input()
        heard = [(s, to_instant(instant, s.stream.clock)) for s in self._heard(instant, stream)]
        for target, at in heard:
            ts, batch = target.heartbeat(at)
            for query in self._readers(target.stream.name):
                if len(ts):
                    query.feed(target.stream.name, ts, batch.columns)
        for query in self._running.values():
            self._run(query)

    def _heard(self, instant: Instant, stream: str | None) -> list[StreamInput]:
        if stream is None:
            wanted = Clock.TICKS if counts_ticks(instant) else Clock.TIMESTAMP
            return self._on(wanted) or list(self._streams.values())
        entry = self._entry(stream)
        if isinstance(entry, Relation):
            raise InputError(f'"{stream}" is a relation: it has no heartbeat')
        return [self._streams[entry.name]]

    def drain(self) -> None:
        """End of input: every answer up to the last event time comes out."""
        self._require_open()
        self._drained = True
        for target in self._streams.values():
            ts, batch = target.end()
            for query in self._readers(target.stream.name):
                if len(ts):
                    query.feed(target.stream.name, ts, batch.columns)
        for clock in Clock:
            last = self._newest(clock)
            for target in self._on(clock):
                target.frontier = max(target.frontier, last)
        for query in self._running.values():
            self._run(query, ends=True)

    def late(self, name: str) -> pa.Table:
        """Return the tuples of a stream that came too late to be used."""
        entry = self._entry(name)
        if isinstance(entry, Relation):
            raise InputError(f'"{name}" is a relation: no row of it is late')
        return _kept(self._streams[entry.name].late, entry)

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
        self._require_open()
        found = self._running.get(name)
        if found is None:
            raise InputError(f'query "{name}" has been dropped')
        return found

    def reoptimize(
        self,
        name: str,
        strategy: str | None = None,
        algorithm: str | None = None,
        early: str | None = None,
    ) -> str:
        """Let a standing query go on under a plan made by what was measured; tell what changed."""
        old = self.running(name)
        chosen = strategy or old.strategy
        _require_strategy(chosen)
        joined_by = None if algorithm is None else checked_algorithm(algorithm)
        folded = None if early is None else checked_early(early)
        if folded is not None:
            require_early_inputs(replace(old.query, early_aggregation=folded), chosen)
        best = measured_placements(old)
        new = handed_over(old, chosen, measured(old), joined_by, folded, placements=best)
        self._running[name] = new
        return what_changed(old, new)

    def resume(self, name: str, saved: Saved, reached: Mapping[str, int]) -> None:
        """Replace a standing query by one that goes on from saved state.

        Its streams come at least as far as then; those that have gone on since stay.
        """
        old = self.running(name)
        self._running[name] = new = RunningQuery.resumed(old.query, saved, self._processor)
        for recipient in old.recipients:
            recipient.join(new)
            new.recipients.append(recipient)
        for stream, frontier in reached.items():
            self._streams[stream].frontier = max(self._streams[stream].frontier, frontier)

    def frontier(self, stream: str) -> int:
        """Return how far a stream has come."""
        return self._streams[stream].frontier

    def streams_of(self, name: str) -> tuple[str, ...]:
        """Return the streams that a standing query reads."""
        return self.running(name).streams

    def _entry(self, name: str) -> Stream | Relation:
        return self.session.entry(name)

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("this database is closed", hint="Open another with connect().")

    def _require_input(self) -> None:
        if self._drained:
            raise InputError(
                "the input of this database has ended",
                detail="drain() was called: every answer is final.",
                hint="Open another with connect().",
            )

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


def _require_strategy(strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise BindError(f'unknown strategy "{strategy}"', hint=f"Use {', '.join(STRATEGIES)}.")


def _kept(tables: list[pa.Table], entry: Stream | Relation) -> pa.Table:
    return pa.concat_tables(tables) if tables else entry.schema.arrow().empty_table()
