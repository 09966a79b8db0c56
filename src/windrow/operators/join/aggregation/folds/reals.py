"""SUM, AVG, variances and deviations of doubles: the bits that a fold of all results would give."""

from __future__ import annotations

import numpy as np

from windrow.kernels.early_reals import (
    COPIES,
    MEAN,
    SUM,
    TALLIES,
    RealState,
    early_reals,
    limbs_spanned,
)
from windrow.kernels.sums import MASK, ROOM, settle_all
from windrow.operators.aggregate.sums import in_wider_rows
from windrow.operators.join.aggregation.folds.plain import Argument
from windrow.operators.join.aggregation.parts import Contributions, EarlyFold
from windrow.operators.state.fields import (
    OF_OWNER,
    ArrayField,
    NestedField,
    ScalarField,
    ScratchField,
    State,
)
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall


class Sums(State):
    """Exact sums of doubles, and of their squares if `squared`, one row a code."""

    state_fields = (
        ArrayField("limbs", length=OF_OWNER, any_width=True),
        ArrayField("squares", length=OF_OWNER, any_width=True),
        ArrayField("tallies", length=OF_OWNER),
    )

    def __init__(self, *, squared: bool) -> None:
        self.squared = squared
        self.limbs: I64 = np.zeros((0, 0), np.int64)
        self.squares: I64 = np.zeros((0, 0), np.int64)
        self.tallies: I64 = np.zeros((0, TALLIES), np.int64)

    @classmethod
    def alike(cls, other: Sums, size: int) -> Sums:
        """Return sums of nothing, with as many limbs as others have."""
        made = cls(squared=other.squared)
        made.limbs = np.zeros((size, other.limbs.shape[1]), np.int64)
        made.squares = np.zeros((size, other.squares.shape[1]), np.int64)
        made.tallies = np.zeros((size, TALLIES), np.int64)
        return made

    @property
    def arrays(self) -> tuple[I64, I64, I64]:
        """What kernels take."""
        return self.limbs, self.squares, self.tallies

    def reserve(self, size: int) -> None:
        """Make room for codes."""
        if size > len(self.tallies):
            self.tallies = grown(self.tallies, size)  # type: ignore[assignment]
            self.limbs = grown(self.limbs, len(self.tallies))  # type: ignore[assignment]
            self.squares = grown(self.squares, len(self.tallies))  # type: ignore[assignment]

    def widen(self, lower: int, width: int) -> None:
        """Keep more limbs, so many of them below."""
        self.limbs = in_wider_rows(self.limbs, lower, width)
        settle_all(self.limbs)
        if self.squared:
            self.squares = in_wider_rows(self.squares, 2 * lower, 2 * width + 2)
            settle_all(self.squares)

    def release(self, codes: I64) -> None:
        """Start from nothing."""
        for array in self.arrays:
            array[codes] = 0

    def check_live(self, live: I64) -> None:
        """Assert that there is nothing but the live, and that no carry waits."""
        idle = np.ones(len(self.tallies), np.bool_)
        idle[live] = False
        for array in self.arrays:
            assert not array[idle].any(), "invariant 1: a sum of nothing is something"
        for array in (self.limbs, self.squares):
            low = array[:, :-1]
            assert ((low >= 0) & (low <= MASK)).all(), "invariant 2: a carry waits"


class EarlyReals(EarlyFold):
    """SUM and AVG of doubles, variances and deviations.

    Invariants, asserted by `check`:
      1. an entry without copies, and a group without results, has no sum and no tallies;
      2. no carry waits.
    """

    state_fields = (
        ScalarField("base"),
        NestedField("partials", rows="entries_used"),
        NestedField("sums"),
        ScratchField("own"),
        ScratchField("work"),
    )

    def __init__(self, call: AccumulatorCall, which: int) -> None:
        self.call = call
        self.which = which
        spread = 2 * call.name.startswith("stddev") + call.name.endswith("samp")
        self.kind = {"sum": SUM, "avg": MEAN}.get(call.name, spread)
        self.base = 0  # limb number of limbs[:, 0], of both
        self.partials = Sums(squared=self.kind < SUM)
        self.own = Sums(squared=self.kind < SUM)  # of one change
        self.own.reserve(1)
        self.sums = Sums(squared=self.kind < SUM)
        self.work: I64 = np.zeros((1, 0), np.int64)

    def reserve(self, entries: int, groups: int) -> None:
        """Make room."""
        self.partials.reserve(entries)
        self.sums.reserve(groups)

    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Add partial sums times combinations, limb by limb."""
        given = Argument.of(self.call, self.which, part.changes)
        bits = given.bits(self.call)
        low, high = map(int, limbs_spanned(given.takes, bits))
        if high >= 0:
            self._make_room(low, high + ROOM)
        early_reals(
            given.log,
            self.which,
            given.takes,
            bits,
            part.met,
            RealState(
                self.base, self.partials.arrays, self.own.arrays, self.sums.arrays, self.work
            ),
            self.kind,
            out.view(np.float64),
            valid,
        )

    def _make_room(self, low: int, high: int) -> None:
        """Keep limbs [low, high) as well."""
        width = self.sums.limbs.shape[1]
        if width:
            low, high = min(low, self.base), max(high, self.base + width)
        # A value of another magnitude: all sums get the limbs that it spans.
        if high - low > width:
            for sums in (self.partials, self.own, self.sums):
                sums.widen(self.base - low if width else 0, high - low)
            self.base = low
            self.work = np.zeros((1, 2 * (high - low) + 4), np.int64)

    def release_entries(self, entries: I64) -> None:
        """Start from nothing."""
        self.partials.release(entries)

    def release_groups(self, groups: I64) -> None:
        """Start from nothing."""
        self.sums.release(groups)

    @property
    def copies(self) -> I64:
        """The copies of each entry."""
        return self.partials.tallies[:, COPIES]

    def rebuild(self) -> None:
        """Make work space as wide as sums; these are not kept where groups are elsewhere."""
        width = self.partials.limbs.shape[1]
        self.own.widen(0, width)
        self.work = np.zeros((1, 2 * width + 4), np.int64)

    def check_live(self, entries: I64, groups: I64) -> None:
        """Assert the invariants."""
        self.partials.check_live(entries)
        self.sums.check_live(groups)
        assert (self.partials.tallies[entries, COPIES] > 0).all(), "an entry has no copies"
