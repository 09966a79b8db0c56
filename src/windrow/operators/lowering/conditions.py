"""What joins of two and of many inputs are told alike."""

from __future__ import annotations

from collections.abc import Callable

from windrow.operators.lowering.builder import Builder
from windrow.operators.rowwise import compile_condition
from windrow.operators.vector import Bools, Vector
from windrow.plan.expressions import Expr
from windrow.plan.patterns import PatternKind


def leaves_in_order(kind: PatternKind | None, lags: list[int | None]) -> bool:
    """Tell whether a side's rows can be dropped in the order in which they came.

    WKS rows end so. MON rows never end; bands let go of them in the order of their times, which
    is that of arrival if the time is the tuple's own.
    """
    return kind in (PatternKind.WKS, PatternKind.MON) and all(lag == 0 for lag in lags)


def residual_of(
    residual: Expr | None, builder: Builder
) -> Callable[[dict[str, Vector]], Bools] | None:
    """Return the test of a condition on the columns of candidates; None for none."""
    if residual is None:
        return None
    holds = compile_condition(residual, builder.interner)

    def test(columns: dict[str, Vector]) -> Bools:
        return holds(columns, len(next(iter(columns.values()))) if columns else 0)

    return test
