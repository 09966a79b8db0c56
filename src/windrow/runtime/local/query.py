"""A standing query at work in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError, SemanticError, StateError
from windrow.core.schema import Schema
from windrow.core.time import BEGINNING, Clock
from windrow.operators.arrow import vector_to_arrow
from windrow.operators.dataflow import Dataflow, loaded_delta, saved_delta
from windrow.operators.delta import Delta
from windrow.operators.few import Incoming
from windrow.operators.interner import Interner
from windrow.operators.lower import Physical, Showing, lower
from windrow.operators.source import Source, SourceReader
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector
from windrow.operators.view import View, net_per_instant
from windrow.optimize.choose_join import TREE
from windrow.optimize.statistics import UNKNOWN, Statistics
from windrow.plan.catalog import Stream
from windrow.plan.labels import clock_of
from windrow.plan.nodes import Query, is_stream
from windrow.runtime.changelog import changelog, codes_of
from windrow.runtime.local.presentation import sort_table

SWEEP_CHECK = 64
"""Steps between two looks at whether unused text can be forgotten."""


@dataclass(slots=True)
class RunningQuery:
    """A physical plan, its inputs that wait for the clock, and its answer so far."""

    query: Query
    strategy: str
    physical: Physical = field(init=False)
    flow: Dataflow = field(init=False)
    interner: Interner = field(default_factory=Interner)
    statistics: Statistics = UNKNOWN
    view: View | None = field(init=False)
    time_type: Clock = field(init=False)
    streams: tuple[str, ...] = field(init=False)
    clock: int = BEGINNING
    start: int | None = None
    ended: bool = False
    steps: int = 0
    counted_from: int | None = None
    _readers: dict[str, list[tuple[int, SourceReader]]] = field(init=False)
    _buffers: dict[int, list[Delta]] = field(init=False)
    _log: list[Delta] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.physical = self.lowered()
        self.flow = Dataflow(self.physical.stages)
        self.time_type = clock_of(self.query.root)
        entries = (s.entry for s in self.physical.sources.values())
        self.streams = tuple(dict.fromkeys(e.name for e in entries if isinstance(e, Stream)))
        self.view = None if self.is_stream or self.physical.shown else View(self.schema)
        self._readers = {}
        for i, source in self.physical.sources.items():
            reader = SourceReader(source, self.interner)
            self._readers.setdefault(source.entry.name, []).append((i, reader))
        self._buffers = {i: [] for i in self.physical.sources}

    def lowered(self) -> Physical:
        """Return a fresh physical plan, of the same form."""
        return lower(self.query, self.strategy, self.interner, statistics=self.statistics)

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""
        return self.query.root.schema

    @property
    def is_stream(self) -> bool:
        """Tell whether the output is an append-only stream, not a view."""
        return is_stream(self.query.root)

    def reads(self, name: str) -> bool:
        """Tell whether the query has an input of this name."""
        return name in self._readers

    def feed(
        self, name: str, ts: I64, columns: Mapping[str, Incoming], weight: I64 | None = None
    ) -> None:
        """Queue tuples of an input, in time order; `weight` for changes of a relation."""
        for i, reader in self._readers.get(name, ()):
            self._note_start(reader.source, ts)
            self._buffers[i].append(reader.read(ts, columns, weight))

    def _note_start(self, source: Source, ts: I64) -> None:
        if self.flow.begun or not source.begins:
            return
        known = ts[ts > BEGINNING]
        if len(known):
            first = int(known[0])
            self.start = first if self.start is None else min(self.start, first)

    def run(self, clock: int, *, ends: bool = False) -> None:
        """Bring the answer up to `clock`."""
        if self.start is None or clock < self.start or self.ended:
            return
        self.clock = max(self.clock, clock)
        ready = {
            i: self._ready(i)
            for i, waiting in self._buffers.items()
            if waiting and self._is_due(waiting)
        }
        begins = not self.flow.begun
        out = self.flow.step(ready, self.clock, start=self.start, ends=ends)
        if begins:
            out = net_per_instant(out)
        self.ended = ends
        self._publish(out)

    def _is_due(self, waiting: list[Delta]) -> bool:
        """Tell whether any batch may have a change up to the clock: order is not certain here."""
        return len(waiting) > 1 or len(waiting[0]) != 1 or waiting[0].ts[0] <= self.clock

    def _ready(self, i: int) -> Delta:
        whole = Delta.concat(self._buffers[i])
        if len(whole) > 1 and not (whole.ts[1:] >= whole.ts[:-1]).all():
            # A relation may be told of its future.
            whole = whole.take(np.argsort(whole.ts, kind="stable"))
        if not len(whole) or whole.ts[-1] <= self.clock:
            self._buffers[i] = []
            return whole
        now, later = whole.split(self.clock)
        self._buffers[i] = [later] if len(later) else []
        return now

    def _publish(self, out: Delta) -> None:
        if len(out):
            self._log.append(out)
            if self.view is not None:
                self.view.apply(out)
                if self.strategy == "negative":
                    self.view.settle()  # its answer is a hash by row, kept at every change
        self.steps += 1
        if self.steps % SWEEP_CHECK == 0 and self.interner.wants_sweep:
            self._sweep()

    def _sweep(self) -> None:
        """Forget text that no state, buffer or unread change refers to."""
        live = self.physical.live_codes(self.flow)
        batches = [*self._log, *(d for ds in self._buffers.values() for d in ds)]
        batches += self.flow.held_back()
        live += [code for d in batches for code in codes_of(d)]
        if self.view is not None:
            live += self.view.live_codes()
        self.interner.sweep(live)

    def changes(self) -> pa.Table:
        """Return the changes since the last call: _ts, _sign, then the query's columns."""
        log, self._log = self._log, []
        schema = self.schema
        delta = self._netted(Delta.concat(log)) if log else Delta.empty(schema, signed=True)
        return changelog(delta, schema, self.time_type, self.interner)

    def _netted(self, delta: Delta) -> Delta:
        return delta if self.physical.netted else net_per_instant(delta)

    def answer(self, at: int | None = None) -> pa.Table:
        """Return the answer now, or as it will be at a later instant if nothing arrives."""
        if self.is_stream:
            raise SemanticError(
                f'"{self.query.name}" streams its results, so it has no current answer',
                hint="Read changes(), or keep the newest: WSTREAM(...)[ROWS 10].",
            )
        if at is None or at == self.clock:
            return self._answer_now()
        if at < self.clock:
            raise InputError(
                "the answer at an instant that has passed is not kept",
                detail=f"The query's clock is at {self.clock}, asked was {at}.",
                hint="Read changes() as they come, or ask before advancing.",
            )
        return self._answer_later(at)

    def _answer_now(self) -> pa.Table:
        if self.start is None:
            return self._before_any_tuple()
        columns, copies = self.rows()
        rows = np.repeat(np.arange(len(copies)), copies)
        arrays = [vector_to_arrow(columns[f.name].take(rows), self.interner) for f in self.schema]
        table = pa.Table.from_arrays(arrays, schema=self.schema.arrow())
        return sort_table(table, self.query.order)

    def rows(self) -> tuple[dict[str, Vector], I64]:
        """Return the answer now: rows, and the copies of each."""
        return self._shown() if self.view is None else self.view.rows()

    def _shown(self) -> tuple[dict[str, Vector], I64]:
        """Return the answer from the operator that has shown it."""
        first, *above = self.physical.shown
        task = self.flow.stages[first].task
        assert isinstance(task, Showing)
        delta = task.current()
        for i in above:
            step = self.flow.stages[i].task
            assert step is not None
            delta = step.step((delta,), self.clock)
        return delta.columns, np.abs(delta.weights())

    def _answer_later(self, at: int) -> pa.Table:
        """Let time pass on a copy of the state."""
        ahead = RunningQuery.resumed(self.query, self.snapshot())
        ahead.run(at)
        return ahead._answer_now()

    def _before_any_tuple(self) -> pa.Table:
        """Return the answer over empty streams, from what relations hold so far."""
        ahead = RunningQuery.resumed(self.query, self.snapshot())
        ahead.start = 0
        ahead.run(0)
        return ahead._answer_now()

    def snapshot(self) -> Saved:
        """Return everything that `resumed` needs to go on from here."""
        return {
            "plan": self.physical.signature,
            "strategy": self.strategy,
            "join_algorithm": self.query.join_algorithm,
            "statistics": self.statistics.save(),
            "clock": self.clock,
            "start": self.start,
            "ended": self.ended,
            "flow": self.flow.save(),
            "interner": self.interner.save(),
            "view": None if self.view is None else self.view.save(),
            "buffers": {str(i): [saved_delta(d) for d in ds] for i, ds in self._buffers.items()},
            "log": [saved_delta(d) for d in self._log],
        }

    @classmethod
    def resumed(cls, query: Query, saved: Saved) -> RunningQuery:
        """Start a query from its saved state, under the plan that it had then.

        Raises `StateError` if the state is that of another query.
        """
        interner, measured = saved["interner"], saved["statistics"]
        assert isinstance(interner, dict)
        assert isinstance(measured, dict)
        algorithm = saved.get("join_algorithm", TREE)  # before it was saved, all joins were trees
        query = replace(query, join_algorithm=str(algorithm))
        strategy = str(saved["strategy"])
        running = cls(query, strategy, Interner.load(interner), Statistics.load(measured))
        running._restore(saved)
        return running

    def _restore(self, saved: Saved) -> None:
        if saved["plan"] != self.physical.signature:
            raise StateError(
                f'the snapshot does not belong to "{self.query.name}"',
                detail="It was taken of another query.",
                hint="Register the query as it was.",
            )
        self.clock, self.start = saved["clock"], saved["start"]  # type: ignore[assignment]
        self.ended = bool(saved["ended"])
        self.flow.load(saved["flow"])  # type: ignore[arg-type]
        if saved["view"] is not None:
            self.view = View(self.schema)
            self.view.load(saved["view"])  # type: ignore[arg-type]
        buffers, log = saved["buffers"], saved["log"]
        assert isinstance(buffers, dict)
        assert isinstance(log, list)
        self._buffers = {
            int(i): [loaded_delta(d, self.flow.stages[int(i)].schema) for d in ds]
            for i, ds in buffers.items()
        }
        self._log = [loaded_delta(d, self.schema) for d in log]

    def stats(self) -> dict[str, object]:
        """Return counters, a stage at a time and in all."""
        stages = [
            {
                "operator": s.label,
                "structure": s.structure,
                "state_rows": s.task.state_rows(),
                "state_bytes": s.task.state_bytes(),
                **{name: getattr(s.task.counters, name) for name in s.task.counters.__slots__},
                **({} if s.watch is None else s.watch.stats()),
            }
            for s in self.flow.stages
            if s.task is not None
        ]
        return {
            "strategy": self.strategy,
            "join_algorithm": self.query.join_algorithm,
            "clock": None if self.clock == BEGINNING else self.clock,
            "state_rows": sum(int(s["state_rows"]) for s in stages),
            "state_bytes": sum(int(s["state_bytes"]) for s in stages),
            "view_bytes": 0 if self.view is None else self.view.nbytes,
            "pending_changes": sum(len(d) for d in self._log),
            "operators": stages,
        }
