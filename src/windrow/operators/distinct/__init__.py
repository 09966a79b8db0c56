"""DISTINCT [THESIS 3.5.2]: δ*, told or not, with the whole input stored, and with counters."""

from windrow.operators.distinct.delta_star import DeltaStarDistinct
from windrow.operators.distinct.stored_input import StoredInputDistinct
from windrow.operators.distinct.strict import StrictDistinct
from windrow.operators.distinct.told import ToldDistinct

__all__ = ["DeltaStarDistinct", "StoredInputDistinct", "StrictDistinct", "ToldDistinct"]
