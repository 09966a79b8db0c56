"""What a script makes of streams, relations and clocks: the world that each query sees.

The rules are those of docs/explanation/semantics.md 4 and docs/how-to/late-rows.md: a tuple behind
its stream's clock is late; a query's clock is the least of its streams', of relations alone the
newest of all; a query sees the tuples that come after it, and relations as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.generate.papers_queries import COLUMNS, NRR, STREAMS
from tests.papers.script import Action, Advance, Case, Drop, Push, Register, Timed, Update
from tests.reference.papers.description import Query, Stream, Table, sources_of
from tests.reference.papers.values import Row
from tests.reference.papers.worlds import Arrival, Change, World, first_event


@dataclass(slots=True)
class Standing:
    """What one query has seen, from `since`, its clock at registration.

    `untimed`: a relation that it reads has changed without a time of its own.
    `begins_at_once`: a relation that it reads had rows when the query was registered.
    """

    query: Query
    since: int | None
    streams: dict[str, list[Arrival]]
    relations: dict[str, list[Change]]
    ended: bool = False
    untimed: bool = False
    begins_at_once: bool = False

    @property
    def reads(self) -> frozenset[str]:
        """The streams and relations that the query names."""
        found = sources_of(self.query.body)
        return frozenset(s.name for s in found if isinstance(s, Stream | Table))

    @property
    def relations_only(self) -> bool:
        """Whether no stream tells the query's clock."""
        return not self.reads & set(STREAMS)

    def world(self) -> World:
        """The world as far as it is known."""
        return World(
            COLUMNS,
            {name: tuple(tuples) for name, tuples in self.streams.items()},
            {name: tuple(changes) for name, changes in self.relations.items()},
        )

    def begin(self) -> int | None:
        """When the query begins [semantics.md 7]: at once, or with its first event."""
        if self.begins_at_once:
            return self.since
        return first_event(self.query, self.world())


@dataclass(slots=True)
class Simulation:
    """Clocks of streams, histories of relations, and the standing queries."""

    case: Case
    frontiers: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(STREAMS))
    history: dict[str, list[Change]] = field(default_factory=dict)
    keys: dict[str, dict[object, Row]] = field(default_factory=dict)
    standing: dict[int, Standing] = field(default_factory=dict)
    untimed: set[str] = field(default_factory=set)

    def apply(self, action: Action) -> None:
        """Let an action happen."""
        match action:
            case Push(name, rows):
                self._push(name, rows)
            case Update(name, changes):
                self._update(name, changes)
            case Advance(ts, stream):
                for name in STREAMS if stream is None else (stream,):
                    self._reach(name, ts)
            case Register(number):
                self._register(number)
            case Drop(number):
                self.standing[number].ended = True

    def clock(self, number: int) -> int | None:
        """How far a query has come; None before all instants."""
        return self._clock(self.case.queries[number])

    def _clock(self, query: Query) -> int | None:
        names = {s.name for s in sources_of(query.body) if isinstance(s, Stream)}
        reached = [self.frontiers[name] for name in names]
        if not reached:
            return self.newest()
        known = [at for at in reached if at is not None]
        return min(known) if len(known) == len(reached) else None

    def _running(self) -> list[Standing]:
        return [query for query in self.standing.values() if not query.ended]

    def newest(self) -> int | None:
        """The newest of all streams' clocks."""
        return max((at for at in self.frontiers.values() if at is not None), default=None)

    def _reach(self, name: str, ts: int) -> None:
        before = self.frontiers[name]
        self.frontiers[name] = ts if before is None else max(before, ts)

    def _push(self, name: str, rows: tuple[Row, ...]) -> None:
        for row in rows:
            ts, reached = row[0], self.frontiers[name]
            assert isinstance(ts, int)
            if reached is not None and ts < reached:
                continue  # late
            self._reach(name, ts)
            for query in self._running():
                query.streams.setdefault(name, []).append(Arrival(ts, row))

    def _update(self, name: str, changes: tuple[Timed, ...]) -> None:
        now = self.newest()
        if any(ts is None for ts, _, _ in changes):
            self.untimed.add(name)
        for query in self._running():
            query.untimed |= bool(self.untimed & query.reads)
        for ts, sign, row in sorted(changes, key=lambda c: _order(now if c[0] is None else c[0])):
            effective = now if ts is None else ts
            if self._is_late(name, effective):
                continue
            for change in self._effects(name, Change(effective, sign, row)):
                self.history.setdefault(name, []).append(change)
                for query in self._running():
                    query.relations.setdefault(name, []).append(change)

    def _is_late(self, name: str, ts: int | None) -> bool:
        """Whether a change is behind the clock of a query that reads its relation."""
        if ts is None:
            return False
        clocks = (self._clock(q.query) for q in self._running() if name in q.reads)
        return any(clock is not None and ts < clock for clock in clocks)

    def _effects(self, name: str, change: Change) -> list[Change]:
        """With a key a row replaces the row of its key."""
        if not self.case.keyed:
            return [change]
        rows = self.keys.setdefault(name, {})
        old = rows.pop(change.row[0], None)
        if change.sign > 0:
            rows[change.row[0]] = change.row
        gone = [] if old is None else [Change(change.ts, -1, old)]
        return gone + ([change] if change.sign > 0 else [])

    def _register(self, number: int) -> None:
        query = self.case.queries[number]
        since = self._clock(query)
        seen = {
            name: [c if name == NRR else _as_it_is(c, since) for c in changes]
            for name, changes in self.history.items()
        }
        self.standing[number] = made = Standing(query, since, {}, seen)
        made.untimed = bool(self.untimed & made.reads)
        made.begins_at_once = since is not None and any(
            change.ts is None for name in made.reads - {NRR} for change in seen.get(name, ())
        )


def _order(ts: int | None) -> tuple[bool, int]:
    return ts is not None, ts or 0


def _as_it_is(change: Change, since: int | None) -> Change:
    """A query sees a relation as it is when the query is registered: all that has happened to it
    by then was before the query's first event."""
    if change.ts is None or since is None or change.ts > since:
        return change
    return Change(None, change.sign, change.row)
