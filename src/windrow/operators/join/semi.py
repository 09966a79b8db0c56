"""EXISTS, IN, NOT EXISTS and NOT IN over signed edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from windrow.core.schema import Schema
from windrow.operators.codec import column_words
from windrow.operators.delta import Delta
from windrow.operators.join.half import HalfJoinKind, KeyedForm, PairedForm
from windrow.operators.join.match import Match, Residual, Side
from windrow.operators.join.zset import count_in, count_out
from windrow.operators.state.fields import NestedField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import Bools, Vector


class HalfJoinTask(StatefulTask):
    """The left rows that have a partner on the right, or none: signed × signed → signed.

    What an instant changes is netted: a left row is retracted only if at the end of the instant it
    is out of the answer. Rows with a NULL key have no partner; NOT IN has rules of its own.
    """

    state_fields = (NestedField("form"),)

    def __init__(self, match: Match, kind: HalfJoinKind) -> None:
        self.kind = kind
        self.counters = Counters()
        self.output = Schema(tuple(match.left.schema[n] for n in match.left.output))
        if match.residual is not None or match.bands:
            if kind is HalfJoinKind.NOT_IN:
                match, self.kind = _not_in_by_pairs(match), HalfJoinKind.ANTI
            self.form: KeyedForm | PairedForm = PairedForm(match, self.kind)
        else:
            self.form = KeyedForm(match, kind)
        self.match = match

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Apply the changes instant by instant; return what enters and leaves the answer."""
        left, right = inputs
        if not (len(left) or len(right)):
            return Delta.empty(self.output, signed=True)
        count_in(self.counters, left, right)
        free: Delta | None = None
        if self.kind is not HalfJoinKind.NOT_IN:
            left, free = _without_null_keys(self.match.left, left, self.kind)
            right = self.match.right.joinable(right)
        made = _merged(self.form.change(left, right, self.counters), free)
        count_out(self.counters, made.ts, made.weights())
        if self.kind is not HalfJoinKind.SEMI:
            self.counters.emitted += int(np.maximum(made.weights(), 0).sum())
        return made

    def state_rows(self) -> int:
        """Return how many rows and keys are stored."""
        return len(self.form)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.form.held(clock)


class SemiJoinTask(HalfJoinTask):
    """L ⋉ R at work:  { l ∈ L(τ) | ∃ r ∈ R(τ): on(l, r) }."""

    def __init__(self, match: Match) -> None:
        super().__init__(match, HalfJoinKind.SEMI)


class AntiJoinTask(HalfJoinTask):
    """L ▷ R at work:  { l ∈ L(τ) | ∄ r ∈ R(τ): on(l, r) }.

    `null_aware` is NOT IN: l passes if R is empty, or if neither its value nor any of R's is NULL
    and none of R's equals it.
    """

    def __init__(self, match: Match, *, null_aware: bool = False) -> None:
        super().__init__(match, HalfJoinKind.NOT_IN if null_aware else HalfJoinKind.ANTI)


def _without_null_keys(side: Side, delta: Delta, kind: HalfJoinKind) -> tuple[Delta, Delta | None]:
    """Return the rows that may have partners, and those that surely have none but are wanted."""
    nulls = side.null_keys(delta)
    if nulls is None:
        return delta, None
    joinable = delta.take(np.flatnonzero(~nulls))
    if kind is HalfJoinKind.SEMI:
        return joinable, None
    free = delta.take(np.flatnonzero(nulls))
    columns = {name: free.columns[name] for name in side.output}
    return joinable, Delta(free.ts, columns, None, free.weights())


def _merged(made: Delta, free: Delta | None) -> Delta:
    """Return two deltas of one edge as one, in time order."""
    if free is None:
        return made
    both = Delta.concat([made, free])
    return both.take(np.argsort(both.ts, kind="stable"))


def _not_in_by_pairs(match: Match) -> Match:
    """Return NOT IN with bands or a residual as NOT EXISTS: a partner is "not surely unlike"."""
    (left,), (right,) = match.left.keys, match.right.keys
    return Match(
        # Without a key: NULL is not surely unlike any value, and no hash finds it.
        replace(match.left, keys=(), reads=(*match.left.reads, left)),
        replace(match.right, keys=(), reads=(*match.right.reads, right)),
        match.bands,
        _not_unlike(left, right, match.residual),
    )


def _not_unlike(left: str, right: str, rest: Residual | None) -> Residual:
    def holds(columns: dict[str, Vector], rows: int) -> Bools:
        a, b = columns[left], columns[right]
        like: Bools = column_words(a) == column_words(b)
        for column in (a, b):
            if column.valid is not None:
                # Unknown counts as a partner: NOT IN passes only what is surely unlike.
                like |= ~column.valid
        return like if rest is None else like & rest(columns, rows)

    return holds
