"""ISTREAM made from births goes on from ISTREAM made from changes, and the other way round.

    from changes   +a@7 waits until 7 is over, as something may cancel it
    from births    +a@7 is told at 7               (`lowering/streams.py` says where that can be)

A plan has the second only of a query in which nothing that is born at an instant leaves at it.
So the births of the open instant are certain in either plan: what waits in the first is told at the
switch, and the first has nothing to wait for if it goes on from the second, which has told it.
"""

from __future__ import annotations

from windrow.operators.dataflow import Dataflow, Stage
from windrow.operators.delta import Delta
from windrow.operators.expire import BirthsTask
from windrow.operators.streams import IstreamTask


def made_otherwise(old: Stage, new: Stage) -> bool:
    """Tell whether the root is ISTREAM, from changes in one plan and from births in the other."""
    return {type(old.task), type(new.task)} == {BirthsTask, IstreamTask}


def untold(old: Dataflow, new: Dataflow) -> Delta | None:
    """Return the births that the old plan has not told and the new one takes for told, if any."""
    task = old.root.task
    if isinstance(task, IstreamTask) and made_otherwise(old.root, new.root):
        return task.waiting()
    return None
