"""DISTINCT [THESIS 3.5.2]: δ* (unsigned or signed output), the whole input stored, counters."""

from windrow.operators.distinct.delta_star import DeltaStarDistinct
from windrow.operators.distinct.expiring import ExpiringDistinct
from windrow.operators.distinct.stored_input import StoredInputDistinct
from windrow.operators.distinct.strict import StrictDistinct

__all__ = ["DeltaStarDistinct", "ExpiringDistinct", "StoredInputDistinct", "StrictDistinct"]
