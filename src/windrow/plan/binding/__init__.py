"""Binding: from a syntax tree to a plan whose every name, type and window is settled.

`bind_query` is the door. One file a concern: names (`scope`), scalar expressions
(`expressions`), lengths of time (`durations`), FROM (`sources`), joins (`joins`), sub-queries
in WHERE (`subqueries`), SELECT blocks (`blocks`), GROUP BY (`grouping`) and what leaves the
query (`outputs`).
"""

from windrow.plan.binding.outputs import bind_query

__all__ = ["bind_query"]
