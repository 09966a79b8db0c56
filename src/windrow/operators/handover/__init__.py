"""Another physical plan of the same query goes on where one has stopped (docs/design/0003)."""

from windrow.operators.handover.births import untold
from windrow.operators.handover.matching import Matching, remembers
from windrow.operators.handover.moving import Holding, transfer
from windrow.operators.handover.waiting import carried, counterparts

__all__ = [
    "Holding",
    "Matching",
    "carried",
    "counterparts",
    "remembers",
    "transfer",
    "untold",
]
