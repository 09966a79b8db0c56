"""NOT EXISTS over an unsigned left input, where only early ends are emitted."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.chains import ALIVE, HEAD_WORDS, LEFT, RIGHT, SEEN
from windrow.kernels.joins import CODE
from windrow.kernels.partly_signed_negations import partly_signed_changes
from windrow.kernels.semi_joins import (
    COMPARED,
    MADE,
    NEXT_LEFT,
    NEXT_RIGHT,
    OPEN,
    WORK_WORDS,
)
from windrow.kernels.zset_joins import sweep
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.join.half import held_keys
from windrow.operators.join.match import Match
from windrow.operators.join.rows import held_rows, rows_of
from windrow.operators.join.zset import count_in, count_out
from windrow.operators.state.key_table import KeyTable, grown, interned_words, with_room
from windrow.operators.state.row_columns import interned_codes
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64
from windrow.physical.conditions import Form

NO_BANDS: I64 = np.empty((0, 0), np.int64)


class PartlySignedAntiJoin:
    """L ▷ R at work, where equal keys decide: unsigned × signed → partly signed.

        { l ∈ L(τ) | ∄ r ∈ R(τ): keys(l) = keys(r) },   each l with its own end

    A left row is emitted with its end when it enters the answer, and again, as -1 with that end,
    only if a right row blocks it before. Stores every left row until its end, linked by key,
    and for each key how many rows are on the right. O(1) a left row; a right row that turns a
    key costs O(left rows of the key). Invariants, asserted by `check`:
      1. each left row is in the chain of its key, and keys count their rows;
      2. a key without rows on either side is not kept.
    """

    def __init__(self, match: Match, form: Form = Form.CALENDAR) -> None:
        assert match.residual is None
        assert not match.bands
        assert form is not Form.DIRECT, "plain lists take the signed form"
        self.match = match
        self.counters = Counters()
        self.output = Schema(tuple(match.left.schema[n] for n in match.left.output))
        self.keys = KeyTable(len(match.left.keys))
        self.heads = np.zeros((self.keys.capacity, HEAD_WORDS), np.int64)
        self.left = rows_of(form, match.left, 0, LEFT)

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

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
        left = left if lives.all() else left.take(np.flatnonzero(lives))
        nulls = self.match.left.null_keys(left)
        free = None if nulls is None else left.take(np.flatnonzero(nulls))
        joinable = left if nulls is None else left.take(np.flatnonzero(~nulls))
        made = self._changes(joinable, self.match.right.joinable(right))
        if free is None:
            return made
        columns = {name: free.columns[name] for name in self.match.left.output}
        both = Delta.concat([made, Delta(free.ts, columns, free.exp, free.weights())])
        return both.take(np.argsort(both.ts, kind="stable"))

    def _changes(self, left: Delta, right: Delta) -> Delta:
        assert left.exp is not None
        codes = self.keys.encode(self.match.left.key_words(left))
        more = self.keys.encode(self.match.right.key_words(right))
        self.heads = grown(self.heads, self.keys.capacity)  # type: ignore[assignment]
        refs = self.left.add(left)
        self.left.schedule(refs, left.exp)
        events = len(left) + len(right)
        work = np.zeros(WORK_WORDS, np.int64)
        touched = np.empty((len(right), 2), np.int64)
        out = np.empty((4, events), np.int64)
        while True:
            partly_signed_changes(
                (left.ts, left.exp, refs, codes),
                (right.ts, right.weights(), more),
                self.left.walk,
                self.left.rows,
                self.left.shape,
                self.heads,
                touched,
                NO_BANDS,
                (out[0], out[1], out[2], out[3]),
                work,
            )
            if not work[OPEN] and work[NEXT_LEFT] == len(left) and work[NEXT_RIGHT] == len(right):
                break
            out = np.concatenate([out, np.empty_like(out)], axis=1)
        self.counters.probes += events
        self.counters.comparisons += int(work[COMPARED])
        slots, ts, exp, weight = out[:, : int(work[MADE])]
        taken = self.left.payload.take(slots)
        self._sweep(more)
        return Delta(ts, {n: taken[n] for n in self.match.left.output}, exp, weight)

    def _sweep(self, codes: I64) -> None:
        """Forget those of the codes that no row is left of on either side."""
        dead = np.empty(len(codes), np.int64)
        self.keys.release(dead[: sweep(codes, self.heads, SEEN, RIGHT, ALIVE, dead)])

    def _expire(self, clock: int) -> None:
        count, dead = self.left.expire(clock, self.heads)
        self.counters.expiries += count
        self.keys.release(dead)

    def state_rows(self) -> int:
        """Return how many left rows and keys are stored."""
        return len(self.left) + len(self.keys)

    def state_bytes(self) -> int:
        """Return the exact size of rows, chains and keys."""
        return self.left.nbytes + self.heads.nbytes + self.keys.nbytes

    def save(self) -> Saved:
        """Return the state for `load`."""
        return {
            "keys": self.keys.save(),
            "heads": self.keys.used(self.heads),
            "left": self.left.save(),
        }

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""
        keys, heads, left = saved["keys"], saved["heads"], saved["left"]
        assert isinstance(keys, dict)
        assert isinstance(heads, np.ndarray)
        assert isinstance(left, dict)
        self.keys = KeyTable.loaded(keys)
        self.heads = with_room(heads, self.keys.capacity)  # type: ignore[assignment]
        self.left.load(left)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Rows with a NULL in the key are emitted and not kept."""
        right = self.match.right
        left = held_rows(self.left, self.keys, [], clock)
        return left, held_keys(right, right.key_codec, self.keys, self.heads, clock)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows and keys refer to."""
        payload = self.left.payload
        found = interned_codes(payload.fields, payload.take(self.left.live()))
        return found + interned_words(self.match.left.key_codec.fields, self.keys)

    def check(self) -> None:
        """Assert the invariants of the state."""
        self.left.check()
        self.keys.check()
        heads = self.heads
        alive = np.zeros(len(heads), np.int64)
        np.add.at(alive, self.left.rows[self.left.live(), CODE] - 1, 1)
        uses = alive + (heads[:, RIGHT] != 0)
        assert np.array_equal(uses, heads[:, ALIVE]), "invariant 1: a key's rows are miscounted"
        assert np.array_equal(np.flatnonzero(uses), self.keys.live()), "invariant 2: a useless key"
        assert not heads[:, SEEN].any(), "an instant was left open"
