"""DISTINCT in three forms [THESIS 3.5.2]: δ*, with the whole input stored, and with counters."""

from windrow.operators.distinct.delta_star import DeltaStarDistinct
from windrow.operators.distinct.stored_input import StoredInputDistinct
from windrow.operators.distinct.strict import StrictDistinct

__all__ = ["DeltaStarDistinct", "StoredInputDistinct", "StrictDistinct"]
