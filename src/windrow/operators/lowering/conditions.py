"""Conditions of joins of two and of many inputs."""

from __future__ import annotations

from windrow.operators.dataflow import Stage
from windrow.operators.evaluate import fold
from windrow.operators.join.match import Residual
from windrow.operators.lowering.builder import Builder
from windrow.operators.rowwise import FilterTask, ProjectTask, compile_condition
from windrow.operators.task import Leaving
from windrow.plan.expressions import Expr, Literal, columns_of, conjunction, conjuncts
from windrow.plan.patterns import PatternKind


def leaves_in_order(kind: PatternKind | None, lags: list[int | None]) -> bool:
    """Return whether a side's rows can be dropped in the order in which they came.

    WKS rows end so. MON rows never end; bands let go of them in the order of their times, which
    is that of arrival if the time is the tuple's own.
    """
    return kind in (PatternKind.WKS, PatternKind.MON) and all(lag == 0 for lag in lags)


def departs_in_order(stages: list[Stage], at: int) -> bool:
    """Return whether rows depart, on the signed edge that leaves a stage, in the order of arrival.

    Count windows let them go so, and so do expirers of windows of one length; what looks at one
    row at a time does not change it.
    """
    task = stages[at].task
    if isinstance(task, FilterTask | ProjectTask):
        return departs_in_order(stages, stages[at].inputs[0])
    return isinstance(task, Leaving) and task.leaving() is not None


def residual_of(residual: Expr | None, builder: Builder) -> Residual | None:
    """Return the test of a condition on the columns of candidates; None if all pass it.

    Terms without columns are worked out once: those that are true ask nothing of anybody.
    """
    terms = (t if columns_of(t) else fold(t) for t in conjuncts(residual))
    rest = conjunction(tuple(t for t in terms if not _true(t)))
    return None if rest is None else compile_condition(rest, builder.interner)


def _true(term: Expr) -> bool:
    return isinstance(term, Literal) and term.value is True
