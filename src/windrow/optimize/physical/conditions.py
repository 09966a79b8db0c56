"""Conditions of joins, and how far the times that bands read lie behind their tuples."""

from __future__ import annotations

import operator
from collections.abc import Callable

from windrow.physical.node import PhysicalNode
from windrow.physical.operators import ExpireOp, ExpirerKind, FilterOp, ProjectOp, WindowOp
from windrow.plan.expressions import Call, Expr, Literal, conjunction, conjuncts
from windrow.plan.nodes import Band, Join, Plan, Scan, inputs_of
from windrow.plan.patterns import PatternKind
from windrow.plan.windows import Rows


def leaves_in_order(kind: PatternKind | None, lags: list[int | None]) -> bool:
    """Return whether a side's rows can be dropped in the order in which they came.

    WKS rows end so. MON rows never end; bands let go of them in the order of their times, which
    is that of arrival if the time is the tuple's own.
    """
    return kind in (PatternKind.WKS, PatternKind.MON) and all(lag == 0 for lag in lags)


def departs_in_order(edge: PhysicalNode) -> bool:
    """Return whether rows depart on a signed edge in the order of arrival.

    Count windows let them go so, and so do expirers of windows of one length; what looks at one
    row at a time does not change it.
    """
    match edge.op:
        case FilterOp() | ProjectOp():
            return departs_in_order(edge.inputs[0])
        case ExpireOp(expirer=expirer):
            return expirer is ExpirerKind.RING
        case WindowOp(spec=Rows(), slide=None):
            return True  # under a SLIDE, tuples that leave and come again do neither
        case _:
            return False


COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def residual_of(residual: Expr | None) -> Expr | None:
    """Return what a condition asks of candidates; None if all pass it.

    Terms like 1 = 1 ask nothing of anybody. Others without columns are worked out when the
    condition is compiled.
    """
    return conjunction(tuple(t for t in conjuncts(residual) if not _is_true(t)))


def _is_true(term: Expr) -> bool:
    """Return whether a term is plainly true: TRUE, or a comparison of whole numbers that holds."""
    match term:
        case Literal(value=value):
            return value is True
        case Call(name=name, args=(Literal(value=int() as left), Literal(value=int() as right))):
            return name in COMPARED and COMPARED[name](left, right)
        case _:
            return False


def time_lag(plan: Plan, column: str, slide: int | None) -> int | None:
    """Return how far a tuple's time column may lie behind the tuple's ts; None if unknown.

    In a join the ts is the latest of its tuples' times; bands say how far apart those are, by the
    shortest path between the streams [WJOIN 5.2]. SLIDE moves the ts up to its next multiple.
    """
    times = {s.time_column for s in scans_under(plan)}
    if column not in times:
        return None
    distance: dict[str, int | None] = {**dict.fromkeys(times), column: 0}
    bands = list(_bands(plan))
    for _ in times:
        for band in bands:
            _relax(distance, band.left, band.right, band.high)
            _relax(distance, band.right, band.left, -band.low)
    known = [d for d in distance.values() if d is not None]
    if len(known) < len(distance):
        return None
    return max(*known, 0) + (0 if slide is None else slide - 1)


def _relax(distance: dict[str, int | None], start: str, end: str, most: int) -> None:
    """Note that `end` is at most `most` later than `start`."""
    base = distance.get(start)
    if base is None or end not in distance:
        return
    known = distance[end]
    if known is None or base + most < known:
        distance[end] = base + most


def scans_under(plan: Plan) -> list[Scan]:
    """Return the streams that a plan reads."""
    if isinstance(plan, Scan):
        return [plan]
    return [s for below in inputs_of(plan) for s in scans_under(below)]


def _bands(plan: Plan) -> list[Band]:
    own = list(plan.on.bands) if isinstance(plan, Join) else []
    return own + [b for below in inputs_of(plan) for b in _bands(below)]
