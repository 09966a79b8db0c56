"""GROUP BY and the aggregates: one loop a call over the events of a batch.

`op.py` says what, `task.py` runs it; one file a family of accumulators, `choose.py` picks.
"""

from windrow.operators.aggregate.task import GroupByTask
from windrow.operators.aggregate.user_defined import register_aggregate
from windrow.physical.calls import AccumulatorCall, GroupBy

__all__ = ["AccumulatorCall", "GroupBy", "GroupByTask", "register_aggregate"]
