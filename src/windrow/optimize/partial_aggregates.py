"""Aggregates from partial aggregates: what a tuple contributes, how two merge, what is made of it.

    call             a tuple's part                     merged    made of it
    COUNT(*)         1                                  SUM       the sum, 0 for none
    COUNT(x)         1 if x is not NULL, else 0         SUM       the sum, 0 for none
    SUM(x)           x                                  SUM       the sum
    AVG(x)           x as DOUBLE, and COUNT(x)          SUM       their quotient
    MIN(x), MAX(x)   x                                  itself    itself

FILTER (WHERE f) makes the part of other tuples NULL, or 0 for counts. Only what is exact in any
order is here: a sum of doubles rounds, so SUM and AVG are of whole numbers, SUM also of decimals.
AVG of whole numbers is the correctly rounded sum by the count, as without parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from windrow.core.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    MAX_PRECISION,
    TIMESTAMP,
    is_decimal,
    is_float,
    is_integer,
)
from windrow.physical.sources import Merge, PartialColumn
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal, conjunction
from windrow.plan.nodes import AggregateCall, Named

SUM_LIMIT = 2**31
"""Whole numbers below it are merged: 2^32 of them still have a sum of 64 bits."""
MEAN_LIMIT = 2**24
"""The same for AVG: the sum of 2^29 of them is still exact as a DOUBLE."""
SPARE_DIGITS = 10
"""Digits by which a sum of decimals may be longer than they: 10^10 rows."""


def refusal(call: AggregateCall) -> str | None:
    """Return why a call cannot be made of parts; None if it can."""
    name = call.name.upper()
    match call.name:
        case "min" | "max" | "bool_and" | "bool_or":
            plain = _has_fixed_width(call.args[0].type)
            return None if plain else f"Spark would sort all tuples to find the {name} of a text"
        case "count" | "sum" | "avg" if call.distinct:
            return f"{name}(DISTINCT ...) needs the values"
        case "count":
            return None
        case "sum":
            return _sum_refusal(call.args[0].type)
        case "avg":
            return None if _whole(call.args[0]) else f"Spark would round the sums of {name}"
        case _:
            return f"{name} needs the values"


def _sum_refusal(type_: pa.DataType) -> str | None:
    if is_float(type_):
        return "Spark would round sums of doubles"
    if is_decimal(type_) and type_.precision + SPARE_DIGITS > MAX_PRECISION:
        return f"sums of {type_.precision} digits may have more than {MAX_PRECISION}"
    return None


def _has_fixed_width(type_: pa.DataType) -> bool:
    known = type_ in (BOOLEAN, DATE, TIMESTAMP)
    return known or is_integer(type_) or is_float(type_) or is_decimal(type_)


def _whole(arg: Expr) -> bool:
    """Return whether the argument of AVG, a DOUBLE, is made from a whole number."""
    return isinstance(arg, Cast) and is_integer(arg.value.type)


@dataclass(slots=True)
class Parts:
    """The parts that the calls of one aggregate need, each once."""

    prefix: str = "#part"
    columns: list[Named] = field(default_factory=list)
    parts: list[PartialColumn] = field(default_factory=list)
    calls: list[AggregateCall] = field(default_factory=list)

    def of(self, call: AggregateCall) -> Expr:
        """Add what a call needs; return the call as an expression over the merged parts."""
        match call.name:
            case "count":
                return self._count(call)
            case "sum":
                return self._merged(call, _summed(call), Merge.SUM, _limit(call.args[0].type))
            case "avg":
                total = self._merged(call, _kept(call), Merge.SUM, MEAN_LIMIT, name="sum")
                count = Cast(self._count(call), DOUBLE, nullable=False)
                return Call("div", (total, count), DOUBLE)
            case "min" | "bool_and":
                return self._merged(call, _kept(call), Merge.MIN, None)
            case _:
                return self._merged(call, _kept(call), Merge.MAX, None)

    def _count(self, call: AggregateCall) -> Expr:
        tests = tuple(
            Call("is_not_null", (a,), BOOLEAN, nullable=False) for a in call.args if a.nullable
        )
        wanted = conjunction(((call.filter,) if call.filter is not None else ()) + tests)
        one, none = Literal(1, BIGINT), Literal(0, BIGINT)
        part = one if wanted is None else Call("case", (wanted, one, none), BIGINT, nullable=False)
        total = self._merged(call, part, Merge.SUM, None, name="sum")
        return Call("coalesce", (total, none), BIGINT, nullable=False)

    def _merged(
        self, call: AggregateCall, part: Expr, merge: Merge, limit: int | None, name: str = ""
    ) -> Column:
        """Return the column in which parts are merged; one for all calls with the same."""
        fold = name or call.name
        for column, known in zip(self.columns, self.calls, strict=True):
            if column.expr == part and known.name == fold:
                return Column(known.output, known.type, known.nullable)
        column = Named(f"{self.prefix}{len(self.columns)}", part)
        type_ = _folded(fold, part.type)
        self.columns.append(column)
        self.parts.append(PartialColumn(column.name, merge, limit))
        arg = Column(column.name, part.type, part.nullable)
        self.calls.append(AggregateCall(column.name, fold, (arg,), type_))
        return Column(column.name, type_)


def _folded(name: str, type_: pa.DataType) -> pa.DataType:
    if name == "sum" and is_decimal(type_):
        return pa.decimal128(MAX_PRECISION, type_.scale)
    return type_


def _kept(call: AggregateCall) -> Expr:
    """Return the argument of a call; NULL where its filter does not hold."""
    (arg,) = call.args
    return arg if call.filter is None else Call("case", (call.filter, arg), arg.type)


def _summed(call: AggregateCall) -> Expr:
    """Return the argument of SUM in a type that has room for sums."""
    kept = _kept(call)
    if is_decimal(kept.type):
        longer = pa.decimal128(kept.type.precision + SPARE_DIGITS, kept.type.scale)
        return Cast(kept, longer, kept.nullable)
    return kept if kept.type == BIGINT else Cast(kept, BIGINT, kept.nullable)


def _limit(type_: pa.DataType) -> int | None:
    return SUM_LIMIT if type_ == BIGINT else None
