"""Another physical plan of the same query goes on where one has stopped (docs/design/0003)."""

from windrow.operators.handover.contents import pending_insertions
from windrow.operators.handover.departing import carried, counterparts
from windrow.operators.handover.matching import PlanMatching, has_state
from windrow.operators.handover.moving import Holding, transfer

__all__ = [
    "Holding",
    "PlanMatching",
    "carried",
    "counterparts",
    "has_state",
    "pending_insertions",
    "transfer",
]
