"""Calls in parts: what a few tuples add to a call, as columns that can be sent and added up.

    call           parts of the tuples that come and go together          merged by
    COUNT(*)       none: the row's weight is how many they are            count
    COUNT(x)       how many are not NULL                                  merge_count
    SUM(x), whole  their sum in 128 bits: high, low                       merge_sum
    SUM(x), real   their exact sum: head, tail, and rarely what is left   merge_sum
    AVG(x)         the same                                               merge_avg

FILTER is applied before. Where x may be NULL, or there is a filter, SUM and AVG have the count too.
Parts are differences, so a part that is 0 says that nothing changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import pyarrow as pa

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT, BINARY, DOUBLE, is_decimal, is_float
from windrow.physical.calls import AccumulatorCall


class PartKind(Enum):
    """What a part is of: the names and types of its columns."""

    COUNT = (("count", BIGINT),)
    WHOLE = (("high", BIGINT), ("low", BIGINT))
    REAL = (("head", DOUBLE), ("tail", DOUBLE), ("rest", BINARY))


@dataclass(frozen=True, slots=True)
class PartColumns:
    """Columns that are made of one argument, or of several that are counted.

    `call` is the COUNT or SUM whose exact value they are.
    """

    kind: PartKind
    call: AccumulatorCall

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns."""
        named = ((f"{self.call.output}.{of}", type_) for of, type_ in self.kind.value)
        return tuple(Field(name, type_, nullable=False) for name, type_ in named)


def split_calls(
    calls: tuple[AccumulatorCall, ...],
) -> tuple[tuple[PartColumns, ...], tuple[AccumulatorCall, ...]]:
    """Return the parts of calls, each once, and the calls that merge them."""
    found: dict[object, PartColumns] = {}

    def part(kind: PartKind, call: AccumulatorCall) -> tuple[Field, ...]:
        name = "count" if kind is PartKind.COUNT else "sum"
        output = f"#{len(found)}"
        made = PartColumns(
            kind, AccumulatorCall(name, call.args, output, _type(kind, call), filter=call.filter)
        )
        return found.setdefault((kind, call.args, call.filter), made).fields

    def merged(call: AccumulatorCall) -> AccumulatorCall:
        plain = call.filter is None and not any(arg.nullable for arg in call.args)
        count = () if plain else part(PartKind.COUNT, call)
        if call.name == "count":
            name = "count" if plain else "merge_count"
            return replace(call, name=name, args=count, filter=None)
        kind = PartKind.REAL if is_float(call.args[0].type) else PartKind.WHOLE
        args = part(kind, call) + count
        return replace(call, name=f"merge_{call.name}", args=args, filter=None)

    made = tuple(merged(call) for call in calls)
    return tuple(found.values()), made


def _type(kind: PartKind, call: AccumulatorCall) -> pa.DataType:
    if kind is PartKind.WHOLE and is_decimal(call.type):
        return call.type
    return DOUBLE if kind is PartKind.REAL else BIGINT


@dataclass(frozen=True)
class Contribute:
    """One row a group and instant: its keys, then the parts of its calls."""

    keys: tuple[Field, ...]
    calls: tuple[AccumulatorCall, ...]

    @cached_property
    def _split(self) -> tuple[tuple[PartColumns, ...], tuple[AccumulatorCall, ...]]:
        return split_calls(self.calls)

    @property
    def parts(self) -> tuple[PartColumns, ...]:
        """The parts, each once."""
        return self._split[0]

    @property
    def merging(self) -> tuple[AccumulatorCall, ...]:
        """The calls over merged parts that equal the calls."""
        return self._split[1]

    @property
    def schema(self) -> Schema:
        """Keys, then parts."""
        return Schema(self.keys + tuple(f for part in self.parts for f in part.fields))
