"""Which accumulator folds a call."""

from __future__ import annotations

from windrow.core.types import is_decimal, is_float
from windrow.operators.aggregate.batch import Accumulator
from windrow.operators.aggregate.counts import BitCounts, Count, CountRows, Truths
from windrow.operators.aggregate.distinct import DistinctAccumulator
from windrow.operators.aggregate.extremes import BestAlive
from windrow.operators.aggregate.in_order import First, Listing
from windrow.operators.aggregate.merging import MergedCount, MergedReal, MergedWhole
from windrow.operators.aggregate.moments import Moment
from windrow.operators.aggregate.ordered import TopK
from windrow.operators.aggregate.quantile import Quantile
from windrow.operators.aggregate.sums import DecimalSum, RealSum, Variance, WholeSum
from windrow.operators.aggregate.user_defined import REGISTERED, UserDefined
from windrow.operators.aggregate.wide import WideDecimals
from windrow.operators.interner import Interner
from windrow.physical.calls import DUPLICATES_DO_NOT_MATTER, AccumulatorCall


def accumulator(call: AccumulatorCall, interner: Interner, *, unsigned: bool) -> Accumulator:
    """Return the accumulator of a call. `unsigned`: each row carries `exp`.

    The approximate aggregates are computed exactly, by the counters of their exact
    counterparts: an exact answer is within every bound.
    """
    if call.name == "approx_count_distinct" or (
        call.distinct and call.name not in DUPLICATES_DO_NOT_MATTER
    ):
        return DistinctAccumulator(call, _plain(call, interner, unsigned=unsigned))
    return _plain(call, interner, unsigned=unsigned)


def _plain(call: AccumulatorCall, interner: Interner, *, unsigned: bool) -> Accumulator:
    match call.name:
        case "count" | "approx_count_distinct":
            return Count(call) if call.args or call.filter is not None else CountRows(call)
        case "sum" if is_decimal(call.args[0].type):
            return DecimalSum(call, WideDecimals(interner))
        case "sum" if not is_float(call.args[0].type):
            return WholeSum(call)
        case "sum" | "avg":
            return RealSum(call)
        case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return Variance(call)
        case "min" | "max" if unsigned:
            return BestAlive(call, interner)
        case "min" | "max" | "median" | "quantile" | "approx_quantile":
            return Quantile(call, interner)
        case "first":
            return First(call, interner)
        case "collect_list" | "string_agg":
            return Listing(call, interner)
        case "covar_pop" | "covar_samp" | "skewness" | "kurtosis":
            return Moment(call)
        case "bit_and" | "bit_or" | "bit_xor":
            return BitCounts(call)
        case "topk" | "approx_topk" | "mode":
            return TopK(call, interner)
        case "bool_and" | "bool_or":
            return Truths(call)
        case "merge_count":
            return MergedCount(call)
        case "merge_sum" | "merge_avg" if is_float(call.args[0].type):
            return MergedReal(call, interner)
        case "merge_sum":
            return MergedWhole(call, interner)
        case name:
            assert name in REGISTERED, f"{name} is no aggregate"
            return UserDefined(call, REGISTERED[name].aggregate, interner)
