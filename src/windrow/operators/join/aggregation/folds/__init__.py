"""Early calls: partial values by entry of an aggregation set, values by group [AGGJOIN 4]."""

from __future__ import annotations

from windrow.core.types import is_decimal, is_float
from windrow.operators.aggregate.wide import WideDecimals
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.folds.extremes import EarlyExtreme
from windrow.operators.join.aggregation.folds.plain import (
    EarlyCount,
    EarlyDecimals,
    EarlyRows,
    EarlyTruths,
    EarlyWhole,
)
from windrow.operators.join.aggregation.folds.reals import EarlyReals
from windrow.operators.join.aggregation.parts import EarlyFold
from windrow.physical.calls import AccumulatorCall, folds_early


def early_fold(call: AccumulatorCall, which: int, interner: Interner) -> EarlyFold:
    """Return what folds a call over columns of input `which`. Needs ``folds_early(call)``."""
    assert folds_early(call), f"{call.name} cannot be folded before a join"
    match call.name:
        case "count":
            filtered = call.args or call.filter is not None
            return EarlyCount(call, which) if filtered else EarlyRows(call, which)
        case "sum" if is_decimal(call.args[0].type):
            return EarlyDecimals(call, which, WideDecimals(interner))
        case "sum" if not is_float(call.args[0].type):
            return EarlyWhole(call, which)
        case "min" | "max":
            return EarlyExtreme(call, which, interner)
        case "bool_and" | "bool_or":
            return EarlyTruths(call, which)
        case _:
            return EarlyReals(call, which)
