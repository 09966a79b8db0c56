"""NOT EXISTS over an unsigned left input, where only early ends are emitted."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.chains import LEFT
from windrow.kernels.partly_signed_negations import partly_signed_changes
from windrow.kernels.semi_joins import COMPARED, MADE, SEEN, WORK_WORDS
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.join.half import held_keys
from windrow.operators.join.keys import JoinKeys
from windrow.operators.join.match import Match
from windrow.operators.join.results import PairBuffer
from windrow.operators.join.rows import JoinRows
from windrow.operators.join.zset import count_in, count_out
from windrow.operators.state.fields import ArrayField, NestedField
from windrow.operators.state.key_table import grown
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64
from windrow.physical.conditions import Form


class PartlySignedAntiJoin(StatefulTask):
    """L ▷ R at work, where equal keys decide: unsigned × signed → partly signed.

        { l ∈ L(τ) | ∄ r ∈ R(τ): keys(l) = keys(r) },   each l with its own end

    A left row is emitted with its end when it enters the answer, and again, as -1 with that end,
    only if a right row blocks it before. Stores every left row until its end, linked by key,
    and for each key how many rows are on the right. O(1) a left row; a right row that turns a
    key costs O(left rows of the key). Invariants, asserted by `check`:
      1. each left row is in the chain of its key, and keys count their rows;
      2. a key without rows on either side is not kept.
    """

    state_fields = (
        NestedField("keys"),
        ArrayField("copies", length="keys.table.entries", room="keys.table.capacity"),
        NestedField("left"),
    )

    def __init__(self, match: Match, form: Form = Form.CALENDAR) -> None:
        assert match.residual is None
        assert not match.bands
        assert form is not Form.DIRECT, "plain lists take the signed form"
        self.match = match
        self.counters = Counters()
        self.output = Schema(tuple(match.left.schema[n] for n in match.left.output))
        self.keys = JoinKeys(match.left.key_codec)
        self.copies: I64 = np.zeros(len(self.keys.heads), np.int64)  # on the right, by key
        self.left = JoinRows(form, match, LEFT)
        self.buffer = PairBuffer()

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Emit what enters the answer and what leaves it early, then drop what has expired."""
        left, right = inputs
        if len(left) or len(right):
            count_in(self.counters, left, right)
            made = self._change(left, right)
            count_out(self.counters, made.ts, made.weights())
            self.counters.premature = self.counters.negatives_out
            self.counters.emitted = self.counters.tuples_out - self.counters.negatives_out
        else:
            made = Delta(NO_TIMES, Delta.empty(self.output, signed=True).columns, NO_TIMES)
        self._expire(clock)
        return made

    def _change(self, left: Delta, right: Delta) -> Delta:
        assert left.exp is not None
        lives = left.exp > left.ts
        # A tuple that ends as it comes shows at no instant.
        left = left if lives.all() else left.take(np.flatnonzero(lives))
        nulls = self.match.left.null_keys(left)
        # A NULL key meets nothing, so such rows pass at once and are never retracted.
        free = None if nulls is None else left.take(np.flatnonzero(nulls))
        joinable = left if nulls is None else left.take(np.flatnonzero(~nulls))
        made = self._changes(joinable, self.match.right.joinable(right))
        if free is None:
            return made
        columns = {name: free.columns[name] for name in self.match.left.output}
        both = Delta.concat([made, Delta(free.ts, columns, free.exp, free.weights())])
        return both.take(np.argsort(both.ts, kind="stable"))

    def _changes(self, left: Delta, right: Delta) -> Delta:
        arrived = self.left.arrive(left, self.keys)
        codes = self.keys.encode(self.match.right.key_words(right))
        self.copies = grown(self.copies, self.keys.table.capacity)  # type: ignore[assignment]
        events = len(left) + len(right)
        work = np.zeros(WORK_WORDS, np.int64)
        state = (self.left.links, self.keys.heads, self.copies, np.empty((len(right), 2), np.int64))
        changed = (right.ts, right.weights(), codes)
        self.buffer.fill(
            lambda out: partly_signed_changes(arrived, changed, *state, out, work), events
        )
        self.counters.probes += events
        self.counters.comparisons += int(work[COMPARED])
        slots, exp, ts, weight = self.buffer.taken(int(work[MADE]))
        taken = self.left.payload.take(slots)
        # A key stays for its left rows, or for copies on the right.
        self.keys.sweep(codes)
        columns = {n: taken[n] for n in self.match.left.output}
        return Delta(ts, columns, exp.copy(), weight)

    def _expire(self, clock: int) -> None:
        self.counters.expiries += self.left.expire(clock, self.keys)

    def state_rows(self) -> int:
        """Return how many left rows and keys are stored."""
        return len(self.left) + len(self.keys)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Rows with a NULL in the key are emitted and not kept."""
        right = self.match.right
        left = self.left.held(self.keys, clock)
        return left, held_keys(right, right.key_codec, self.keys.table, self.copies, clock)

    def invariants(self) -> None:
        """Assert that heads count rows. Those that have ended may be out of their chain."""
        self.keys.check_rows(self.left.codes(), np.flatnonzero(self.copies))
        assert not self.keys.heads[:, SEEN].any(), "an instant was left open"
