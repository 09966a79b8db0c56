"""A plan whose operators are joined by queues, each run when something waits for it [NEG 3.2].

    root ◄─ queue ◄─ join ◄─ queue ◄─ leaf        leaves read the clock,
                          ◄─ queue ◄─ leaf        all others of what their queues bring

It runs the tasks of a `Dataflow`, one at a time, each up to a clock of its own: the time of the
newest entry that it has read. What it emits is the changelog of the same plan, change for change
and with the same times; what differs is *when* a change is emitted, and how much travels for it.

Every queue is emptied before `step` returns, as if work took no time; in `timed.py` it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from windrow.core.time import FOREVER
from windrow.operators.dataflow import Dataflow, parted
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.queued.announced import Announced
from windrow.operators.queued.approach import Approach
from windrow.operators.queued.delays import Delays
from windrow.operators.queued.leaves import clocked, leaves, versions
from windrow.operators.queued.queue import ANY, Entries, Queue
from windrow.operators.rowwise import ProjectTask
from windrow.operators.state.backlog import batch_bytes, batch_codes, loaded_delta, saved_delta
from windrow.operators.state.fields import NestedField, State, StateField
from windrow.operators.task import Saved
from windrow.operators.vector import I64

Port = tuple[int, int]
"""A stage, and the number of one of its inputs."""

Finish = Callable[[I64], I64]
"""When an operator's changes of each of these instants are there."""


@dataclass(slots=True)
class Served:
    """What an operator has read at once, and what came of it."""

    stage: int
    entries: list[Entries]
    made: Delta
    expired: int

    @property
    def times(self) -> I64:
        """The times of the entries read, of all queues, in order."""
        times = [e.ts for e in self.entries]
        return times[0] if len(times) == 1 else np.sort(np.concatenate(times))


@dataclass(slots=True)
class Pipeline(State):
    """The queues of a plan, and the ends of rows that its edges have emitted.

    `announced`: the ends that edges are still to announce; of rows that they have emitted, and
    after a hand-over of all rows that were alive then. `spoke`: the last time that operators have
    passed on.
    """

    state_fields: ClassVar[tuple[StateField, ...]] = (
        NestedField("queues"),
        NestedField("announced"),
    )

    flow: Dataflow
    approach: Approach
    delays: Delays = field(default_factory=Delays)
    queues: dict[Port, Queue] = field(init=False)
    announced: dict[int, Announced] = field(init=False)
    spoke: dict[int, int] = field(default_factory=dict)
    leaves: frozenset[int] = field(init=False)
    inner: list[int] = field(init=False)
    _clocked: frozenset[int] = field(init=False)
    _versions: frozenset[int] = field(init=False)
    _passing: frozenset[int] = field(init=False)
    _readers: dict[int, list[Port]] = field(init=False)
    _nothing: list[Delta] = field(init=False)
    _start: int = 0
    _shown: list[tuple[Delta, I64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        stages, approach = self.flow.stages, self.approach
        self.leaves = leaves(stages, expire=approach.signed)
        self.inner = [i for i in range(len(stages)) if i not in self.leaves]
        self._clocked = clocked(stages)
        self._versions = versions(stages)
        self._readers = {}
        self.queues = {}
        # A queue for each edge between operators; leaves read sources directly.
        for i in self.inner:
            for port, j in enumerate(stages[i].inputs):
                self._readers.setdefault(j, []).append((i, port))
                self.queues[i, port] = Queue(stages[j].schema, stages[j].signed, approach.purges)
        # Edges whose expirations are announced by messages; a projection passes its input's on.
        announced = [j for j in self._readers if approach.announces and not stages[j].signed]
        self._passing = frozenset(j for j in announced if isinstance(stages[j].task, ProjectTask))
        self.announced = {j: Announced() for j in announced if j not in self._passing}
        self._nothing = [self.flow.nothing(i) for i in range(len(stages))]

    def step(self, sources: dict[int, Delta], clock: int, *, start: int, ends: bool) -> Delta:
        """Take what came up to `clock`; return the root's changes that show by then."""
        self._start = start
        if not self.flow.begun:
            before, sources = parted(sources, start, self.flow.stages)
            self.opens(start)
            self._show(self.flow.opened(before, start), start)
            self._take_over(start)
        elif self._reopens(sources):
            self.catch_up(self.flow.clocks[0])
        self._arrive(sources, clock)
        self.work(clock, ends=ends)
        if ends:
            self._close(ends=True)
        return self._visible(FOREVER if ends else clock)

    def _reopens(self, sources: dict[int, Delta]) -> bool:
        """Return whether an NRR changes at an instant that the query has come to.

        Rows of that instant have come before, and meet it as it was, wherever they wait.
        """
        changed = [(i, sources[i]) for i in self._versions if i in sources]
        return any(len(delta) and delta.ts[0] <= self.flow.clocks[i] for i, delta in changed)

    def catch_up(self, clock: int) -> None:
        """Process everything that has arrived up to `clock` at once."""
        self._close(ends=False)

    def _take_over(self, start: int) -> None:
        """Move rows that wait in the dataflow for slower inputs into the queues."""
        for port, rows in self.flow.waiting.items():
            at = np.full(len(rows), start)
            self.queues[port].put(Entries.of(rows, at, NO_TIMES, NO_TIMES))
        self.flow.waiting.clear()

    def _arrive(self, sources: dict[int, Delta], clock: int) -> None:
        """Run the leaves up to `clock`, and queue what they emit, each change at its time."""
        outputs = list(self._nothing)
        for i in sorted(self.leaves):
            if self.flow.stages[i].task is None:
                outputs[i] = sources.get(i, outputs[i])
                self.flow.clocks[i] = clock
            else:
                outputs[i] = self.flow.run_stage(i, outputs, start=self._start, ends=False)
            self._enqueue(i, outputs[i], lambda ts: ts)
        if not self.inner:
            self._show(outputs[-1], clock)

    def opens(self, start: int) -> None:
        """The first event is at `start`."""

    def work(self, clock: int, *, ends: bool) -> None:
        """Run every operator over all that waits for it, the lower ones first."""
        for i in self.inner:
            served = self.serve(i, clock)
            if served is not None:
                self.hand_on(served, _all_at(clock))

    def waiting_for(self, i: int) -> list[Queue]:
        """Return the queues of an operator."""
        return [self.queues[i, port] for port in range(len(self.flow.stages[i].inputs))]

    def reach(self, i: int, now: int, most: int = ANY) -> int | None:
        """Return up to which time an operator can read now; None if nothing waits for it.

        With several inputs no further than all of them have come: what they still have to emit
        comes first.
        """
        queues = self.waiting_for(i)
        lasts = [q.last(now, most) for q in queues]
        known = [at for at, _ in lasts if at is not None]
        if not known or len(queues) == 1:
            return known[0] if known else None
        # As far as the newest entry, but not past an entry that is behind what can be read now ...
        wanted = max(known)
        for at, behind in lasts:
            if behind <= wanted:  # an input's entries are read in order, and none is passed over
                wanted = behind - 1 if at is None else max(at, behind - 1)
        # ... and not past the clock of any input.
        found = min([wanted, *(self._bound(j, wanted) for j in self.flow.stages[i].inputs)])
        there = [q.head for q in queues if q.since <= now]
        return found if min(there) <= found else None

    def _bound(self, j: int, at: int) -> int:
        """Return how far a stage can come, up to `at`, without reading more of its queues."""
        clock = self.flow.clocks[j]
        if j in self.leaves or clock >= at:
            return clock
        stage = self.flow.stages[j]
        wanted = at + stage.lags
        waits = min(q.head for q in self.waiting_for(j))
        bound = min([wanted, waits - 1, *(self._bound(k, wanted) for k in stage.inputs)])
        return max(clock, bound - stage.lags)

    def serve(self, i: int, now: int, most: int = ANY) -> Served | None:
        """Run an operator over the entries that it can read now; None if there are none."""
        reach = self.reach(i, now, most)
        if reach is None:
            return None
        inputs = self.flow.stages[i].inputs
        if len(inputs) == 1:
            entries = [self.queues[i, 0].take(FOREVER, now, most)]
        # All inputs must have come as far as is read: each gets its expirations up to there.
        else:
            for j in inputs:
                self._bring(j, reach, now)
            newest = self._newest(i, now)
            entries = [
                q.take(reach, now, newest=newest[port])
                for port, q in enumerate(self.waiting_for(i))
            ]
        return self._run(i, entries, max(q.reached for q in self.waiting_for(i)))

    def _newest(self, i: int, now: int) -> list[int]:
        """Return for each input the time before which the other inputs bring a message's news.

        In NEG an operator has one queue [NEG 3.2]: what follows a message may be of any input. Of
        the last entries of one instant that of the last input follows all others.
        """
        times = [q.newest(now) for q in self.waiting_for(i)]
        return [
            max(at + (other > port) for other, at in enumerate(times) if other != port)
            for port in range(len(times))
        ]

    def _at(self, i: int) -> int:
        """The time that an operator has been run up to."""
        return self.flow.clocks[i] + self.flow.stages[i].lags

    def _run(self, i: int, entries: list[Entries], at: int) -> Served:
        task = self.flow.stages[i].task
        assert task is not None, "a source does not read"
        at = max(at, self._at(i))
        before = task.counters.expiries
        given = tuple(e.delta for e in entries)
        made = self.flow.run_task(i, given, at, start=self._start, ends=False)
        return Served(i, entries, made, task.counters.expiries - before)

    def _bring(self, j: int, at: int, now: int) -> None:
        """Run a stage up to `at`: the operator above asks for its local clock.

        It, or one below it, may have something to emit that nothing on its queues has let it
        notice [THESIS 2.3.3].
        """
        stage = self.flow.stages[j]
        wanted = at + stage.lags
        if j in self.leaves or self._at(j) >= wanted:
            return
        waits = min(q.head for q in self.waiting_for(j))  # what is there is read in its own turn
        for k in stage.inputs:
            self._bring(k, wanted, now)
        there = min([wanted, waits - 1, *(self.flow.clocks[k] for k in stage.inputs)])
        if there > self._at(j):
            brought = [q.take(there, now) for q in self.waiting_for(j)]
            served = self._run(j, brought, there)
            self.asked(served)
            self.hand_on(served, _all_at(now))

    def asked(self, served: Served) -> None:
        """An operator was run because one above it has asked for its clock."""

    def hand_on(self, served: Served, finish: Finish) -> None:
        """Give an operator's changes to those above it, or show them."""
        if served.stage == len(self.flow.stages) - 1:
            self._shown.append((served.made, finish(served.made.ts)))
        read = NO_TIMES
        if served.stage in self._passing or self.approach.punctuation is not None:
            read = np.concatenate([read, *(e.ts[~e.is_row] for e in served.entries)])
        self._enqueue(served.stage, served.made, finish, read)

    def _enqueue(self, j: int, made: Delta, finish: Finish, read: I64 = NO_TIMES) -> None:
        """Put a stage's changes, and its messages, into the queues above it.

        A projection passes on the messages that it has `read`, and all operators punctuation.
        """
        ports = self._readers.get(j, ())
        if not ports:
            return
        messages = self._messages(j, made, self.flow.clocks[j], read)
        entries = Entries.of(made, finish(made.ts), messages, finish(messages))
        for port in ports:
            self.queues[port].put(entries)

    def _messages(self, j: int, made: Delta, clock: int, found: I64) -> I64:
        """Return the times that a stage has to announce on its edge, having come to `clock`."""
        if j in self.announced:
            if made.exp is not None:
                self.announced[j].add(made.exp)
            found = self.announced[j].due(clock)
        if self.approach.punctuation is not None:
            return self._punctuation(j, made, clock, notified=len(found) > 0)
        if self.approach.announces and j in self._clocked:
            announced = max([*found[-1:].tolist(), *made.ts[-1:].tolist()], default=clock - 1)
            if announced < clock:
                return np.append(found, clock)
        return found

    def _punctuation(self, j: int, made: Delta, clock: int, *, notified: bool) -> I64:
        """Return the time of a stage that is far ahead of its last entry, or `notified`; else none.

        An operator comes as far as what it reads; a leaf as far as its stream does, though its
        filter may drop every tuple.
        """
        wait = self.approach.punctuation
        assert wait is not None
        spoke = int(made.ts[-1]) if len(made) else self.spoke.get(j, clock)
        announces = clock - spoke >= wait or (notified and clock > spoke)
        self.spoke[j] = clock if announces else spoke
        return np.array([clock], np.int64) if announces else NO_TIMES

    def settle(self) -> Delta:
        """Bring all operators up to where the leaves are; return what shows then."""
        self._close(ends=False)
        return self._visible(FOREVER)

    def follow(self, other: Pipeline) -> None:
        """Go on after a hand-over: edges announce the ends of rows that operators have taken over.

        Every row that is alive ends with some row that an edge of the other has emitted, or departs
        where no operator knows of it. Which edge here has emitted which is not known, so all
        announce all of these ends; signed edges, too, as a departure may wait above them.
        What is left in queues waits for a slower input of its operator, and goes on waiting: only a
        plan of the same form is given such rows.
        """
        self.delays = other.delays
        for port, queue in other.queues.items():
            left = queue.take(FOREVER, FOREVER)
            if len(left):
                left.at = np.full(len(left), max(self.flow.clocks))  # settling takes no time
                self.queues[port].put(left)
        if not self.approach.announces:
            return
        waiting = [table.ends for table in other.announced.values()]
        waiting += [rows.ts for rows in self.flow.ends.values()]
        ends = np.unique(np.concatenate([NO_TIMES, *waiting]))
        for j in self._readers.keys() - self._passing:
            self.announced.setdefault(j, Announced()).add(ends[ends > self.flow.clocks[j]])

    def _close(self, *, ends: bool) -> None:
        """Run every operator as far as its inputs have come: nothing else will come."""
        outputs = list(self._nothing)
        clocks = self.flow.clocks
        for i, stage in enumerate(self.flow.stages):
            if i in self.leaves:
                if stage.task is not None:
                    made = self.flow.run_stage(i, outputs, start=self._start, ends=ends)
                    self._enqueue(i, made, lambda ts: ts)
                continue
            at = max(min(clocks[j] for j in stage.inputs), self._at(i))
            given = tuple(q.take(at, FOREVER).delta for q in self.waiting_for(i))
            made = self.flow.run_task(i, given, at, start=self._start, ends=ends)
            self.hand_on(Served(i, [], made, 0), _all_at(self.closed_at(at)))

    def closed_at(self, clock: int) -> int:
        """Return when an operator's changes up to `clock` are there."""
        return clock

    def _show(self, made: Delta, at: int) -> None:
        self._shown.append((made, np.full(len(made), at)))

    def _visible(self, clock: int) -> Delta:
        """Return the root's changes that are there by `clock`; note how late they are."""
        ready: list[Delta] = []
        later: list[tuple[Delta, I64]] = []
        for made, at in self._shown:
            n = 0 if later else int(np.searchsorted(at, clock, side="right"))
            if n:
                self.delays.note(made.ts[:n], at[:n])
                ready.append(made.slice(0, n))
            if n < len(made):
                later.append((made.slice(n, len(made)), at[n:]))
        self._shown = later
        return Delta.concat(ready) if ready else self._nothing[-1]

    def behind(self, clock: int) -> int:
        """Return how far `clock` is ahead of the time that has reached the root."""
        if not self.flow.begun:
            return 0
        return max(0, clock - max(self._at(len(self.flow.stages) - 1), self._start))

    @property
    def nbytes(self) -> int:
        """Exact size of what waits."""
        shown = sum(batch_bytes(made) + at.nbytes for made, at in self._shown)
        return super(Pipeline, self).nbytes + shown

    def live_codes(self) -> list[I64]:
        """Return the interned codes of changes that wait in queues, or to be shown."""
        shown = [codes for made, _ in self._shown for codes in batch_codes(made)]
        return super(Pipeline, self).live_codes() + shown

    def content(self, rows: int) -> Saved:
        """Return what waits, and what is known of ends."""
        return {
            **super(Pipeline, self).content(rows),
            "spoke": [[j, at] for j, at in self.spoke.items()],
            "shown": [[saved_delta(made), at] for made, at in self._shown],
        }

    def take_over(self, saved: Saved) -> None:
        """Take over what was saved of the same plan under the same approach."""
        for j, _ in cast("list[tuple[int, Saved]]", saved["announced"]):
            self.announced.setdefault(j, Announced())
        super(Pipeline, self).take_over(saved)
        self.spoke = dict(cast("list[tuple[int, int]]", saved["spoke"]))
        root = self.flow.root.schema
        shown = cast("list[tuple[Saved, I64]]", saved["shown"])
        self._shown = [(loaded_delta(made, root), at) for made, at in shown]


def _all_at(instant: int) -> Finish:
    """Everything is there at one instant."""
    return lambda ts: np.full(len(ts), instant)
