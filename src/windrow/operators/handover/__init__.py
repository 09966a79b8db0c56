"""Another physical plan of the same query goes on where one has stopped (docs/design/0003)."""

from windrow.operators.handover.istream import pending_insertions
from windrow.operators.handover.matching import PlanMatching, has_state
from windrow.operators.handover.moving import Holding, transfer
from windrow.operators.handover.waiting import carried, counterparts

__all__ = [
    "Holding",
    "PlanMatching",
    "carried",
    "counterparts",
    "has_state",
    "pending_insertions",
    "transfer",
]
