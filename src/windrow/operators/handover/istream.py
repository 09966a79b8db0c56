"""ISTREAM made from insertions goes on from ISTREAM made from changes, and the other way round.

    from changes      +a@7 waits until 7 is over, as something may cancel it
    from insertions   +a@7 is emitted at 7     (`lowering/streams.py` says where that is possible)

A plan has the second form only for queries in which nothing that appears at an instant expires at
it. So the insertions of the open instant are certain in either plan: if the first form is replaced,
what waits in it is emitted at the switch; if it replaces the second, it has nothing to wait for.
"""

from __future__ import annotations

from windrow.operators.dataflow import Dataflow, Stage
from windrow.operators.delta import Delta
from windrow.operators.expire import InsertionsTask
from windrow.operators.streams import IstreamTask


def differs_in_istream(old: Stage, new: Stage) -> bool:
    """Return whether one root makes ISTREAM from changes, the other from insertions."""
    return {type(old.task), type(new.task)} == {InsertionsTask, IstreamTask}


def pending_insertions(old: Dataflow, new: Dataflow) -> Delta | None:
    """Return the insertions that wait in the old plan and not in the new one, if any."""
    task = old.root.task
    if isinstance(task, IstreamTask) and differs_in_istream(old.root, new.root):
        return task.waiting()
    return None
