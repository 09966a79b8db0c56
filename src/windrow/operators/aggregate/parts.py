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

import numpy as np
import pyarrow as pa

from windrow.core.schema import Field
from windrow.core.types import BIGINT, BINARY, DOUBLE, is_decimal, is_float
from windrow.kernels.counters import count_values
from windrow.kernels.parts import part_real
from windrow.kernels.sums import MINUS, NANS, sum_whole
from windrow.operators.aggregate.batch import EventBatch
from windrow.operators.aggregate.op import AccumulatorCall
from windrow.operators.aggregate.sums import RealSum
from windrow.operators.interner import Interner
from windrow.operators.vector import F64, I64, Vector


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

    def columns(self, batch: EventBatch, interner: Interner) -> list[Vector]:
        """Return the columns, a row for each emission, which must be groups of their own."""
        match self.kind:
            case PartKind.COUNT:
                return [Vector(BIGINT, _counted(batch, self.call))]
            case PartKind.WHOLE:
                return [Vector(BIGINT, word) for word in _summed(batch, self.call)]
            case PartKind.REAL:
                return _split(batch, self.call, interner)


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


def _counted(batch: EventBatch, call: AccumulatorCall) -> I64:
    counts = np.zeros(batch.emissions, np.int64)
    count_values(batch.events, batch.takes(call), counts, np.empty(batch.emissions, np.int64))
    return counts


def _summed(batch: EventBatch, call: AccumulatorCall) -> tuple[I64, I64]:
    n = batch.emissions
    high, low, valid = np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.bool_)
    sums = np.zeros((n, 3), np.int64)
    sum_whole(batch.events, batch.takes(call), batch.bits(call), sums, high, low, valid)
    return high, low


def _split(batch: EventBatch, call: AccumulatorCall, interner: Interner) -> list[Vector]:
    n = batch.emissions
    sums = RealSum(call)
    sums.reserve(n)
    sums.fold(batch, np.empty(n, np.int64), np.empty(n, np.bool_))
    return split_sums(sums.base, sums.limbs, sums.tallies, interner)


def split_sums(base: int, limbs: I64, tallies: I64, interner: Interner) -> list[Vector]:
    """Return exact sums of doubles as heads, tails and what is left. Uses the limbs up."""
    n = len(limbs)
    heads: F64 = np.empty(n)
    tails: F64 = np.empty(n)
    rest, spilled = np.zeros(n, np.int64), np.empty(n, np.int64)
    found = part_real(base, limbs, tallies, heads, tails, spilled)
    if found:
        at = spilled[:found]
        words = [tallies[at, NANS : MINUS + 1], np.full((found, 1), base, np.int64), limbs[at]]
        rest[at] = _interned(np.hstack(words), interner)
    return [Vector(DOUBLE, heads), Vector(DOUBLE, tails), Vector(BINARY, rest)]


def _interned(words: I64, interner: Interner) -> I64:
    """Return codes of rows of words."""
    offsets = np.arange(len(words) + 1) * (8 * words.shape[1])
    return interner.encode_strings(np.ascontiguousarray(words).reshape(-1).view(np.uint8), offsets)
