"""COUNT, SUM of integers and decimals, BOOL_AND, BOOL_OR: sums of words, by entry and by group.

A partial value is a row of int64s, and n copies of it are n times each of them. So the sums of a
group are, word by word, those of its results one by one, and are read as these are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.core.types import MAX_PRECISION
from windrow.kernels.early_folds import (
    COPIES,
    SumWords,
    early_counts,
    early_whole,
    early_wide,
    early_words,
    rows_spanned,
)
from windrow.operators.aggregate.batch import ALL_TAKEN, column_bits, taken_rows
from windrow.operators.aggregate.wide import WideDecimals
from windrow.operators.join.aggregation.parts import Contributions, EarlyFold, InputChanges
from windrow.operators.state.fields import OF_OWNER, ArrayField
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools, Vector, is_interned
from windrow.physical.calls import AccumulatorCall

NO_WORDS: I64 = np.empty(0, np.int64)

ChangeColumns = tuple[I64, I64, I64, I64, I64]
"""Changes as kernels take them: origin, entry, row, weight, rows."""


@dataclass(frozen=True, slots=True)
class Argument:
    """The rows of an input that a part's changes are about, as a call reads them.

    A part may be about a few rows of many, and the many be in several parts.
    """

    log: ChangeColumns
    takes: Bools
    columns: dict[str, Vector]

    @classmethod
    def of(cls, call: AccumulatorCall, which: int, changes: InputChanges) -> Argument:
        """Return what a call over an input reads of changes."""
        first, end = rows_spanned(changes.origin, changes.row, which)
        log = (changes.origin, changes.entry, changes.row - first, changes.weight, changes.rows)
        if first == end:
            return cls(log, ALL_TAKEN, {})
        names = [arg.name for arg in call.args] + ([call.filter] if call.filter else [])
        columns = {n: changes.columns[which][n].slice(first, end) for n in names}
        return cls(log, taken_rows(call, columns), columns)

    def bits(self, call: AccumulatorCall) -> I64:
        """Return the first argument as int64s."""
        return column_bits(self.columns[call.args[0].name]) if self.columns else NO_WORDS


class Words(EarlyFold):
    """Rows of int64s by entry, its copies first, and by group.

    Invariants, asserted by `check`:
      1. an entry without copies, and a group without results, has only zeros;
      2. live entries have copies.
    """

    state_fields = (
        ArrayField("partials", length="entries_used"),
        ArrayField("sums", length=OF_OWNER),
    )

    def __init__(self, call: AccumulatorCall, which: int, *width: int) -> None:
        self.call = call
        self.which = which
        self.partials: I64 = np.zeros((0, 1 + sum(width or (1,))), np.int64)
        self.sums: I64 = np.zeros((0, *width), np.int64)

    def _sums(self, given: Argument, words: I64, part: Contributions) -> I64:
        """Add rows of words; return the sums of each emission."""
        out = np.empty((part.emissions, words.shape[1]), np.int64)
        early_words(
            given.log, self.which, given.takes, words, part.met, self.partials, self.sums, out
        )
        return out

    def reserve(self, entries: int, groups: int) -> None:
        """Make room."""
        self.partials = grown(self.partials, entries)  # type: ignore[assignment]
        self.sums = grown(self.sums, groups)  # type: ignore[assignment]

    def release_entries(self, entries: I64) -> None:
        """Start from nothing."""
        self.partials[entries] = 0

    def release_groups(self, groups: I64) -> None:
        """Start from nothing."""
        self.sums[groups] = 0

    @property
    def copies(self) -> I64:
        """The copies of each entry."""
        return self.partials[:, COPIES]

    def check_live(self, entries: I64, groups: I64) -> None:
        """Assert the invariants."""
        for rows, live in ((self.partials, entries), (self.sums, groups)):
            idle = np.ones(len(rows), np.bool_)
            idle[live] = False
            assert not rows[idle].any(), f"invariant 1: {self.call.name} of nothing is something"
        assert (self.partials[entries, COPIES] > 0).all(), "invariant 2: an entry has no copies"


class EarlyRows(Words):
    """COUNT(*): the group's own number of results."""

    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Copy what is known anyway."""
        out[: part.emissions] = part.rows_after[: part.emissions]

    def check_live(self, entries: I64, groups: I64) -> None:
        """There is no state."""


class EarlyCount(Words):
    """COUNT(x, ...) and COUNT(*) with a filter."""

    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Count values times combinations."""
        given = Argument.of(self.call, self.which, part.changes)
        early_counts(given.log, self.which, given.takes, part.met, self.partials, self.sums, out)


class EarlyTruths(Words):
    """BOOL_AND, BOOL_OR: how many are false, how many true."""

    def __init__(self, call: AccumulatorCall, which: int) -> None:
        super().__init__(call, which, 2)

    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Count both."""
        n = part.emissions
        given = Argument.of(self.call, self.which, part.changes)
        truths = given.bits(self.call)
        counts = self._sums(given, np.stack([truths == 0, truths != 0], 1).astype(np.int64), part)
        valid[:n] = counts.any(1)
        out[:n] = counts[:, 0] == 0 if self.call.name == "bool_and" else counts[:, 1] > 0


class EarlyWhole(Words):
    """SUM of integers: BIGINT, NULL while the sum has no 64 bits."""

    def __init__(self, call: AccumulatorCall, which: int) -> None:
        super().__init__(call, which, 3)

    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Add; a sum that overflowed is seen again as soon as it fits."""
        self.halves(part, out, valid, narrow=True)

    def halves(self, part: Contributions, low: I64, valid: Bools, *, narrow: bool) -> I64:
        """Fill in the lower words of sums; return the upper ones, if they may have any."""
        high = np.empty(0 if narrow else part.emissions, np.int64)
        given = Argument.of(self.call, self.which, part.changes)
        early_whole(
            given.log, self.which, given.takes, given.bits(self.call), part.met,
            self.partials, self.sums, narrow, SumWords(high, low, valid),
        )  # fmt: skip
        return high


class EarlyDecimals(EarlyWhole):
    """SUM of decimals: 38 digits, NULL while the sum has more."""

    def __init__(self, call: AccumulatorCall, which: int, wide: WideDecimals) -> None:
        assert call.type.precision == MAX_PRECISION, "SUM of decimals has all digits"
        self._from_wide = is_interned(call.args[0].type)
        Words.__init__(self, call, which, 4 if self._from_wide else 3)
        self.wide = wide

    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Add in 128 bits, then intern the sums."""
        n = part.emissions
        if self._from_wide:
            high, low = self._words(part, valid)
        else:
            low = np.empty(n, np.int64)
            high = self.halves(part, low, valid, narrow=False)
        made = self.wide.encode(high, low, valid[:n], self.call.type)
        out[:n] = made.data
        if made.valid is not None:
            valid[:n] = made.valid

    def _words(self, part: Contributions, valid: Bools) -> tuple[I64, I64]:
        """Sum numbers of two words; return those of sums that have no more."""
        n = part.emissions
        given = Argument.of(self.call, self.which, part.changes)
        upper, lower = NO_WORDS, NO_WORDS
        if given.columns:
            upper, lower = self.wide.words(given.columns[self.call.args[0].name])
        high, low = np.empty(n, np.int64), np.empty(n, np.int64)
        early_wide(
            given.log, self.which, given.takes, upper, lower, part.met,
            self.partials, self.sums, SumWords(high, low, valid),
        )  # fmt: skip
        return high, low
