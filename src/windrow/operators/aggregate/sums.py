"""SUM, AVG, variances and deviations: exact while tuples come and go, rounded when read."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa

from windrow.core.types import MAX_PRECISION
from windrow.kernels.spreads import spread
from windrow.kernels.sums import (
    BUDGET,
    MAGNITUDE,
    ROOM,
    SPECIAL,
    RealSums,
    settle_all,
    sum_real,
    sum_whole,
)
from windrow.kernels.sums import sum_wide as sum_wide_words
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.aggregate.counts import PlainArray
from windrow.operators.aggregate.wide import WideDecimals
from windrow.operators.state.fields import (
    OF_OWNER,
    ArrayField,
    ScalarField,
    ScratchField,
    StateField,
    StateLayout,
)
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall


class WholeSum(PlainArray):
    """SUM of integers: BIGINT, NULL while the sum has no 64 bits."""

    def __init__(self, call: AccumulatorCall) -> None:
        super().__init__(call, 3)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Add; a sum that overflowed is seen again as soon as it fits."""
        high = np.empty(batch.emissions, np.int64)
        takes, data = batch.takes(self.call), batch.bits(self.call)
        sum_whole(batch.events, takes, data, self.state, high, out, valid)
        valid[: batch.emissions] &= high == out[: batch.emissions] >> 63


class DecimalSum(PlainArray):
    """SUM of decimals: 38 digits, NULL while the sum has more."""

    def __init__(self, call: AccumulatorCall, wide: WideDecimals) -> None:
        assert call.type.precision == MAX_PRECISION, "SUM of decimals has all digits"
        self._from_wide = (
            pa.types.is_decimal(call.args[0].type) and call.args[0].type.precision > 18
        )
        super().__init__(call, 4 if self._from_wide else 3)
        self.wide = wide

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Add in 128 bits, then intern the sums."""
        n = batch.emissions
        takes, column = batch.takes(self.call), batch.column(self.call)
        high, low = np.empty(n, np.int64), np.empty(n, np.int64)
        if self._from_wide:
            upper, lower = self.wide.words(column)
            sum_wide_words(batch.events, takes, upper, lower, self.state, high, low, valid)
        else:
            sum_whole(batch.events, takes, batch.bits(self.call), self.state, high, low, valid)
        made = self.wide.encode(high, low, valid[:n], self.call.type)
        out[:n] = made.data
        if made.valid is not None:
            valid[:n] = made.valid


class RealSum(Accumulator):
    """SUM and AVG of doubles: correctly rounded sums, however long tuples come and go.

    Invariant, asserted by `check`: a group without tuples has limbs worth 0 and no tallies.
    """

    stored_as = StateLayout("exact-sums")
    state_fields: ClassVar[tuple[StateField, ...]] = (
        ScalarField("base"),
        ArrayField("limbs", length=OF_OWNER, any_width=True),
        ArrayField("tallies", length=OF_OWNER),
        ArrayField("spent"),
    )

    most = BUDGET  # copies of a value that are added at once

    def __init__(self, call: AccumulatorCall) -> None:
        self.call = call
        self.base = 0  # limb number of limbs[:, 0]
        self.limbs: I64 = np.zeros((0, 0), np.int64)
        self.tallies: I64 = np.zeros((0, 4), np.int64)
        self.spent: I64 = np.zeros(1, np.int64)

    def reserve(self, groups: int) -> None:
        """Make room."""
        if groups > len(self.tallies):
            self.tallies = grown(self.tallies, groups)  # type: ignore[assignment]
            self.limbs = grown(self.limbs, len(self.tallies))  # type: ignore[assignment]

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Add; widen the limbs when a value does not fit."""
        batch = batch.lightened(self.most)
        takes, bits = batch.takes(self.call), batch.bits(self.call)
        at = stuck = 0
        while (at := self._run(at, batch, takes, bits, out.view(np.float64), valid)) < len(batch):
            assert at != stuck - 1, "a value finds no room though it was made"
            self._make_room(bits[at:])
            stuck = at + 1

    def _run(
        self, at: int, batch: EventBatch, takes: Bools, bits: I64, *results: np.ndarray
    ) -> int:
        mean = self.call.name == "avg"
        return int(sum_real(at, batch.events, takes, bits, self._sums, mean, *results))

    @property
    def _sums(self) -> RealSums:
        return RealSums(self.base, self.limbs, self.tallies, self.spent)

    def _make_room(self, bits: I64) -> None:
        """Take the carries; keep as many limbs as the values to come span as well."""
        settle_all(self.limbs)
        self.spent[0] = 0
        place = (bits >> 52) & SPECIAL
        place = np.maximum(place[(place != SPECIAL) & (bits & MAGNITUDE != 0)] - 1, 0) >> 5
        width = self.limbs.shape[1]
        low, high = int(place.min()), int(place.max()) + ROOM
        if width:
            low, high = min(low, self.base), max(high, self.base + width)
        if high - low > width:
            self._widen(low, high - low)

    def _widen(self, base: int, width: int) -> None:
        """Put settled limbs in wider rows. The highest may be negative; above it all are 0."""
        self.limbs = in_wider_rows(self.limbs, self.base - base, width)
        self.base = base

    def release(self, groups: I64) -> None:
        """Drop what is left of carries."""
        self.limbs[groups] = 0

    def check_groups(self, live: I64) -> None:
        """Assert that groups without tuples are 0, and that carries can wait."""
        idle = np.ones(len(self.tallies), np.bool_)
        idle[live] = False
        assert not self.tallies[idle].any(), "an empty group has values"
        assert not self.limbs[idle].any(), "an empty group has a sum"
        assert 0 <= self.spent[0] <= BUDGET, "carries waited too long"


def in_wider_rows(limbs: I64, first: int, width: int) -> I64:
    """Return limbs in rows of so many, each beginning at `first`."""
    made = np.zeros((len(limbs), width), np.int64)
    made[:, first : first + limbs.shape[1]] = limbs
    return made


class Variance(RealSum):
    """Variances and deviations: Σx as in `RealSum`, Σx² beside it in twice as many limbs."""

    stored_as = StateLayout("exact-squares")
    state_fields = (
        *RealSum.state_fields,
        ArrayField("squares", length=OF_OWNER, any_width=True),
        ScratchField("work"),
    )

    most = BUDGET >> 3  # a limb of Σx² gets more parts

    def __init__(self, call: AccumulatorCall) -> None:
        super().__init__(call)
        self.squares: I64 = np.zeros((0, 0), np.int64)
        self.work: I64 = np.zeros((1, 0), np.int64)
        self.kind = 2 * call.name.startswith("stddev") + call.name.endswith("samp")

    def reserve(self, groups: int) -> None:
        """Make room."""
        super().reserve(groups)
        self.squares = grown(self.squares, len(self.tallies))  # type: ignore[assignment]

    def _run(
        self, at: int, batch: EventBatch, takes: Bools, bits: I64, *results: np.ndarray
    ) -> int:
        squares = (self.squares, self.work, self.kind)
        return int(spread(at, batch.events, takes, bits, self._sums, *squares, *results))

    def _make_room(self, bits: I64) -> None:
        settle_all(self.squares)
        super()._make_room(bits)

    def _widen(self, base: int, width: int) -> None:
        self.squares = in_wider_rows(self.squares, 2 * (self.base - base), 2 * width + 2)
        self.work = np.zeros((1, 2 * width + 4), np.int64)
        super()._widen(base, width)

    def release(self, groups: I64) -> None:
        """Drop what is left of carries."""
        super().release(groups)
        self.squares[groups] = 0

    def check_groups(self, live: I64) -> None:
        """Assert that groups without tuples are 0."""
        super().check_groups(live)
        idle = np.ones(len(self.squares), np.bool_)
        idle[live] = False
        assert not self.squares[idle].any(), "an empty group has a sum of squares"

    def rebuild(self) -> None:
        """Make work space for squares of this width."""
        self.work = np.zeros((1, self.squares.shape[1] + 2), np.int64)
