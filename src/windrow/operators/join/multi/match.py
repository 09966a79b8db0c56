"""When n rows match: the parameters of a join of many inputs (`physical/conditions.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.schema import Field, Schema
from windrow.operators.codec import RowCodec
from windrow.operators.join.match import Residual
from windrow.physical.conditions import Equality, MultiTerms

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
