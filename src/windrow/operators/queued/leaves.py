"""Which stages time itself drives, and which edges must pass on that time goes by.

    join ◄── window ◄── σ ◄── source     window, σ and source are the leaf: NEG's SSCAN and EXPIRE

A leaf stands where tuples come in and get their ends. It learns of time directly; everything above
it learns of time only by what comes through its queues.
"""

from __future__ import annotations

from windrow.operators.aggregate import GroupByTask
from windrow.operators.dataflow import Stage
from windrow.operators.distinct import DeltaStarDistinct, StoredInputDistinct, StrictDistinct
from windrow.operators.expire import ExpireTask, InsertionsTask
from windrow.operators.join import FifoJoin, HashJoin, NrrJoinTask, ZSetJoin
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.join.partly_signed import PartlySignedAntiJoin
from windrow.operators.join.semi import HalfJoinTask
from windrow.operators.rowwise import FilterTask, ProjectTask
from windrow.operators.setops import BagOperator, MergeUnion
from windrow.operators.topn import TopNTask
from windrow.operators.window import PartitionRowsWindow, RowsWindow
from windrow.operators.window.time_based import TimeBasedWindow
from windrow.plan.nodes import Join, nodes_of

WINDOWS = (TimeBasedWindow, RowsWindow, PartitionRowsWindow)

CONTENT = (
    FilterTask,
    ProjectTask,
    InsertionsTask,
    ExpireTask,
    FifoJoin,
    HashJoin,
    ZSetJoin,
    MultiJoin,
    HalfJoinTask,
    NrrJoinTask,
    TopNTask,
    PartlySignedAntiJoin,
    DeltaStarDistinct,
    StoredInputDistinct,
    StrictDistinct,
    BagOperator,
    MergeUnion,
    GroupByTask,
)
"""Operators that change at an arrival, or at the end of an input's tuple, and at no other time."""


def leaves(stages: list[Stage], *, expire: bool) -> frozenset[int]:
    """Return the stages that time drives; with `expire`, expirers over their windows, too."""
    found: set[int] = set()
    windows: set[int] = set()
    for i, stage in enumerate(stages):
        below = set(stage.inputs)
        if stage.task is None:
            found.add(i)
        elif not below <= found or len(below) != 1:
            continue
        elif below <= windows:
            if expire and isinstance(stage.task, ExpireTask):
                found.add(i)
        elif isinstance(stage.task, (FilterTask, ProjectTask, *WINDOWS)):
            found.add(i)
            if isinstance(stage.task, WINDOWS):
                windows.add(i)
    return frozenset(found)


def clocked(stages: list[Stage]) -> frozenset[int]:
    """Return the stages whose edge must carry the time, beside the ends on it.

    Somewhere above them is an operator that does things at times of its own: a window over a
    derived stream, SLIDE, an operator that waits for an instant to be over, a join by time.
    """
    found: set[int] = set()
    for i in reversed(range(len(stages))):
        stage = stages[i]
        if i in found or not content(stage):
            found.update(stage.inputs)
    return frozenset(found)


def versions(stages: list[Stage]) -> frozenset[int]:
    """Return the sources of non-retroactive relations."""
    found: set[int] = set()
    for stage in stages:
        if isinstance(stage.task, NrrJoinTask):
            at = stage.inputs[1]
            while stages[at].task is not None:
                (at,) = stages[at].inputs
            found.add(at)
    return frozenset(found)


def content(stage: Stage) -> bool:
    """Return whether arrivals, and ends of its inputs' tuples, are all that an operator goes by."""
    if stage.task is None:
        return True
    if stage.lags or not isinstance(stage.task, CONTENT):
        return False
    return stage.node is None or not any(
        isinstance(node, Join) and node.on.bands for node in nodes_of(stage.node)
    )
