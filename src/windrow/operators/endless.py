"""Edges some of whose rows may never end."""

from __future__ import annotations

from windrow.operators.dataflow import Stage
from windrow.operators.join import FifoJoin, HashJoin, PartlySignedAntiJoin
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.join.wjoin import WJoin
from windrow.operators.window import SinceWindow, UnboundedWindow


def endless(stages: list[Stage], at: int) -> bool:
    """Return whether some rows of an edge may never end: an expirer hands those on, and forgets."""
    stage = stages[at]
    match stage.task:
        case UnboundedWindow() | SinceWindow():
            return True
        case HashJoin() | FifoJoin() | MultiJoin() | WJoin():
            # a result ends with the first of its rows
            return all(endless(stages, i) for i in stage.inputs)
        case PartlySignedAntiJoin():
            return endless(stages, stage.inputs[0])
        case _:
            return any(endless(stages, i) for i in stage.inputs)
