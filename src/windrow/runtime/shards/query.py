"""One query's share of the work on one shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.arrow import vector_from_arrow, vector_to_arrow, words_of
from windrow.operators.delta import Delta
from windrow.operators.early_measures import watches_of
from windrow.operators.handover import carried
from windrow.operators.levels import LeveledFlow, StepRange
from windrow.operators.ordering import RowOrder
from windrow.operators.queued.delays import Delays
from windrow.operators.source import SourceReader
from windrow.operators.state.backlog import loaded_delta, saved_delta
from windrow.operators.task import Saved, Task
from windrow.operators.vector import I64
from windrow.operators.view import net_per_instant
from windrow.physical.sources import as_it_is
from windrow.plan.catalog import Relation, Stream
from windrow.runtime.changelog import changelog, codes_of
from windrow.runtime.shards.agenda import Agenda, widths_of
from windrow.runtime.shards.clocks import BatchClock
from windrow.runtime.shards.layout import Output, Wiring
from windrow.runtime.shards.pace import Pace
from windrow.runtime.shards.ports import EXPIRY, TIME, WEIGHT, Port

SWEEP_CHECK = 64
"""Steps between two looks at whether unused text can be forgotten."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What a slice of time gives: rows for ports of the next level, and changes of the answer."""

    forwarded: dict[int, pa.Table]
    changes: pa.Table | None

    @property
    def rows(self) -> int:
        """How many rows are emitted."""
        own = 0 if self.changes is None else len(self.changes)
        return own + sum(map(len, self.forwarded.values()))


@dataclass(slots=True)
class ShardQuery:
    """A query's tasks on one shard, its rows that wait for the clock, and its clock.

    `due` is how far its streams have come. The clock is less while a `pace` holds it back.
    `since`: from when on operators count, if not from the start; `followed`: placements of early
    aggregation that this shard has changed to (`following.py`).
    """

    wiring: Wiring
    output: Output
    ports: tuple[Port, ...]
    shard: int
    pace: Pace | None = None
    flow: LeveledFlow = field(init=False)
    streams: tuple[str, ...] = field(init=False)
    clock: int = BEGINNING
    due: int = BEGINNING
    start: int | None = None
    steps: int = 0
    since: int | None = None
    followed: dict[str, str] = field(default_factory=dict)
    delays: Delays = field(default_factory=Delays)
    runs: bool = False  # whether this batch's clock has been reached by its first event
    _before: int = BEGINNING  # the clock of the batch before
    _widths: dict[int, tuple[int, ...]] = field(init=False)
    _agendas: list[Agenda] = field(init=False)
    _readers: dict[int, list[tuple[int, SourceReader]]] = field(init=False)
    _buffers: dict[int, list[Delta]] = field(init=False)
    _came: dict[int, list[Delta]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tie()
        self._buffers = {stage: [] for stage in self.wiring.physical.sources}
        self._agendas = [Agenda.empty() for _ in range(self.flow.height)]

    def _tie(self) -> None:
        """Make the tasks ready, and tie them to the ports."""
        physical = self.wiring.physical
        self.flow = LeveledFlow(physical, self.shard)
        entries = (s.entry for s in physical.sources.values())
        self.streams = tuple(dict.fromkeys(e.name for e in entries if isinstance(e, Stream)))
        self._readers = {}
        for stage, port in self.wiring.sources.items():
            reader = SourceReader(physical.sources[stage], self.wiring.interner)
            self._readers.setdefault(port, []).append((stage, reader))
        for stage, port in self.wiring.merged.items():
            reader = SourceReader(as_it_is(physical.sources[stage]), self.wiring.interner)
            self._readers.setdefault(port, []).append((stage, reader))
        widths = widths_of(self.wiring.query.root)
        self._widths = {i: widths.get(s.entry.name, ()) for i, s in physical.sources.items()}

    def rewire(self, wiring: Wiring, followed: Mapping[str, str]) -> None:
        """Take fresh tasks of another plan of the query, which rows cross as they do now."""
        waiting = carried(self.wiring.physical.sources, wiring.physical.sources, self._buffers)
        self.wiring, self.followed, self._buffers = wiring, dict(followed), waiting
        self._tie()

    def reads(self, name: str) -> bool:
        """Return whether the query has an input of this name."""
        return any(s.entry.name == name for s in self.wiring.physical.sources.values())

    def feed(self, port: int, ts: I64, columns: Mapping[str, pa.Array], weight: I64 | None) -> None:
        """Queue rows of a port of level 0."""
        for stage, reader in self._readers.get(port, ()):
            if isinstance(reader.source.entry, Relation):
                ts = np.maximum(ts, self.due)  # without a time: now
            self._buffers[stage].append(reader.read(ts, columns, weight))

    def expect(self, port: Port, table: pa.Table) -> None:
        """Note when rows that have come will leave, if a pace is kept."""
        if self.pace is not None and port.level == 0:
            for stage, _ in self._readers.get(port.number, ()):
                self.pace.note(stage, words_of(table[TIME]), self._widths[stage])

    def arrive(self, port: Port, table: pa.Table) -> None:
        """Queue rows of a port of a higher level: changes that other shards, or this one, made."""
        for stage, number in self.wiring.exchanges.items():
            if number == port.number:
                columns = {
                    f.name: vector_from_arrow(table[f.name], f.type, self.wiring.interner)
                    for f in port.schema
                }
                words = {n: words_of(table[n]) for n in (TIME, *port.carries)}
                delta = Delta(words[TIME], columns, words.get(EXPIRY), words.get(WEIGHT))
                self._came.setdefault(stage, []).append(delta)

    def waits(self, batch_clock: BatchClock) -> bool:
        """Return whether time does not pass in a batch: without rows, under `input_triggered`."""
        if batch_clock.drain or self.wiring.query.expiry.kind != "input_triggered":
            return False
        names = {source.entry.name for source in self.wiring.physical.sources.values()}
        return not any(batch_clock.times[name].rows for name in names & batch_clock.times.keys())

    def reach(self, due: int, first: int, stop: int = FOREVER) -> None:
        """How far the streams are, and the first time in this batch, on any shard.

        Either may be FOREVER: `first` without rows, and `stop`, where the clock waits for the next
        batch, if it need not.
        """
        if not self.flow.begun and first < FOREVER:
            self.start = first if self.start is None else min(self.start, first)
        self.runs = self.start is not None and due >= self.start
        if self.runs:
            self.due = max(self.due, due)
            self._before, self.clock = self.clock, max(self.clock, min(self.due, stop))

    @property
    def behind(self) -> int:
        """How far the clock is behind the streams."""
        return self.due - self.clock

    def slices(self, level: int, *, ends: bool) -> Iterator[Slice]:
        """Run one level up to the clock, a slice of time after the other; yield what each gives."""
        if not self.runs:
            return
        assert self.start is not None, "a query runs from its first event on"
        given = self._imported(level) if level else self._entered()
        agenda = self._agendas[level]
        arrivals = [delta.ts for delta in given.values()]
        for until in agenda.slices(arrivals, max(self._before, self.start), self.clock):
            parts = {stage: delta.split(until) for stage, delta in given.items()}
            given = {stage: later for stage, (_, later) in parts.items()}
            more = until < self.clock
            reach = StepRange(until, self.start, ends and not more, more)
            self.flow.step(level, {stage: now for stage, (now, _) in parts.items()}, reach)
            made = Slice(self._forwarded(level), self._changes(level))
            agenda.made(made.rows)
            yield made

    def _entered(self) -> dict[int, Delta]:
        ready = {stage: self._ready(stage) for stage, waiting in self._buffers.items() if waiting}
        for stage, delta in ready.items():
            self._agendas[0].note(delta.ts, self._widths[stage])
        return ready

    def _ready(self, stage: int) -> Delta:
        whole = _in_time_order(Delta.concat(self._buffers[stage]))
        now, later = whole.split(self.clock)
        self._buffers[stage] = [later] if len(later) else []
        return now

    def _imported(self, level: int) -> dict[int, Delta]:
        ready = {}
        for stage in [s for s in self._came if self.flow.levels[s] == level]:
            delta = _in_time_order(Delta.concat(self._came.pop(stage)))
            if self.ports[self.wiring.exchanges[stage]].ordered:
                schema = self.wiring.physical.stages[stage].schema
                delta = RowOrder(schema, (), self.wiring.interner).sorted_instants(delta)
            if delta.exp is not None:
                self._agendas[level].note(delta.exp)
            ready[stage] = delta
        return ready

    def _forwarded(self, level: int) -> dict[int, pa.Table]:
        """Return what must change shards after a level, by port."""
        out = {}
        for stage, number in self.wiring.exchanges.items():
            (below,) = self.wiring.physical.stages[stage].inputs
            if self.flow.levels[stage] == level + 1:
                delta = self.flow.leaving(below)
                if len(delta):
                    out[number] = self._table(self.ports[number], delta)
        return out

    def _table(self, port: Port, delta: Delta) -> pa.Table:
        arrays = {TIME: pa.array(delta.ts)}
        if EXPIRY in port.carries:
            arrays[EXPIRY] = pa.array(delta.exp)
        if WEIGHT in port.carries:
            arrays[WEIGHT] = pa.array(delta.weights())
        for column in port.schema:
            vector = delta.columns[column.name]
            arrays[column.name] = vector_to_arrow(vector, self.wiring.interner)
        return pa.table(arrays)

    def _changes(self, level: int) -> pa.Table | None:
        """Return the answer's changes of this slice, if this is the level that has them."""
        if level != self.output.level:
            return None
        delta = self.flow.changes()
        if not self.wiring.physical.netted:
            delta = net_per_instant(delta)
        self.delays.note(delta.ts, self.clock)
        return changelog(delta, self.output.schema, self.output.clock, self.wiring.interner)

    def rest(self) -> None:
        """Between batches: forget text that nothing refers to any more."""
        self.steps += self.runs
        if self.steps % SWEEP_CHECK or not self.wiring.interner.wants_sweep:
            return
        batches = [d for ds in self._buffers.values() for d in ds]
        live = self.flow.live_codes()
        self.flow.rest()
        self.wiring.interner.sweep(live + [code for d in batches for code in codes_of(d)])

    def save(self) -> Saved:
        """Return everything that `load` needs to go on from here; only between batches."""
        return {
            "plan": self.wiring.physical.signature,
            "clock": self.clock,
            "due": self.due,
            "start": self.start,
            "pace": None if self.pace is None else self.pace.save(),
            "flow": self.flow.save(),
            "interner": self.wiring.interner.save(),
            "buffers": [[i, [saved_delta(d) for d in ds]] for i, ds in self._buffers.items()],
            "agendas": [agenda.save() for agenda in self._agendas],
            "delays": self.delays.save(),
            "followed": dict(self.followed),
            "watches": {watch.key: watch.save() for watch in watches_of(self.flow.flow.stages)},
            "since": self.since,
            "counters": [task.counters.save() for task in self._tasks()],
        }

    def load(self, saved: Saved) -> None:
        """Take over a saved state; the interner is loaded before, and so are placements.

        Raises `StateError` if it is of another plan.
        """
        if saved["plan"] != self.wiring.physical.signature:
            raise StateError(
                f'the state of query "{self.output.query}" is that of another plan',
                detail="The query, or the way in which this windrow works it out, has changed.",
                hint="Start with a new checkpoint, or with the windrow that wrote this one.",
            )
        self.clock, self.start = saved["clock"], saved["start"]  # type: ignore[assignment]
        self.due = saved["due"]  # type: ignore[assignment]
        if self.pace is not None and saved["pace"] is not None:  # what came without is not paced
            self.pace.load(saved["pace"])  # type: ignore[arg-type]
        self.flow.load(saved["flow"])  # type: ignore[arg-type]
        buffers = saved["buffers"]
        assert isinstance(buffers, list)
        stages = self.wiring.physical.stages
        self._buffers = {i: [loaded_delta(d, stages[i].schema) for d in ds] for i, ds in buffers}
        self._agendas = [Agenda.load(a) for a in saved["agendas"]]  # type: ignore[attr-defined]
        self.delays.load(saved["delays"])  # type: ignore[arg-type]
        self._load_counts(saved)

    def _load_counts(self, saved: Saved) -> None:
        """Go on counting: the same tuples lead to the same looks."""
        counts, looks = saved["counters"], saved["watches"]
        assert isinstance(counts, list)
        assert isinstance(looks, dict)
        for task, counted in zip(self._tasks(), counts, strict=True):
            task.counters.load(counted)
        self.since = saved["since"]  # type: ignore[assignment]
        for watch in watches_of(self.flow.flow.stages):
            watch.load(looks[watch.key])

    def _tasks(self) -> list[Task]:
        return [s.task for s in self.wiring.physical.stages if s.task is not None]

    def operators(self) -> list[dict[str, Any]]:
        """Return what each operator stores here, and what it has counted."""
        return [
            {**s.counts(), **({} if s.watch is None else s.watch.stats())}
            for s in self.wiring.physical.stages
            if s.task is not None
        ]


def _in_time_order(delta: Delta) -> Delta:
    if len(delta) < 2 or (delta.ts[1:] >= delta.ts[:-1]).all():
        return delta
    return delta.take(np.argsort(delta.ts, kind="stable"))
