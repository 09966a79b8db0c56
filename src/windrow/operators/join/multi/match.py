"""When n rows match: the parameters of a join of many inputs.

    FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND b.x = c.x AND WINDOW(a, b) = 5 SECONDS

    equalities    (k, k, k)  (-, x, x)        classes of columns with one value
    bands         a ── b

Results are made of one row of each input; they begin with the newest and end with the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from windrow.core.schema import Field, Schema
from windrow.operators.codec import RowCodec
from windrow.operators.join.match import Residual
from windrow.physical.conditions import Compare, Equality, JoinInput, PairBand

Order = tuple[int, ...]
"""Positions of inputs, outermost loop first."""


def equality_codec(equality: Equality, schema: Schema, at: int) -> RowCodec:
    """Return how the columns of input `at` become words; all inputs have one layout."""
    fields = (schema[name] for name in equality.columns[at])
    return RowCodec(tuple(Field(f.name, f.type, nullable=False) for f in fields))


@dataclass(frozen=True)
class MultiMatch:
    """All equalities, bands and comparisons hold, and the residual on the columns of the result."""

    inputs: tuple[JoinInput, ...]
    equalities: tuple[Equality, ...] = ()
    bands: tuple[PairBand, ...] = ()
    compares: tuple[Compare, ...] = ()
    residual: Residual | None = None

    def __post_init__(self) -> None:
        n = len(self.inputs)
        assert n >= 2, "a join has two inputs at least"
        assert all(len(e.columns) == n for e in self.equalities), "an entry for each input"
        assert all(len(e.inputs) >= 2 for e in self.equalities), "an equality binds two at least"

    @cached_property
    def output(self) -> Schema:
        """The inputs' columns as emitted, one input after the other."""
        return Schema(tuple(i.schema[n] for i in self.inputs for n in i.output))
