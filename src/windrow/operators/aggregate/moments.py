"""COVAR_POP, COVAR_SAMP, SKEWNESS, KURTOSIS: exact sums of products, rounded when read."""

from __future__ import annotations

import numpy as np

from windrow.kernels.moments import (
    COVARIANCE,
    KURTOSIS,
    SKEWNESS,
    WORK_ROWS,
    MomentSums,
    fold_moments,
)
from windrow.kernels.sums import BUDGET, MAGNITUDE, ROOM, SPECIAL, settle_all
from windrow.operators.aggregate.batch import Accumulator, EventBatch, column_bits
from windrow.operators.state.fields import OF_OWNER, ArrayField, ScratchField, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall

KINDS = {"skewness": SKEWNESS, "kurtosis": KURTOSIS}

POWERS: I64 = np.array([[1, 2, 3, 4], [0, 0, 0, 0]])
PRODUCTS: I64 = np.array([[1, 0, 1], [0, 1, 1]])
"""How often each argument is a factor of each sum."""

HEADROOM = 20
"""Digits of a product of sums beyond those of the widest sum."""


class Moment(Accumulator):
    """A moment of one argument or two, whatever its mean: see `kernels/moments.py`.

    Limbs of one argument's values begin at `bases` and are `widths` many; a sum of products has as
    many as its factors together.
    Invariant, asserted by `check`: a group without tuples has limbs of 0 and no tallies.
    """

    stored_as = StateLayout("exact-moments")
    state_fields = (
        ArrayField("bases"),
        ArrayField("widths"),
        ArrayField("limbs", length=OF_OWNER, any_width=True),
        ArrayField("tallies", length=OF_OWNER),
        ArrayField("spent"),
        ScratchField("work"),
    )

    def __init__(self, call: AccumulatorCall) -> None:
        self.call = call
        self.factors = PRODUCTS if len(call.args) == 2 else POWERS
        self.kind = (KINDS.get(call.name, COVARIANCE), int(call.name == "covar_samp"))
        self.bases: I64 = np.zeros(2, np.int64)
        self.widths: I64 = np.zeros(2, np.int64)
        self.limbs: I64 = np.zeros((0, 0), np.int64)
        self.tallies: I64 = np.zeros((0, 2), np.int64)
        self.spent: I64 = np.zeros(1, np.int64)
        self.work: I64 = np.zeros((WORK_ROWS, HEADROOM), np.int64)

    @property
    def sums(self) -> int:
        """How many sums a group has."""
        return len(self.factors[0])

    def reserve(self, groups: int) -> None:
        """Make room."""
        if groups > len(self.tallies):
            self.tallies = grown(self.tallies, groups)  # type: ignore[assignment]
            self.limbs = grown(self.limbs, len(self.tallies))  # type: ignore[assignment]

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Add; widen the limbs when a value does not fit."""
        batch = batch.lightened(BUDGET)
        takes = batch.takes(self.call)
        bits = np.stack([column_bits(batch.columns[a.name]) for a in self.call.args])
        at = stuck = 0
        while at < len(batch):
            kinds, reals = np.array([*self.kind, *self.widths]), out.view(np.float64)
            at = fold_moments(at, batch.events, takes, bits, self._sums, kinds, reals, valid)
            assert at == len(batch) or at != stuck - 1, "a value finds no room though it was made"
            if at < len(batch):
                self._make_room(bits[:, at:])
                stuck = at + 1

    @property
    def _sums(self) -> MomentSums:
        limbs = self.limbs.reshape(len(self.tallies) * self.sums, -1)
        return MomentSums(self.bases, limbs, self.tallies, self.spent, self.work)

    def _make_room(self, bits: I64) -> None:
        """Take the carries; keep as many limbs as the values to come span as well."""
        settle_all(self._sums.limbs)
        self.spent[0] = 0
        bases, widths = self.bases.copy(), self.widths.copy()
        for k, values in enumerate(bits):
            place = (values >> 52) & SPECIAL
            place = np.maximum(place[(place != SPECIAL) & (values & MAGNITUDE != 0)] - 1, 0) >> 5
            if not len(place):
                continue
            low, high = int(place.min()), int(place.max()) + ROOM
            if widths[k]:
                low, high = min(low, int(bases[k])), max(high, int(bases[k] + widths[k]))
            bases[k], widths[k] = low, high - low
        if (widths > self.widths).any():
            self._widen(bases, widths)

    def _widen(self, bases: I64, widths: I64) -> None:
        """Put settled limbs in wider rows. The highest may be negative; above it all are 0."""
        old = self.limbs.reshape(len(self.tallies), self.sums, -1)
        made = np.zeros((len(old), self.sums, int((widths @ self.factors).max())), np.int64)
        moved = np.where(self.widths > 0, self.bases - bases, 0) @ self.factors
        for k, start in enumerate(moved.tolist()):
            made[:, k, start : start + old.shape[2]] = old[:, k]
        self.bases, self.widths = bases, widths
        self.limbs = made.reshape(len(old), -1)
        self.rebuild()

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

    def rebuild(self) -> None:
        """Make work space for sums of this width."""
        width = self.limbs.shape[1] // self.sums + HEADROOM
        self.work = np.zeros((WORK_ROWS, width), np.int64)
