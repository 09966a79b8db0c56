"""MIN and MAX: no window is read again when an extreme leaves."""

from __future__ import annotations

import numpy as np

from windrow.kernels.early_extremes import (
    BEST,
    CHANGE,
    CONTRIBUTION,
    FILLED,
    ExtremeCall,
    early_extremes,
    move_extremes,
)
from windrow.kernels.early_folds import COPIES
from windrow.kernels.ordered import KEY
from windrow.operators.aggregate.comparing import Comparing
from windrow.operators.aggregate.ordered import Forest
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.folds.plain import Argument
from windrow.operators.join.aggregation.parts import Contributions, EarlyFold
from windrow.operators.state.fields import OF_OWNER, ArrayField, NestedField
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall

MORE_NODES = 64
"""Room in the bags of groups that a part begins with, at least."""


class EarlyExtreme(EarlyFold):
    """MIN or MAX: the values of each entry in order; of each group, the extremes of its entries.

    Invariants, asserted by `check`:
      1. bags are as `Forest` has them; entries without copies and groups without results have none;
      2. `now` says of each entry whether it has a bag, and its extreme as `bests` does;
      3. live entries have copies.
    """

    state_fields = (
        NestedField("values", rows="entries_used"),
        NestedField("extremes"),
        ArrayField("bests", length="entries_used", room="entries_used"),
        ArrayField("now", length="entries_used", room="entries_used"),
        ArrayField("shown", length=OF_OWNER),
    )

    def __init__(self, call: AccumulatorCall, which: int, interner: Interner) -> None:
        self.call = call
        self.which = which
        self.comparing = Comparing.of(call.args[0].type, interner)
        self.sign = 1 if call.name == "max" else -1
        self.values = Forest()  # by entry
        self.extremes = Forest()  # by group
        self.bests: I64 = np.zeros(0, np.int64)
        self.now: I64 = np.zeros((0, 3), np.int64)
        self.shown: I64 = np.zeros((0, 2), np.int64)

    @property
    def comparisons(self) -> int:
        """Values compared so far."""
        return self.values.pool.comparisons() + self.extremes.pool.comparisons()

    def reserve(self, entries: int, groups: int) -> None:
        """Make room."""
        self.values.reserve(entries)
        self.extremes.reserve(groups)
        self.bests = grown(self.bests, entries)  # type: ignore[assignment]
        self.now = grown(self.now, entries)  # type: ignore[assignment]
        self.shown = grown(self.shown, groups)  # type: ignore[assignment]

    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Change the bags of entries, then, where an extreme moves, those of groups."""
        given = Argument.of(self.call, self.which, part.changes)
        log, rows = given.log, (given.takes, given.bits(self.call))
        call = ExtremeCall(self.which, self.comparing.order, self.sign)
        moves = np.empty((len(part.changes), 4), np.int64)
        bags = self.values
        bags.pool.reserve(len(part.changes))
        # First how the extreme of each changed entry moves, as groups only see those.
        move_extremes(log, call, *rows, bags.trees, self.bests, moves)
        cursor, bags = np.zeros(2, np.int64), self.extremes
        # The kernel stops where groups' bags are full, and goes on with more nodes.
        while cursor[CONTRIBUTION] < len(part) or cursor[CHANGE] < len(part.changes):
            bags.pool.reserve(max(MORE_NODES, len(bags.pool)))
            early_extremes(
                cursor, log, call, moves, part.met, self.now, bags.trees, self.shown, out, valid
            )

    def release_entries(self, entries: I64) -> None:
        """Bags without values are empty already."""
        self.now[entries] = 0

    def entries(self) -> int:
        """Return how many different values are stored."""
        return len(self.values.pool) + len(self.extremes.pool)

    @property
    def copies(self) -> I64:
        """The copies of each entry."""
        return self.now[:, COPIES]

    def live_codes(self) -> list[I64]:
        """Return the codes of the values in the bags."""
        pools = (self.values.pool, self.extremes.pool)
        return [p.nodes[p.live(), KEY] for p in pools] if self.comparing.interned else []

    def check_live(self, entries: I64, groups: I64) -> None:
        """Assert the invariants."""
        for bags, live in ((self.values, entries), (self.extremes, groups)):
            bags.check_groups(live)
        filled = self.values.roots != 0
        assert np.array_equal(self.now[:, FILLED] != 0, filled), "invariant 2: a bag is not known"
        agree = self.now[filled, BEST] == self.bests[filled]
        assert agree.all(), "invariant 2: an extreme is not followed"
        assert (self.now[entries, COPIES] > 0).all(), "invariant 3: an entry has no copies"
