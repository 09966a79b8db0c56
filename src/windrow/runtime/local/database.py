"""The façade of the in-process engine: declare, register, push, advance, ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from windrow.core.errors import BindError, InputError
from windrow.core.naming import require_text, shown
from windrow.core.time import BEGINNING, Clock
from windrow.kernels.cache import warn_if_cold
from windrow.language.parameters import with_parameters
from windrow.language.statements import CreateQuery, Drop, Explain, Insert, Select, Statement
from windrow.operators.queued import Processor
from windrow.operators.task import Saved
from windrow.operators.vector import I64
from windrow.optimize.passes import require_early_inputs
from windrow.plan.catalog import Relation, Stream
from windrow.plan.functions.moments import FIRST_MOMENT
from windrow.plan.nodes import Query
from windrow.plan.session import (
    DIFFERENT_NAMES,
    QUERY_HINT,
    SCRIPT_HINT,
    Inserted,
    Session,
    unregistered,
)
from windrow.plan.settings import (
    LOCAL,
    check_setting,
    checked_algorithm,
    checked_early,
    require_unset,
    require_used,
)
from windrow.runtime.handles import Declarations
from windrow.runtime.local import handle
from windrow.runtime.local.early import followed, measured_placements
from windrow.runtime.local.explain import explained
from windrow.runtime.local.failing import Failures, failed_by, has_failed
from windrow.runtime.local.handover import handed_over, measured, what_changed
from windrow.runtime.local.ingest import FittedRows, Timed, to_batch
from windrow.runtime.local.inputs import StreamInput
from windrow.runtime.local.memory import keep_freed_memory
from windrow.runtime.local.query import RunningQuery
from windrow.runtime.local.reading import Pushed, inserted_rows, read_columns
from windrow.runtime.local.relations import RelationInput, change_fields, clock_of_times

STRATEGIES = ("auto", "upa", "direct", "negative")

Arrived = tuple[str, I64, FittedRows]
"""The name of a stream, and tuples of it that are in order, with their times."""


class Database(Declarations):
    """Streams, relations and standing queries in this process.

    Examples
    --------
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

    def __init__(self, processor: Processor | None = None, now: handle.Now | None = None) -> None:
        """Open an empty one; on a processor, work takes the (virtual) time that it says.

        `now` is the wall clock that MAX AHEAD goes by, if not the machine's.
        """
        keep_freed_memory()
        self._now = handle.wall_clock if now is None else now
        self._processor = processor
        self.session = Session()
        self._streams: dict[str, StreamInput] = {}
        self._relations: dict[str, RelationInput] = {}
        self._running: dict[str, RunningQuery] = {}
        self._closed = False
        self._drained = False

    def execute(
        self, text: str, params: Mapping[str, object] | None = None
    ) -> str | pa.Table | None:
        """Run a script of statements; CREATE QUERY registers and starts.

        Return what SHOW or DESCRIBE shows, the last of the script's, as a table; else what EXPLAIN
        shows, one text for all of the script's; None if it has none of these. ``:name`` in the
        text stands for a value of `params`.
        """
        self._require_open()
        require_text(text, "a script", SCRIPT_HINT)
        texts: list[str] = []
        tables: list[pa.Table] = []

        def after(statement: Statement, result: object) -> None:
            if isinstance(statement, Explain):
                assert isinstance(result, Query), "EXPLAIN gives a query"
                texts.append(explained(self._planned(result), statement.format))
            elif isinstance(result, pa.Table):
                tables.append(result)
            else:
                self._after(statement, result)

        self.session.execute(with_parameters(text, params), after)
        if tables:
            return tables[-1]
        return "\n\n".join(texts) if texts else None

    def queries(self) -> list[handle.QueryHandle]:
        """Return a handle of each standing query, in the order of registration."""
        return [handle.QueryHandle(self, name) for name in self.session.queries]

    def _planned(self, query: Query) -> RunningQuery:
        """Return a query as it runs, or as it would if it were registered now."""
        running = self._running.get(query.name.lower())
        if running is not None:
            return running
        return RunningQuery(query, self._strategy(None), processor=self._processor)

    def _after(self, statement: Statement, result: object) -> None:
        """Carry out in the engine what the session has just noted."""
        match statement:
            case Select():
                raise unregistered(statement)
            case CreateQuery(name=name) if isinstance(result, Query):
                if not (statement.if_not_exists and name.lower() in self._running):
                    self._start(result, None)
            case Insert() if isinstance(result, Inserted):
                self.push(result.name, inserted_rows(result))
            case Drop(kind="QUERY", name=name):
                self._retire(name.lower())
            case Drop(name=name):
                self._forget(name)
        for entry in self.session.catalog.entries.values():
            if isinstance(entry, Stream):
                self._streams.setdefault(entry.name, StreamInput(entry))
            else:
                self._relations.setdefault(entry.name, RelationInput(entry))

    def _retire(self, name: str) -> None:
        """Drop a query; the instants that it has answered for stay answered."""
        query = self._running.pop(name, None)
        if query is None:
            return
        for relation in self._relations.values():
            if query.reads(relation.relation.name):
                passed = relation.passed.get(query.time_type, BEGINNING)
                relation.passed[query.time_type] = max(passed, self._answered(query))

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
        params: Mapping[str, object] | None = None,
        *,
        strategy: str | None = None,
        name: str | None = None,
        **settings: object,
    ) -> handle.QueryHandle:
        """Register a standing query and return the handle to read it by.

        `text` is a query, or the name of one that a script has registered; ``:name`` in it stands
        for a value of `params`. Any setting may be given for this query alone, as in
        ``expiry="piggyback"``; what is not given, or None, is as SET says. One that the query has
        no use for is refused.
        """
        self._require_open()
        text = with_parameters(require_text(text, "a query", QUERY_HINT), params)
        sets = {n: check_setting(n, v) for n, v in settings.items() if v is not None}
        if text.lower() in self._running:
            require_unset(text, sets if strategy is None else {"strategy": strategy, **sets})
            return handle.QueryHandle(self, text.lower())
        self._require_free(name)
        bound = self.session.bind_text(text, name or self.session.free_name(), **sets)
        require_used(bound, sets, LOCAL)
        self.session.queries[bound.name.lower()] = bound
        self._start(bound, strategy, names_inputs="early_aggregation" in sets)
        return handle.QueryHandle(self, bound.name.lower())

    def _require_free(self, name: str | None) -> None:
        if name is None:
            return
        require_text(name, "the name of a query")
        if self.session.kind(name) is not None:
            raise BindError(
                f'"{name}" exists already',
                detail=DIFFERENT_NAMES,
                hint="Choose another name, or drop what has it.",
            )

    def _start(self, query: Query, strategy: str | None, *, names_inputs: bool = False) -> None:
        """Run a query. `names_inputs`: whether what it aggregates early is said for it alone."""
        try:
            chosen = self._strategy(strategy)
            warn_if_cold()
            running = RunningQuery(query, chosen, processor=self._processor)
            if names_inputs:
                require_early_inputs(query, running.physical.plan)
        except BaseException:
            self.session.queries.pop(query.name.lower(), None)
            self._retire(query.name.lower())
            raise
        self._retire(query.name.lower())
        self._show_relations(running)
        self._running[query.name.lower()] = running

    def _show_relations(self, running: RunningQuery) -> None:
        """Let a new query see relations as they are; it begins with what they hold.

        Rows that are there were there before the query; changes that are still to come wait.
        """
        now, begins = self.clock_of(running), False
        for relation in self._relations.values():
            if not running.reads(relation.relation.name):
                continue
            for changes in relation.history:
                ts, sign, arrays = changes.on(running.time_type)
                there = ts <= now
                begins |= relation.relation.retroactive and bool(there.any())
                running.feed(relation.relation.name, np.where(there, BEGINNING, ts), arrays, sign)
        if begins and now > BEGINNING:
            running.start = now
            running.run(now)

    def _strategy(self, given: str | None) -> str:
        """Return the strategy that is given, or that of the session."""
        return _checked_strategy(self.session.settings["strategy"] if given is None else given)

    def push(self, name: str, data: Pushed) -> None:
        """Add tuples to a stream, or rows to a relation, and bring all answers up to date."""
        self._require_open()
        self._require_input()
        entry = self._entry(name)
        if isinstance(entry, Relation):
            self._push_relation(self._relations[entry.name], data)
            return
        stream = self._streams[entry.name]
        time = self._timed(entry)
        fitting = to_batch(data, entry.schema, entry.name, time=time, unread=entry.unread)
        self._deliver((entry.name, *stream.accept(fitting)))

    def _timed(self, stream: Stream) -> Timed:
        """Return what a time of the stream's tuples may be now."""
        if stream.max_ahead is None:
            return Timed(stream.time_column)
        latest = handle.to_instant(self._now(), Clock.TIMESTAMP) + stream.max_ahead
        return Timed(stream.time_column, latest, stream.too_far_ahead)

    def _push_relation(self, target: RelationInput, data: Pushed) -> None:
        relation = target.relation
        columns = read_columns(data, relation.name)
        extra = change_fields(columns)
        batch = to_batch(
            columns, relation.schema, relation.name, extra=extra, unread=relation.unread
        )
        reached = self._reached(target, clock_of_times(batch))
        changes = target.accept(batch, self._clocks(), reached)

        def feed(query: RunningQuery) -> None:
            now = query.clock if query.streams else self.clock_of(query)
            ts, sign, arrays = changes.on(query.time_type, now)
            query.feed(relation.name, np.maximum(ts, query.clock), arrays, sign)

        self._bring_up(self._readers(relation.name), feed)

    def _clocks(self) -> dict[Clock, int]:
        """Return how far each clock is; without any stream, the newest change of all relations."""
        if self._streams:
            return {clock: self._newest(clock) for clock in Clock if self._on(clock)}
        newest = max((r.newest for r in self._relations.values()), default=BEGINNING)
        return dict.fromkeys(Clock, newest)

    def _reached(self, target: RelationInput, clock: Clock) -> int:
        """Return the furthest instant that a query of a relation has answered for.

        Where there are streams of both clocks, a number is meant for ticks and a time for the
        others.
        """
        readers = self._readers(target.relation.name)
        reached = [(q.time_type, self._answered(q)) for q in readers] + list(target.passed.items())
        both = all(self._on(kind) for kind in Clock)
        return max((at for kind, at in reached if not both or kind is clock), default=BEGINNING)

    def _answered(self, query: RunningQuery) -> int:
        """Return the instant up to which a query has answered, if only with nothing."""
        if query.flow.begun:
            return query.clock
        clock = self.clock_of(query)
        return clock if clock > FIRST_MOMENT or query.streams else BEGINNING

    def _on(self, clock: Clock) -> list[StreamInput]:
        """Return the streams whose time is of this kind: two kinds are never compared."""
        return [s for s in self._streams.values() if s.stream.clock is clock]

    def _newest(self, clock: Clock) -> int:
        return max((s.frontier for s in self._on(clock)), default=BEGINNING)

    def _deliver(self, arrived: Arrived) -> None:
        """Feed tuples of one stream to the queries that read it, and bring these up to date.

        Queries of relations alone go with the newest of all streams.
        """
        alone = [q for q in self._running.values() if not q.streams]
        queries = [*self._readers(arrived[0]), *alone]
        self._bring_up(queries, lambda query: _feed(query, [arrived]))

    def _readers(self, name: str) -> list[RunningQuery]:
        return [q for q in self._running.values() if q.reads(name)]

    def _bring_up(
        self,
        queries: list[RunningQuery],
        feed: Callable[[RunningQuery], None],
        *,
        ends: bool = False,
    ) -> None:
        """Feed queries and bring them up to date; then let them report; then raise what was raised.

        No function of the user's is called for a report before all queries have what was accepted,
        so what it raises, pushes or drops cannot keep rows from a query.
        """
        failures = Failures()
        for query in queries:
            if query.failure is None:
                self._step(query, feed, failures, ends=ends)
        for query in queries:
            if query.recipients and query.failure is None:
                self._report(query, failures)
        for query in queries:
            if query.due and query.failure is None and not ends:
                self._follow(query, failures)
        failures.raise_first()

    def _step(
        self,
        query: RunningQuery,
        feed: Callable[[RunningQuery], None],
        failures: Failures,
        *,
        ends: bool,
    ) -> None:
        """Feed one query and run it up to its clock; if that raises, the query has failed."""
        try:
            feed(query)
            query.run(self.clock_of(query), ends=ends)
        except BaseException as error:  # an interrupt, too: others must not miss rows for it
            failures.note(query.query.name, error)
            query.failure = failed_by(query.query.name, error)

    def _report(self, query: RunningQuery, failures: Failures) -> None:
        """Make the reports that are due; those whose function raises are missed."""
        for recipient in query.reporting():
            while self._is_current(query) and recipient.is_due(query):
                try:
                    recipient.report(query)
                except BaseException as error:
                    failures.note(query.query.name, error)

    def _follow(self, query: RunningQuery, failures: Failures) -> None:
        """Switch a query to a cheaper placement, if there is one."""
        if not self._is_current(query):
            return
        try:
            self._running[query.query.name.lower()] = followed(query)
        except BaseException as error:
            failures.note(query.query.name, error)
            if not isinstance(error, Exception):
                query.failure = failed_by(query.query.name, error)

    def _is_current(self, query: RunningQuery) -> bool:
        """Whether a query is still there: a function that took a report may have dropped it."""
        return self._running.get(query.query.name.lower()) is query

    def clock_of(self, query: RunningQuery) -> int:
        """Return the query's clock: the least frontier of the streams it reads.

        A query of relations alone goes with the newest of all streams; without any, with the
        newest change of what it reads; and before any time is known, it stands at the first moment
        of all.
        """
        names = query.streams
        if names:
            return min(self._streams[n].frontier for n in names)
        known = [s.frontier for s in self._streams.values()]
        if not known:
            known = [r.newest for n, r in self._relations.items() if query.reads(n)]
        return max([query.clock, FIRST_MOMENT, *known])

    def held_back_by(self, query: RunningQuery) -> str | None:
        """Return the stream that the others wait for; None if all have come equally far."""
        names = query.streams
        reached = [self._streams[n].frontier for n in names]
        if len(set(reached)) < 2:
            return None
        return names[reached.index(min(reached))]

    def advance(self, instant: handle.Instant, stream: str | None = None) -> None:
        """A heartbeat: all streams, or one, have reached `instant`.

        In a database with both kinds of clock a number is meant for the streams that count
        ticks, and a time for the others.
        """
        self._require_open()
        self._require_input()
        beats = [
            (s, handle.to_instant(instant, s.stream.clock))
            for s in self._heartbeat_inputs(instant, stream)
        ]
        arrived = [(s.stream.name, *s.heartbeat(at)) for s, at in beats]
        self._bring_up(list(self._running.values()), lambda query: _feed(query, arrived))

    def _heartbeat_inputs(self, instant: handle.Instant, stream: str | None) -> list[StreamInput]:
        if stream is None:
            wanted = Clock.TICKS if handle.counts_ticks(instant) else Clock.TIMESTAMP
            return self._on(wanted) or list(self._streams.values())
        entry = self._entry(stream)
        if isinstance(entry, Relation):
            raise InputError(f'"{stream}" is a relation: it has no heartbeat')
        return [self._streams[entry.name]]

    def drain(self) -> None:
        """End of input: every answer up to the last event time comes out."""
        self._require_open()
        self._drained = True
        arrived = [(s.stream.name, *s.end()) for s in self._streams.values()]
        for clock in Clock:
            last = self._newest(clock)
            for target in self._on(clock):
                target.frontier = max(target.frontier, last)
        queries = list(self._running.values())
        self._bring_up(queries, lambda query: _feed(query, arrived), ends=True)

    def late(self, name: str) -> pa.Table:
        """Return the tuples of a stream that came too late to be used, or changes of a relation.

        The latter with `_ts` and `_sign`.
        """
        entry = self._entry(name)
        if isinstance(entry, Relation):
            return self._relations[entry.name].late_rows()
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
        """Return a standing query by its name; refuse one that has failed."""
        found = self.standing(name)
        if found.failure is not None:
            raise has_failed(found.query.name, found.failure)
        return found

    def standing(self, name: str) -> RunningQuery:
        """Return a standing query by its name, failed or not."""
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
        """Continue a query under a plan made by measured statistics; return what changed."""
        old = self.running(name)
        chosen = _checked_strategy(old.strategy if strategy is None else strategy)
        joined_by = None if algorithm is None else checked_algorithm(algorithm)
        folded = None if early is None else checked_early(early)
        best = measured_placements(old)
        new = handed_over(old, chosen, measured(old), joined_by, folded, placements=best)
        self._running[name] = new
        return what_changed(old, new)

    def resume(self, name: str, saved: Saved, reached: Mapping[str, int]) -> None:
        """Replace a standing query by one that goes on from saved state.

        Its streams come at least as far as then; those that have gone on since stay.
        """
        old = self.standing(name)
        self._running[name] = new = RunningQuery.resumed(old.query, saved, self._processor)
        for recipient in old.recipients:
            recipient.join(new)
            new.recipients.append(recipient)
        for stream, frontier in reached.items():
            self._streams[stream].frontier = max(self._streams[stream].frontier, frontier)

    def frontier(self, stream: str) -> int:
        """Return how far a stream has come."""
        return self._streams[stream].frontier

    def relations_of(self, name: str) -> tuple[str, ...]:
        """Return the relations that a standing query reads."""
        return tuple(n for n in self._relations if self.standing(name).reads(n))

    def streams_of(self, name: str) -> tuple[str, ...]:
        """Return the streams that a standing query reads."""
        return self.standing(name).streams

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

    def __exit__(self, *error: object) -> None:
        self.close()


def _feed(query: RunningQuery, arrived: Sequence[Arrived]) -> None:
    """Feed a query what has arrived of the streams that it reads."""
    for name, ts, batch in arrived:
        if len(ts) and query.reads(name):
            query.feed(name, ts, batch.columns)


def _checked_strategy(strategy: object) -> str:
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        given = f'"{strategy}"' if isinstance(strategy, str) else shown(strategy)
        raise BindError(f"unknown strategy {given}", hint=f"Use {', '.join(STRATEGIES)}.")
    return strategy


def _kept(tables: list[pa.Table], entry: Stream) -> pa.Table:
    return pa.concat_tables(tables) if tables else entry.schema.arrow().empty_table()
