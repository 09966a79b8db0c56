"""Joins with a non-retroactive relation: each row meets the table as of its own ts."""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.core.time import BEGINNING
from windrow.kernels import nrr_joins
from windrow.kernels.zset_joins import EXTRA, sweep
from windrow.operators.delta import Delta
from windrow.operators.join.bags import BagRows, Changes, DistinctRows, stored_fields
from windrow.operators.join.keys import JoinKeys
from windrow.operators.join.match import Match
from windrow.operators.join.results import PairBuffer, Quad, pair_columns
from windrow.operators.join.zset import count_in, count_out
from windrow.operators.state.fields import ArrayField, NestedField, ScalarField, State, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64

SMALLEST = 64
NONE: I64 = np.empty(0, np.int64)


class NrrJoinTask(StatefulTask):
    """L ⋈NRR N at work: { l∘n | n ∈ N(l.ts) }. The left edge keeps its kind; the table is signed.

    Updates of an instant come before its rows. An update that comes in a later step, after rows
    of its instant were joined, is late information: these rows keep what they met.

    An unsigned left edge needs no memory of its rows: results leave when they do. On a signed one
    a departure retracts what the row made, newest copy first, whatever the table is by then.
    Rows equal in all kept columns are taken for one another: let `Side.reads` name the times of
    the left tuples, or a departure may retract what an equal tuple of another time made.
    """

    state_fields = (NestedField("keys"), NestedField("table"), NestedField("memory"))

    def __init__(self, match: Match, *, signed: bool) -> None:
        assert not match.bands, "a table has no time to bound"
        self.match = match
        self.counters = Counters()
        self.keys = JoinKeys(match.left.key_codec, copies=True)
        self.table = BagRows(stored_fields(match.right, []))
        self.memory = Memory(match) if signed else None
        self.buffer = PairBuffer()

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Bring the table up to each row's ts and join the row with it."""
        left, updates = inputs
        signed = self.memory is not None
        if not (len(left) or len(updates)):
            return Delta.empty(self.match.output, signed=signed)
        count_in(self.counters, left)
        left, updates = self.match.left.joinable(left), self.match.right.joinable(updates)
        codes = self.keys.encode(self.match.right.key_words(updates))
        slots = self.table.encode(updates)
        changed = (
            updates.ts,
            updates.weights(),
            slots,
            codes,
            np.empty((len(updates), 0), np.int64),
        )
        # Left keys are looked up and not added: a key without rows of the table matches nothing.
        found = self.keys.table.find(self.match.left.key_words(left))
        self.counters.probes += len(left)
        output = (
            self._taking_back(self.memory, left, found, changed)
            if self.memory is not None
            else self._looking_up(left, found, changed)
        )
        self.table.sweep(slots)
        self.keys.sweep(codes)
        count_out(self.counters, output.ts, output.weights())
        return output

    def _looking_up(self, left: Delta, codes: I64, table: Changes) -> Delta:
        """Join unsigned rows, which carry `exp`."""
        work = np.zeros(nrr_joins.WORK_WORDS, np.int64)
        arrived = (left.ts, codes, np.empty((len(left), 0), np.int64))
        rest = (self.table.rows, self.table.links), self.keys.heads, self.match.bounds
        self.buffer.fill(lambda out: nrr_joins.look_up(arrived, table, *rest, out, work), len(left))
        self.counters.comparisons += int(work[nrr_joins.COMPARED])
        lefts, slots, ts, copies = self.buffer.taken(int(work[nrr_joins.MADE]))
        # A row of the table with n copies makes n results, as unsigned edges have no weights.
        if not (copies == 1).all():
            times = np.maximum(copies, 0)
            lefts, slots, ts = lefts.repeat(times), slots.repeat(times), ts.repeat(times)
        assert left.exp is not None
        columns, kept = pair_columns(
            self.match,
            len(ts),
            lambda names: {n: left.columns[n].take(lefts) for n in names},
            lambda names: self.table.columns(slots, names),
        )
        exp = left.exp[lefts]
        return Delta(ts, columns, exp) if kept is None else Delta(ts[kept], columns, exp[kept])

    def _taking_back(self, memory: Memory, left: Delta, codes: I64, table: Changes) -> Delta:
        """Join signed rows, storing what each made."""
        lefts, slots, ts, weight = memory.change(self, left, codes, table)
        columns, kept = pair_columns(
            self.match,
            len(ts),
            lambda names: memory.bag.columns(lefts, names),
            lambda names: self.table.columns(slots, names),
        )
        # After the columns were read, since rows that nothing names are released.
        memory.settle(self.table, left, (lefts, slots, ts, weight))
        if kept is not None:
            ts, weight = ts[kept], weight[kept]
        return Delta(ts, columns, None, weight)

    def state_rows(self) -> int:
        """Return how many table rows, left rows and results are stored."""
        return len(self.table) + (0 if self.memory is None else len(self.memory))

    def invariants(self) -> None:
        """Assert that heads count rows, and results name them."""
        self.keys.check_rows(NONE, self.table.codes())
        if self.memory is not None:
            self.memory.check_named(self.table)


class Memory(State):
    """What each signed left row made.

    Invariants, asserted by `check`:
      1. each node is free, or in one making or one making's results;
      2. a table row's `extra` counts the results that name it;
      3. a left row without makings, redo or debt is released.
    """

    stored_as = StateLayout("nrr-join-memory")
    state_fields = (
        NestedField("bag"),
        ArrayField("makings", length="bag.table.entries", room="bag.table.capacity"),
        ArrayField("meta"),
        ArrayField("nodes", length="used"),
        ScalarField("open_at"),
    )

    def __init__(self, match: Match) -> None:
        self.bag = DistinctRows(stored_fields(match.left, []))
        self.makings: I64 = np.zeros((SMALLEST, nrr_joins.LEFT_WORDS), np.int64)  # by left row
        self.nodes = np.zeros((SMALLEST, nrr_joins.NODE_WORDS), np.int64)
        self.meta = np.zeros(nrr_joins.META_WORDS, np.int64)
        self.meta[nrr_joins.INSTANT], self.meta[nrr_joins.REDO_HEAD] = BEGINNING, nrr_joins.LAST
        self.slots = NONE  # left slots of this step's changes
        self.open = (NONE, NONE)  # left and table slots that the last instant may still release
        self.open_at = BEGINNING

    def __len__(self) -> int:
        return len(self.bag) + int(self.meta[nrr_joins.USED] - self.meta[nrr_joins.FREE_NODES])

    def change(self, task: NrrJoinTask, left: Delta, codes: I64, table: Changes) -> Quad:
        """Apply changes of left rows and of the table; return those of results."""
        slots = self.slots = self.bag.encode(left)
        changed = (left.ts, left.weights(), slots, codes, np.empty((len(left), 0), np.int64))
        work, buffer = np.zeros(nrr_joins.WORK_WORDS, np.int64), task.buffer
        self.makings = grown(self.makings, self.bag.table.capacity)  # type: ignore[assignment]
        side = (task.table.rows, task.table.links)

        def run(out: Quad) -> bool:
            """Run the loop until it is done or lacks room for results, with nodes as it needs."""
            while True:
                state = (self.makings, side, task.keys.heads, self.nodes, self.meta)
                if nrr_joins.store_and_join(changed, table, *state, out, work):
                    return True
                # Two rooms may be too small: nodes are made here, results by the buffer.
                if work[nrr_joins.LACKS] != nrr_joins.NO_NODES:
                    return False
                self.nodes = grown(self.nodes, 2 * len(self.nodes))  # type: ignore[assignment]

        buffer.fill(run, len(left))
        return buffer.taken(int(work[nrr_joins.MADE]))

    def settle(self, table: BagRows, left: Delta, made: Quad) -> None:
        """Release rows of no use. What the last instant retracted may still return."""
        _, slots, ts, weight = made
        ended = weight < 0
        mine = np.concatenate([self.open[0], self.slots])
        theirs = np.concatenate([self.open[1], slots[ended]])
        table.sweep(theirs)
        dead = np.empty(len(mine), np.int64)
        dead = dead[
            : sweep(mine, self.makings, nrr_joins.MARK, nrr_joins.TOP, nrr_joins.DEBT, dead)
        ]
        self.bag.table.release(dead)
        now = int(self.meta[nrr_joins.INSTANT])
        before = self.open if self.open_at == now else (NONE, NONE)
        self.open = (
            np.setdiff1d(np.append(before[0], self.slots[left.ts == now]), dead),
            np.unique(np.append(before[1], slots[ended & (ts == now)])),
        )
        self.open_at = now

    def content(self, rows: int) -> Saved:
        """Return the makings, and what the last instant may still release."""
        return {**super().content(rows), "open": list(self.open)}

    def take_over(self, saved: Saved) -> None:
        """Take over saved makings."""
        super().take_over(saved)
        mine, theirs = cast("list[I64]", saved["open"])
        self.open = mine, theirs

    @property
    def used(self) -> int:
        """How many nodes were ever used."""
        return int(self.meta[nrr_joins.USED])

    def check_named(self, table: BagRows) -> None:
        """Assert the invariants."""
        named = np.zeros(len(table.rows), np.int64)
        nodes = int(self.meta[nrr_joins.FREE_NODES])
        live = self.bag.table.live()
        for making in [
            m for s in live for top in (nrr_joins.TOP, nrr_joins.REDO) for m in self._chain(s, top)
        ]:
            nodes += 1
            result = int(self.nodes[making, nrr_joins.FIRST])
            while result:
                nodes += 1
                named[self.nodes[result - 1, nrr_joins.SLOT]] += 1
                result = int(self.nodes[result - 1, nrr_joins.NEXT])
        assert nodes == self.meta[nrr_joins.USED], "invariant 1: a node is lost"
        assert np.array_equal(named, table.rows[:, EXTRA]), "invariant 2: results are miscounted"
        assert self.makings[live, nrr_joins.TOP : nrr_joins.DEBT + 1].any(axis=1).all(), (
            "invariant 3: a useless row"
        )

    def _chain(self, slot: int, top: int) -> list[int]:
        found, at = [], int(self.makings[slot, top])
        while at:
            found.append(at - 1)
            at = int(self.nodes[at - 1, nrr_joins.NEXT])
        return found
