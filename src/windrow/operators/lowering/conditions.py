"""Conditions of joins of two and of many inputs."""

from __future__ import annotations

from windrow.operators.evaluate import fold
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import ExpireOp, ExpirerKind, FilterOp, ProjectOp, WindowOp
from windrow.plan.expressions import Expr, Literal, columns_of, conjunction, conjuncts
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


def residual_of(residual: Expr | None) -> Expr | None:
    """Return what a condition asks of the columns of candidates; None if all pass it.

    Terms without columns are worked out once: those that are true ask nothing of anybody.
    """
    terms = (t if columns_of(t) else fold(t) for t in conjuncts(residual))
    return conjunction(tuple(t for t in terms if not _true(t)))


def _true(term: Expr) -> bool:
    return isinstance(term, Literal) and term.value is True
