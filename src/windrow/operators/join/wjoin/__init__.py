"""Joins of streams within windows of time of each other [WJOIN]: nested, hashed, merged."""

from windrow.operators.join.wjoin.task import HashWJoin, MergeWJoin, NestedWJoin, WJoin
from windrow.operators.join.wjoin.windows import WindowBounds, Windows, reach_of, unfit

__all__ = [
    "HashWJoin",
    "MergeWJoin",
    "NestedWJoin",
    "WJoin",
    "WindowBounds",
    "Windows",
    "reach_of",
    "unfit",
]
