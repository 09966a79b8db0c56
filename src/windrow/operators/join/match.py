"""When rows match: the parameters of joins (`physical/conditions.py`), at work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.operators.codec import RowCodec, any_null
from windrow.operators.delta import Delta
from windrow.operators.vector import I64, Bools, Vector
from windrow.physical.conditions import Equality, JoinSide, MultiTerms, TimeBand

Residual = Callable[[dict[str, Vector], int], Bools]
"""Takes the joined columns of candidates, and how many there are; returns which hold."""


class Side(JoinSide):
    """A side at work: its keys as words."""

    @cached_property
    def key_codec(self) -> RowCodec:
        """Keys as words. NULL keys never come so far: both sides have one layout."""
        fields = (self.schema[name] for name in self.keys)
        return RowCodec(tuple(Field(f.name, f.type, nullable=False) for f in fields))

    def key_words(self, delta: Delta) -> I64:
        """Return the key of each row as words."""
        return self.key_codec.words([delta.columns[name] for name in self.keys], len(delta))

    def null_keys(self, delta: Delta) -> Bools | None:
        """Return which rows have a NULL in their key; None if none has."""
        return any_null([delta.columns[name] for name in self.keys])

    def joinable(self, delta: Delta) -> Delta:
        """Return the rows that can match at all: without NULL in the key."""
        if not len(delta):
            return delta
        nulls = self.null_keys(delta)
        return delta if nulls is None else delta.take(np.flatnonzero(~nulls))


@dataclass(frozen=True)
class Match:
    """Keys equal pairwise, all bands, and the residual on the columns of the pair."""

    left: Side
    right: Side
    bands: tuple[TimeBand, ...] = ()
    residual: Residual | None = None

    def __post_init__(self) -> None:
        assert len(self.left.keys) == len(self.right.keys), "keys come in pairs"

    @cached_property
    def bounds(self) -> tuple[I64, I64]:
        """Lows and highs of the bands."""
        lows = [b.low for b in self.bands]
        return np.array(lows, np.int64), np.array([b.high for b in self.bands], np.int64)

    @cached_property
    def output(self) -> Schema:
        """Left columns, then right columns, as emitted."""
        left = tuple(self.left.schema[n] for n in self.left.output)
        return Schema(left + tuple(self.right.schema[n] for n in self.right.output))

    def left_times(self, delta: Delta) -> I64:
        """Return the band columns of left rows, shape (rows, bands)."""
        return _times(delta, [b.left for b in self.bands])

    def right_times(self, delta: Delta) -> I64:
        """Return the band columns of right rows, shape (rows, bands)."""
        return _times(delta, [b.right for b in self.bands])

    def left_keep(self, exp: I64, times: I64) -> I64:
        """Return until when a left row is of use: a partner has right <= left + high.

        A right row at τ has right >= τ - right_lag.
        """
        for i, band in enumerate(self.bands):
            if band.right_lag is not None:
                exp = np.minimum(exp, after(times[:, i], band.high + band.right_lag))
        return exp

    def right_keep(self, exp: I64, times: I64) -> I64:
        """Return until when a right row is of use: a partner has left <= right - low."""
        for i, band in enumerate(self.bands):
            if band.left_lag is not None:
                exp = np.minimum(exp, after(times[:, i], band.left_lag - band.low))
        return exp


def _times(delta: Delta, names: list[str]) -> I64:
    times = np.empty((len(delta), len(names)), np.int64)
    for i, name in enumerate(names):
        times[:, i] = delta.columns[name].data
    return times


def times_of(columns: dict[str, Vector], bands: list[str], rows: int, clock: int) -> I64:
    """Return times that rows may have entered at: the latest that their bands read, or `clock`."""
    if not bands:
        return np.full(rows, clock)
    latest: I64 = np.max([columns[name].data for name in bands], axis=0)
    return np.minimum(latest, clock)


def after(times: I64, wait: int) -> I64:
    """Return the first instants after `times` + `wait`, FOREVER where that is out of range."""
    if not -FOREVER // 2 < wait < FOREVER // 2:
        return np.full(len(times), FOREVER)
    late = times > FOREVER - 2 - max(wait, 0)
    return np.where(late, FOREVER, times + (wait + 1)) if late.any() else times + (wait + 1)


Order = tuple[int, ...]
"""Positions of inputs, outermost loop first."""


def equality_codec(equality: Equality, schema: Schema, at: int) -> RowCodec:
    """Return how the columns of input `at` become words; all inputs have one layout."""
    fields = (schema[name] for name in equality.columns[at])
    return RowCodec(tuple(Field(f.name, f.type, nullable=False) for f in fields))


@dataclass(frozen=True)
class MultiMatch(MultiTerms):
    """The terms, and the residual compiled."""

    residual: Residual | None = None
