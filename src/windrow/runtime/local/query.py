"""A standing query at work in this process."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError, SemanticError, StateError
from windrow.core.schema import Schema
from windrow.core.time import BEGINNING, Clock
from windrow.operators.arrow import vector_to_arrow
from windrow.operators.dataflow import Dataflow
from windrow.operators.delta import Delta
from windrow.operators.early_watching import EarlyWatch
from windrow.operators.few import Incoming
from windrow.operators.interner import Interner
from windrow.operators.open import OpenPlan, Showing, open_plan
from windrow.operators.queued import (
    AUTO,
    Delays,
    Pipeline,
    Processor,
    TimedPipeline,
    approach,
    processor_stats,
    queue_stats,
)
from windrow.operators.source import SourceReader
from windrow.operators.state.backlog import loaded_delta, saved_delta
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector
from windrow.operators.view import View, net_per_instant
from windrow.optimize.choose_join import TREE
from windrow.optimize.context import PlanContext
from windrow.optimize.early_estimates import NONE
from windrow.optimize.passes import optimize
from windrow.optimize.statistics import UNKNOWN, Statistics
from windrow.physical.node import PlanNotes
from windrow.physical.plan import PhysicalPlan
from windrow.physical.sources import SourceScan
from windrow.plan.catalog import Stream
from windrow.plan.expiring import Expiry
from windrow.plan.labels import clock_of
from windrow.plan.nodes import Query, is_stream
from windrow.plan.settings import LOCAL, unused
from windrow.runtime.changelog import changelog, codes_of, large_parts
from windrow.runtime.local.presentation import sort_table
from windrow.runtime.local.recipient import Recipient, To

SWEEP_CHECK = 64
"""Steps between two looks at whether unused text can be forgotten."""


@dataclass(slots=True)
class RunningQuery:
    """A physical plan, its inputs that wait for the clock, and its answer so far."""

    query: Query
    strategy: str
    physical: OpenPlan = field(init=False)
    flow: Dataflow = field(init=False)
    interner: Interner = field(default_factory=Interner)
    statistics: Statistics = UNKNOWN
    placements: dict[str, str] = field(default_factory=dict)
    processor: Processor | None = None
    given: PhysicalPlan | None = None
    """A plan made before, of which this is a copy."""
    pipeline: Pipeline | None = field(init=False)
    delays: Delays = field(init=False)
    view: View | None = field(init=False)
    time_type: Clock = field(init=False)
    streams: tuple[str, ...] = field(init=False)
    clock: int = BEGINNING
    start: int | None = None
    ended: bool = False
    steps: int = 0
    seconds: float = 0.0  # that operators have taken
    counted_from: int | None = None
    recipients: list[Recipient] = field(default_factory=list)
    failure: str | None = None
    """What has stopped it in the midst of a step; it must not be used then."""
    _readers: dict[str, list[tuple[int, SourceReader]]] = field(init=False)
    _buffers: dict[int, list[Delta]] = field(init=False)
    _log: list[Delta] = field(default_factory=list)
    _watches: list[EarlyWatch] = field(init=False)

    def __post_init__(self) -> None:
        self.physical = open_plan(self.given or self._optimized(), self.interner)
        self.placements = dict(self.physical.plan.placements)
        self.flow = Dataflow(self.physical.stages)
        self.time_type = clock_of(self.query.root)
        entries = (s.entry for s in self.physical.sources.values())
        self.streams = tuple(dict.fromkeys(e.name for e in entries if isinstance(e, Stream)))
        self.pipeline = self._queued()
        self.delays = Delays() if self.pipeline is None else self.pipeline.delays
        shown = self.physical.shown and self.processor is None
        self.view = None if self.is_stream or shown else View(self.schema)
        self._readers = {}
        for i, source in self.physical.sources.items():
            reader = SourceReader(source, self.interner)
            self._readers.setdefault(source.entry.name, []).append((i, reader))
        self._buffers = {i: [] for i in self.physical.sources}
        watches = (stage.watch for stage in self.physical.stages)
        self._watches = [watch for watch in watches if isinstance(watch, EarlyWatch)]

    def _queued(self) -> Pipeline | None:
        """Return the queues between operators, unless a batch passes all of them in one round."""
        said = self.query.expiry
        if said.kind == AUTO and self.processor is None:
            return None
        how = approach(said.kind, messages=said.join_messages == "on", punctuation=said.punctuation)
        if self.processor is None:
            return Pipeline(self.flow, how)
        return TimedPipeline(self.flow, how, processor=self.processor.copied())

    def _optimized(self) -> PhysicalPlan:
        context = PlanContext(
            self.strategy,
            self.statistics,
            queued=self.processor is not None,
            placements={self.query.name: self.placements},
        )
        (plan,) = optimize([self._whole], context)
        return plan

    def choice(self, at: int) -> PlanNotes | None:
        """Return what is known of the choice of an operator: by now, if it is watched."""
        watch = self.flow.stages[at].watch
        return self.physical.plan.nodes[at].notes if watch is None else watch

    @property
    def schema(self) -> Schema:
        """The columns of the answer, and behind them the keys of ORDER BY that it does not show."""
        return self._whole.root.schema

    @property
    def _whole(self) -> Query:
        """The query with the keys that its answer is ordered by and does not show."""
        keyed = self.query.keyed
        if keyed is None:
            return self.query
        return replace(self.query, root=keyed.plan, order=keyed.order, keyed=None)

    @property
    def is_stream(self) -> bool:
        """Return whether the output is an append-only stream, not a view."""
        return is_stream(self.query.root)

    @property
    def due(self) -> bool:
        """Return whether it is time to see which inputs are best aggregated before they are joined.

        Watches are few: most plans have none.
        """
        return any(watch.due for watch in self._watches)

    @property
    def counted_since(self) -> int | None:
        """Since when operators count: the start, a switch or a restore; None before any tuple."""
        return self.start if self.counted_from is None else self.counted_from

    @property
    def closed(self) -> int:
        """The instant before which no change can be about any more, but for what waits."""
        return self.clock - (0 if self.ended else self.flow.lag)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the streams and relations that it reads."""
        return tuple(self._readers)

    def reads(self, name: str) -> bool:
        """Return whether the query has an input of this name."""
        return name in self._readers

    def feed(
        self, name: str, ts: I64, columns: Mapping[str, Incoming], weight: I64 | None = None
    ) -> None:
        """Queue tuples of an input, in time order; `weight` for changes of a relation."""
        for i, reader in self._readers.get(name, ()):
            self._note_start(reader.source, ts)
            self._buffers[i].append(reader.read(ts, columns, weight))

    def _note_start(self, source: SourceScan, ts: I64) -> None:
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
        begins, started = not self.flow.begun, perf_counter()
        if self.pipeline is None:
            out = self.flow.step(ready, self.clock, start=self.start, ends=ends)
            self.delays.note(out.ts, self.clock)
        else:
            out = self.pipeline.step(ready, self.clock, start=self.start, ends=ends)
        self.seconds += perf_counter() - started
        if begins:
            out = net_per_instant(out)
        self.ended = ends
        self._publish(out)

    def _is_due(self, waiting: list[Delta]) -> bool:
        """Return whether any batch may have a change up to the clock: order is not certain here."""
        return len(waiting) > 1 or len(waiting[0]) != 1 or waiting[0].ts[0] <= self.clock

    def _ready(self, i: int) -> Delta:
        whole = Delta.concat(self._buffers[i])
        if len(whole) > 1 and not (whole.ts[1:] >= whole.ts[:-1]).all():
            # Changes of a relation may lie in the future.
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
            for recipient in self.recipients:
                recipient.take(out)
            if self.view is not None:
                self.view.apply(out)
                if self.strategy == "negative":
                    self.view.settle()  # its answer is a hash by row, kept at every change
        self.steps += 1
        if self.steps % SWEEP_CHECK == 0 and self.interner.wants_sweep:
            self._sweep()

    def reporting(self) -> list[Recipient]:
        """Return the recipients that have not stopped; drop the others."""
        self.recipients = [r for r in self.recipients if not r.stopped]
        return list(self.recipients) if self.flow.begun else []

    def report(self, period: int, to: To) -> Recipient:
        """Report the answer from now on, as of every multiple of a period."""
        self.recipients.append(Recipient(self, period, to))
        return self.recipients[-1]

    def _sweep(self) -> None:
        """Forget text that no state, buffer or unread change refers to."""
        live = self.flow.live_codes()
        batches = [*self._log, *(d for ds in self._buffers.values() for d in ds)]
        if self.pipeline is not None:
            live += self.pipeline.live_codes()
        for recipient in self.recipients:
            batches += recipient.held_back()
        live += [code for d in batches for code in codes_of(d)]
        if self.view is not None:
            live += self.view.live_codes()
        live += [code for r in self.recipients for code in r.live_codes()]
        self.interner.sweep(live)

    @property
    def unread(self) -> bool:
        """Whether there are changes that nobody has read."""
        return bool(self._log)

    def changes(self) -> pa.Table:
        """Return the changes since the last call: _ts, _sign, then the query's columns."""
        log, self._log = self._log or [Delta.empty(self.schema, signed=True)], []
        net = self.physical.netted or all(d.weight is None for d in log)
        shown = self.query.root.schema
        if self.query.keyed is not None:
            log, net = [_without_keys(d, shown) for d in log], False
        parts = large_parts(log) if net else [net_per_instant(Delta.concat(log))]
        tables = [changelog(p, shown, self.time_type, self.interner) for p in parts]
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

    def answer(self, at: int | None = None) -> pa.Table:
        """Return the answer as emitted so far, or what it is by an instant if nothing else arrives.

        What expiry, or a processor, delays is in the latter alone.
        """
        self.require_answer()
        if at is None or (at == self.clock and self.pipeline is None):
            return self._answer_now()
        if at < self.clock:
            raise InputError(
                "the answer at an instant that has passed is not kept",
                detail=f"The query's clock is at {self.clock}, asked was {at}.",
                hint="Read changes() as they come, or ask before advancing.",
            )
        return self._answer_later(at)

    def require_answer(self) -> None:
        """Refuse a query that has none."""
        if self.is_stream:
            raise SemanticError(
                f'"{self.query.name}" streams its results, so it has no current answer',
                hint="Read changes(), or keep the newest: WSTREAM(...)[ROWS 10].",
            )

    def _answer_now(self) -> pa.Table:
        if self.flow.begun:
            return self.table(*self.rows())
        return self.query.root.schema.arrow().empty_table()  # as changes() is

    def table(self, columns: Mapping[str, Vector], copies: I64) -> pa.Table:
        """Return rows of the answer, each in its copies, in the query's order."""
        rows = np.repeat(np.arange(len(copies)), copies)
        arrays = [vector_to_arrow(columns[f.name].take(rows), self.interner) for f in self.schema]
        table = pa.Table.from_arrays(arrays, schema=self.schema.arrow())
        return sort_table(table, self._whole.order).select(list(self.query.root.schema.names))

    def rows(self) -> tuple[dict[str, Vector], I64]:
        """Return the answer now: rows, and the copies of each."""
        return self._shown() if self.view is None else self.view.rows()

    def _shown(self) -> tuple[dict[str, Vector], I64]:
        """Return the answer from the operator that has shown it; that counts as no work."""
        first, *above = self.physical.shown
        task = self.flow.stages[first].task
        assert isinstance(task, Showing)
        delta = task.current()
        for i in above:
            step = self.flow.stages[i].task
            assert step is not None
            counted = copy.copy(step.counters)
            delta = step.step((delta,), self.clock)
            step.counters = counted
        return delta.columns, np.abs(delta.weights())

    def _answer_later(self, at: int) -> pa.Table:
        """Return the answer at a later instant, computed on a copy of the state."""
        ahead = self._copied()
        ahead.run(at)
        ahead.settle()
        return ahead._answer_now()

    def settle(self) -> None:
        """Run all operators up to the clock, so that all expirations are emitted."""
        if self.pipeline is not None and self.flow.begun and not self.ended:
            self._publish(self.pipeline.settle())

    def settled(self) -> RunningQuery:
        """Return the query with all expirations emitted: itself, or a copy without queues.

        The copy shares the processor, which settling does not use, and has no recipients.
        """
        if self.pipeline is None or not self.flow.begun or self.ended:
            return self
        made = self._copied()
        if isinstance(self.pipeline, TimedPipeline) and isinstance(made.pipeline, TimedPipeline):
            made.pipeline.processor = self.pipeline.processor
        made.settle()
        return made

    def _copied(self) -> RunningQuery:
        """Return the query with a state of its own, under the same plan."""
        plan = self.physical.plan
        return RunningQuery.resumed(self.query, self.snapshot(), self.processor, plan)

    def snapshot(self) -> Saved:
        """Return everything that `resumed` needs to go on from here."""
        said = self.query.expiry
        return {
            "plan": self.physical.signature,
            "text": self.query.text,
            "strategy": self.strategy,
            "join_algorithm": self.query.join_algorithm,
            "early_aggregation": self.query.early_aggregation,
            "placements": dict(self.placements),
            "watches": {watch.key: watch.save() for watch in self._watches},
            "statistics": self.statistics.save(),
            "clock": self.clock,
            "start": self.start,
            "ended": self.ended,
            "flow": self.flow.save(),
            "expiry": [said.kind, said.join_messages, said.punctuation],
            "pipeline": None if self.pipeline is None else self.pipeline.save(),
            "interner": self.interner.save(),
            "view": None if self.view is None else self.view.save(),
            "buffers": {str(i): [saved_delta(d) for d in ds] for i, ds in self._buffers.items()},
            "log": [saved_delta(d) for d in self._log],
            "seconds": self.seconds,
            "delays": self.delays.save(),
        }

    @classmethod
    def resumed(
        cls,
        query: Query,
        saved: Saved,
        processor: Processor | None = None,
        plan: PhysicalPlan | None = None,
    ) -> RunningQuery:
        """Start a query from its saved state, under the plan that it had then.

        Raises `StateError` if the state is that of another query, or of one whose work took time
        where this one's takes none, or the other way round.
        """
        interner, measured = saved["interner"], saved["statistics"]
        assert isinstance(interner, dict)
        assert isinstance(measured, dict)
        algorithm = saved.get("join_algorithm", TREE)  # before it was saved, all joins were trees
        early = saved.get("early_aggregation", NONE)  # nor was anything aggregated before it
        expiry = Expiry(*saved.get("expiry", ()))  # type: ignore[misc]
        query = replace(
            query, join_algorithm=str(algorithm), early_aggregation=str(early), expiry=expiry
        )
        placements = saved.get("placements", {})
        assert isinstance(placements, dict)
        strategy = str(saved["strategy"])
        known = Statistics.load(measured)
        interned = Interner.loaded(interner)
        running = cls(query, strategy, interned, known, placements, processor, plan)
        running._restore(saved)
        return running

    def _restore(self, saved: Saved) -> None:
        if saved["plan"] != self.physical.signature:
            raise _misfit(self.query, saved.get("text"))
        _require_fitting(self, saved.get("pipeline"))
        self.clock, self.start = saved["clock"], saved["start"]  # type: ignore[assignment]
        self.ended = bool(saved["ended"])
        self.flow.load(saved["flow"])  # type: ignore[arg-type]
        if self.pipeline is not None:
            self.pipeline.load(saved["pipeline"])  # type: ignore[arg-type]
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
        looks = saved.get("watches", {})
        assert isinstance(looks, dict)
        for watch in self._watches:
            if watch.key in looks:
                watch.load(looks[watch.key])
        self._restore_counts(saved)

    def _restore_counts(self, saved: Saved) -> None:
        """Go on with the query's own counts; its operators count anew. Older states have none."""
        self.counted_from = self.clock if self.flow.begun else None
        self.seconds = float(saved.get("seconds", 0.0))  # type: ignore[arg-type]
        if "delays" in saved:
            self.delays.load(saved["delays"])  # type: ignore[arg-type]

    def check(self) -> None:
        """Assert the invariants of all state."""
        self.flow.check()
        if self.pipeline is not None:
            self.pipeline.check()

    def _behind(self) -> int:
        """Return how late a change may be that is not emitted yet."""
        return 0 if self.pipeline is None else self.pipeline.behind(self.clock)

    def stats(self) -> dict[str, object]:
        """Return counters, a stage at a time and in all."""
        scale = 1e6 if self.time_type is Clock.TIMESTAMP else 1.0
        stages = [
            {
                **s.counts(),
                **({} if s.watch is None else s.watch.stats()),
                **({} if self.pipeline is None else queue_stats(self.pipeline, i)),
            }
            for i, s in enumerate(self.flow.stages)
            if s.task is not None
        ]
        return {
            "strategy": self.strategy,
            "join_algorithm": self.query.join_algorithm,
            "early_aggregation": self.query.early_aggregation,
            "expiry": self.query.expiry.kind,
            "failure": self.failure,
            "without_effect": {u.name: u.reason for u in unused(self.query, LOCAL)},
            "seconds": self.seconds,
            "counted_since": self.counted_since,
            "delay": {**self.delays.figures(scale), "behind": self._behind() / scale},
            **processor_stats(self.pipeline, scale),
            "clock": None if self.clock == BEGINNING else self.clock,
            "state_rows": sum(int(s["state_rows"]) for s in stages),
            "state_bytes": sum(int(s["state_bytes"]) for s in stages),
            "view_bytes": 0 if self.view is None else self.view.nbytes,
            "pending_changes": sum(len(d) for d in self._log),
            "operators": stages,
        }


def _without_keys(delta: Delta, shown: Schema) -> Delta:
    """Return changes of the columns that are shown."""
    return replace(delta, columns={name: delta.columns[name] for name in shown.names})


def _require_fitting(running: RunningQuery, queues: object) -> None:
    """Refuse what waits in queues that the query does not have, or has and are not saved."""
    timed = isinstance(queues, dict) and "processor" in queues
    if (running.processor is not None) != timed:
        raise StateError(
            f'the snapshot of "{running.query.name}" was made '
            + ("on a processor" if timed else "without a processor"),
            detail="It does not say what waits in queues, and since when.",
            hint="Restore it "
            + ("on one" if timed else "without one")
            + ": connect(processor=...).",
        )


def _misfit(query: Query, text: object) -> StateError:
    """Return the error for state of another plan. Older states do not have the query's text."""
    if text and text == query.text:
        return StateError(
            f'the snapshot of "{query.name}" was made under another plan',
            detail="The query is the same; another version of windrow, other settings, or other "
            "declarations of what it reads have made its plan.",
            hint="Restore it with the windrow, settings and declarations that it was taken with, "
            "or start the query anew.",
        )
    return StateError(
        f'the snapshot does not belong to "{query.name}"',
        detail="It was taken of another query" + ("." if text else ", or by another windrow."),
        hint="Register the query as it was" + ("." if text else ", in the windrow that took it."),
    )
