"""Windows: what makes a stream a relation. Each says when its tuples expire."""

from windrow.operators.window.partition_rows import PartitionRowsWindow
from windrow.operators.window.rows import RowsWindow
from windrow.operators.window.time_based import (
    RangeWindow,
    SinceWindow,
    UnboundedWindow,
    UntilWindow,
)

__all__ = [
    "PartitionRowsWindow",
    "RangeWindow",
    "RowsWindow",
    "SinceWindow",
    "UnboundedWindow",
    "UntilWindow",
]
