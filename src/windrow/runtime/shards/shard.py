"""One shard's share of all queries: rows in, one level after the other, changes out.

    batch b:   ingest(port, rows)*            what came to this shard
               times()                        sent to all shards
               step(0, moment)                all know the clock: up to it
               ingest(port, rows)* step(1, moment) ...   what other shards forwarded

A step may give millions of rows, when time has jumped: `slices` gives them bit by bit.

Pure: no file, no process, no Spark. State and changes follow from the rows (in any order) and the
moments, so a batch may be run again anywhere from the state before it.

In a keyed relation's stream (`Upserts`) a row replaces the one of its key:

    at   row        weight        changes
     1   (7, ada)      +           + (7, ada)
     4   (7, eve)      +           - (7, ada)   + (7, eve)
     9   (7, -)        -           - (7, eve)

All rows of a key arrive at the same shards. A row of an earlier time than its key's last change is
set aside; one without a time takes effect at that last change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.core.types import TIMESTAMP
from windrow.operators.arrow import words_of
from windrow.operators.interner import Interner
from windrow.operators.task import Saved
from windrow.operators.vector import I64
from windrow.plan.catalog import Relation, Stream
from windrow.plan.nodes import Route
from windrow.runtime.keyed import KeyedRows
from windrow.runtime.shards.clocks import (
    UNUSABLE,
    BatchClock,
    Clocks,
    InputTimes,
    StreamClock,
    rows_without_times,
)
from windrow.runtime.shards.following import follow, resume
from windrow.runtime.shards.layout import ProgramLayout, wired
from windrow.runtime.shards.pace import Pace, pace_name, pace_times
from windrow.runtime.shards.ports import FIRST, TIME, TUPLES, WEIGHT, Port
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.query import ShardQuery
from windrow.runtime.shards.wire import Stepped, joined


@dataclass(slots=True)
class Upserts:
    """The rows of a keyed relation in one shard: a batch of rows in, a batch of changes out."""

    port: Port
    keyed: KeyedRows = field(init=False)

    def __post_init__(self) -> None:
        relation, schema = self.port.entry, self.port.schema
        assert isinstance(relation, Relation), "only rows of relations replace others"
        self.keyed = KeyedRows(tuple(schema[name] for name in relation.key), schema.arrow())

    def changes(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the changes that rows make, in the order of time, and the rows that are too late.

        Both with `_ts`, `_weight` and the port's columns. O(rows · log rows).
        """
        table = table.take(pa.array(np.argsort(table[TIME].to_numpy(), kind="stable")))
        made = self.keyed.replace(
            _one_batch(table.select(self.port.schema.names).cast(self.port.schema.arrow())),
            table[TIME].to_numpy(),
            table[WEIGHT].to_numpy(),
        )
        # A row without a time takes effect at its key's last change, behind rows of earlier times.
        order = np.argsort(made.at, kind="stable")
        rows = made.rows.take(pa.array(order))
        heads = {TIME: pa.array(made.at[order]), WEIGHT: pa.array(made.sign[order])}
        changes = pa.table({**heads, **dict(zip(rows.schema.names, rows.columns, strict=True))})
        return changes, table.take(pa.array(made.refused))

    def save(self) -> Saved:
        """Return the rows and since when, and the keys whose row was deleted, and when."""
        return {"current": _saved(*self.keyed.current()), "ended": _saved(*self.keyed.ended())}

    def load(self, saved: Saved) -> None:
        """Continue with saved rows."""
        self.keyed.restore(_loaded(saved["current"]), _loaded(saved["ended"]))

    def check(self) -> None:
        """Assert the invariants."""
        self.keyed.check()


def _saved(rows: pa.RecordBatch, since: I64) -> Saved:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return {"rows": sink.getvalue().to_pybytes(), "since": since}


def _loaded(saved: object) -> tuple[pa.RecordBatch, I64]:
    assert isinstance(saved, dict), "rows are saved with their times"
    return _one_batch(pa.ipc.open_stream(saved["rows"]).read_all()), saved["since"]


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


SEQUENCE = "_seq"
"""A column that says in what order rows of one time arrived, where that matters."""


class Shard:
    """Shard `number` of a program."""

    def __init__(self, program: Program, number: int) -> None:
        self.program = program
        self.number = number
        self._build(None)

    def _build(self, interners: list[Interner] | None) -> None:
        layout, wirings = wired(self.program, interners)
        self.layout: ProgramLayout = layout
        pace = self.program.pace()
        self.queries = [
            ShardQuery(w, o, layout.ports, self.number, None if pace is None else Pace(pace))
            for w, o in zip(wirings, layout.outputs, strict=True)
        ]
        streams = {p.entry.name: p.entry for p in layout.ports if isinstance(p.entry, Stream)}
        self.clocks = Clocks({name: StreamClock(s) for name, s in streams.items()})
        upserting = [p for p in layout.ports if p.upserts]
        self.late = dict.fromkeys([p.entry.name for p in layout.ports if p.entry is not None], 0)
        self.rows_in = 0
        self._changes: dict[int, pa.Table] = {}
        self._staged: dict[int, list[pa.Table]] = {}
        self._late: dict[str, list[pa.Table]] = {}
        self._times: dict[str, InputTimes] = {}
        self._merged = _counted_once(layout.ports)
        self._counting = _counting(layout.ports, self._merged)
        self._upserts = {p.number: Upserts(p) for p in upserting}

    def ingest(self, port: int, table: pa.Table) -> None:
        """Take rows of a port: `_ts`, what it carries, its columns; in any order."""
        if not len(table):
            return
        where = self.layout.ports[port]
        if where.level == 0:
            table = self._noted(where, table)
        if len(table):
            self._staged.setdefault(port, []).append(table)
            for query in self.queries:
                query.expect(where, table)

    def _noted(self, port: Port, table: pa.Table) -> pa.Table:
        """Note the times of new rows; return those that are not late."""
        assert port.entry is not None, "ports of level 0 have a declared input"
        name, counts = port.entry.name, port.number in self._counting
        ts = words_of(table[TIME])
        clock = self.clocks.streams.get(name)
        if port.merges is not None:
            times = _times_of_merged(table, counts=counts)
            assert clock is not None, "only tuples of streams are merged"
            assert times.first >= clock.frontier, "a late tuple was merged"
            self._note_times(name, times)
            return table
        reached = self._answered(name) if clock is None else clock.frontier
        behind = (ts < reached) & ((ts > BEGINNING) | (clock is not None))
        if behind.any():
            if clock is not None:
                self._note_times(name, UNUSABLE)
            if counts and self._keeps(port):
                self._late.setdefault(name, []).append(table.filter(pa.array(behind)))
            table = table.filter(pa.array(~behind))
            ts = ts[~behind]
        known = ts if clock is not None else ts[ts > BEGINNING]
        if len(known):
            self._note_times(
                name, InputTimes(int(known.min()), int(known.max()), len(ts) if counts else 0)
            )
        if len(known) < len(ts):
            self._note_times(rows_without_times(name), UNUSABLE)
        return table

    def _answered(self, relation: str) -> int:
        """Return the furthest instant that a query of a relation had answered for by this batch."""
        clocks = [max(q.due, self.clocks.of(q.streams)) for q in self.queries if q.reads(relation)]
        return max(clocks, default=BEGINNING)

    def _keeps(self, port: Port) -> bool:
        """Return whether this shard keeps late rows of a port: of rows that all have, one does."""
        return port.route is not Route.ALL or self.number == 0

    def _note_times(self, name: str, times: InputTimes) -> None:
        before = self._times.get(name)
        self._times[name] = times if before is None else before.merged(times)

    def times(self) -> dict[str, InputTimes]:
        """Return what was ingested on level 0 since the last batch, by input.

        And where queries with a pace would stop. Ask once a batch, when all its rows are there.
        """
        times = dict(self._times)
        for query in self.queries:
            if query.pace is not None:
                times[pace_name(query.output.number)] = pace_times(query.pace.stop(query.clock))
        return times

    def step(self, level: int, batch_clock: BatchClock) -> Stepped:
        """Run one level of all queries up to the clock that the moment gives."""
        return joined(list(self.slices(level, batch_clock)))

    def slices(self, level: int, batch_clock: BatchClock) -> Iterator[Stepped]:
        """Do the same; yield what it gives slice by slice. All of them must be asked for."""
        for number in [p for p in self._staged if self.layout.ports[p].level == level]:
            self._deliver(self.layout.ports[number], self._staged.pop(number))
        if level == 0:
            late = self._begin(batch_clock)
            if late:
                yield Stepped(late=late)
        last = self.layout.levels - 1
        for query in self.queries:
            yield from self._sliced(query, level, batch_clock)
        if level == last:
            yield Stepped(changes=self._changes)
            self._changes = {}
            for query in self.queries:
                query.rest()
                if not batch_clock.drain:
                    follow(self.program, query)

    def _sliced(self, query: ShardQuery, level: int, batch_clock: BatchClock) -> Iterator[Stepped]:
        """Run a level of one query.

        Changes leave the shards with the last level of all queries. So a query of one level is
        run then; those of a query that ends in between wait.
        """
        last, number = self.layout.levels - 1, query.output.number
        own = level
        if query.output.level == 0:
            own = 0 if level == last else -1
        if not 0 <= own <= query.output.level:
            return
        waiting = []
        for made in query.slices(own, ends=batch_clock.drain):
            changes = made.changes
            if changes is not None and level < last:
                waiting.append(changes)
                changes = None
            found = {number: changes} if changes is not None and len(changes) else {}
            yield Stepped(made.forwarded, found)
        if waiting:
            self._changes[number] = pa.concat_tables(waiting)

    def _begin(self, batch_clock: BatchClock) -> dict[str, pa.Table]:
        """Set every query's clock; return what came too late."""
        self.clocks.advance(batch_clock)
        for query in self.queries:
            sources = query.wiring.physical.sources.values()
            names = {s.entry.name for s in sources if s.begins}
            firsts = [h.first for name, h in batch_clock.times.items() if name in names]
            if not query.streams and batch_clock.times.keys() & set(map(rows_without_times, names)):
                firsts.append(self.clocks.of(()))
            stop = (
                None if batch_clock.drain else batch_clock.times.get(pace_name(query.output.number))
            )
            query.reach(
                query.clock if query.waits(batch_clock) else self.clocks.of(query.streams),
                min(firsts, default=FOREVER),
                FOREVER if stop is None else stop.first,
            )
        late = {name: pa.concat_tables(tables) for name, tables in self._late.items()}
        for name, table in late.items():
            self.late[name] += len(table)
        self._late, self._times = {}, {}
        return late

    def _deliver(self, port: Port, tables: list[pa.Table]) -> None:
        whole = pa.concat_tables(tables).combine_chunks()
        if port.merges is None:
            self.rows_in += len(whole)
        elif port.number in self._merged.values():
            self.rows_in += _tuples(whole)
        if port.level:
            for query in self.queries:
                query.arrive(port, whole)
            return
        if port.ordered and SEQUENCE in whole.column_names:
            whole = whole.sort_by([(TIME, "ascending"), (SEQUENCE, "ascending")])
        if port.upserts:
            whole = self._replacing(port, whole)
        ts = words_of(whole[TIME])
        columns = {f.name: whole[f.name].combine_chunks() for f in port.schema}
        weight = None
        if isinstance(port.entry, Relation):
            weight = words_of(whole[WEIGHT])
        elif port.entry is not None and port.merges is None:
            columns[port.entry.time_column] = _times(ts, port.entry)
        for query in self.queries:
            query.feed(port.number, ts, columns, weight)

    def _replacing(self, port: Port, table: pa.Table) -> pa.Table:
        """Return the changes that rows of a keyed relation make; keep those that come too late."""
        assert port.entry is not None, "ports of level 0 have a declared input"
        changes, late = self._upserts[port.number].changes(table)
        if len(late) and self._keeps(port) and port.number in self._counting:
            self._late.setdefault(port.entry.name, []).append(late)
        return changes.combine_chunks()

    def save(self) -> Saved:
        """Return everything that `load` needs; only between batches."""
        return {
            "clocks": self.clocks.save(),
            "late": dict(self.late),
            "rows_in": self.rows_in,
            "queries": [query.save() for query in self.queries],
            "upserts": [[number, upserts.save()] for number, upserts in self._upserts.items()],
        }

    def load(self, saved: Saved) -> None:
        """Take over a saved state of the same program."""
        queries = saved["queries"]
        assert isinstance(queries, list)
        self._build([Interner.loaded(q["interner"]) for q in queries])
        self.clocks.load(saved["clocks"])  # type: ignore[arg-type]
        self.late |= dict(saved["late"])  # type: ignore[call-overload]
        self.rows_in = int(saved["rows_in"])  # type: ignore[call-overload]
        for query, state in zip(self.queries, queries, strict=True):
            resume(self.program, query, state["followed"])
            query.load(state)
        kept = dict(saved.get("upserts", []))  # type: ignore[call-overload]
        if kept.keys() != self._upserts.keys():
            raise StateError("the state is of a windrow that did not know the rows of keys")
        for number, upserts in self._upserts.items():
            upserts.load(kept[number])

    def stats(self) -> dict[str, object]:
        """Return what is known about the work so far, as plain values."""
        queries = {}
        for query in self.queries:
            operators = query.operators()
            queries[query.output.query] = {
                "clock": None if query.clock == BEGINNING else query.clock,
                "held_back_by": self.clocks.held_back_by(query.streams),
                "behind": query.behind,
                "state_rows": sum(int(op["state_rows"]) for op in operators),
                "state_bytes": sum(int(op["state_bytes"]) for op in operators),
                "delay": query.delays.to_plain(),
                "operators": operators,
            }
        frontiers = {name: clock.frontier for name, clock in self.clocks.streams.items()}
        return {
            "rows_in": self.rows_in,
            "late": dict(self.late),
            "frontiers": frontiers,
            "queries": queries,
        }


def _counted_once(ports: tuple[Port, ...]) -> dict[int, int]:
    """Return, by port, the port of merged tuples by which its own are counted.

    Where queries with filters share a port, one that leaves nothing out is best.
    """
    found: dict[int, int] = {}
    for port in reversed(ports):
        if port.merges is not None and port.merges.source.predicate is not None:
            found[port.merges.of] = port.number
    for port in reversed(ports):
        if port.merges is not None and port.merges.source.predicate is None:
            found[port.merges.of] = port.number
    return found


def _counting(ports: tuple[Port, ...], merged: dict[int, int]) -> frozenset[int]:
    """Return the ports by which each input's rows are counted once: if any, all its rows."""
    best: dict[str, int] = {}
    for port in sorted(ports, key=lambda p: (p.upserts, p.predicate is None, -p.number)):
        if port.entry is not None and port.merges is None:
            best[port.entry.name] = port.number
    chosen = frozenset(best.values())
    return chosen | {number for of, number in merged.items() if of in chosen}


def _tuples(merged: pa.Table) -> int:
    return int(merged[TUPLES].to_numpy().sum())


def _times_of_merged(table: pa.Table, *, counts: bool) -> InputTimes:
    """Return the times of merged rows: each has its first and its newest."""
    first, newest = int(table[FIRST].to_numpy().min()), int(table[TIME].to_numpy().max())
    return InputTimes(first, newest, _tuples(table) if counts else 0)


def _times(ts: I64, stream: Stream) -> pa.Array:
    """Return the time column, which does not cross by itself."""
    times = pa.array(np.ascontiguousarray(ts))
    if stream.clock is Clock.TIMESTAMP:
        return times.view(TIMESTAMP)
    return times.cast(stream.schema[stream.time_column].type)
