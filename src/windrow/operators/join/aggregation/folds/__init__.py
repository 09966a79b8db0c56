"""Early calls: partial values by entry of an aggregation set, values by group [AGGJOIN 4]."""

from windrow.operators.join.aggregation.folds.choose import early_fold

__all__ = ["early_fold"]
