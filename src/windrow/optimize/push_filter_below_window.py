"""Filters move below windows that do not count tuples."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import names_of
from windrow.plan.expressions import columns_of
from windrow.plan.nodes import Filter, Plan, Window
from windrow.plan.windows import PartitionRows, Rows


def push_filter_below_window(plan: Plan) -> Plan:
    """σ_p(S [w])  ⇒  (σ_p S) [w],  if w does not count what p drops.

    In RANGE, UNBOUNDED, SINCE and per-tuple windows a tuple's own time decides, so dropping
    others changes nothing. ROWS counts: filtering first would let older tuples in. PARTITION BY
    counts by key: there p may read the keys, for then it drops whole partitions.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT sku FROM bids [RANGE 1 MINUTE] WHERE price > 9"
    >>> print(rewritten(text, push_filter_below_window))
    query
    └─ Project bids.sku
       └─ Window RANGE 1 MINUTE
          └─ Filter bids.price > 9
             └─ Stream bids
    """
    match plan:
        case Filter(Window(spec=Rows()), _):
            return plan
        case Filter(Window(source, spec) as window, predicate):
            read = columns_of(predicate)
            if isinstance(spec, PartitionRows) and not read <= set(spec.keys):
                return plan
            if not read <= names_of(source):  # it asks when the tuple expires
                return plan
            return replace(window, source=Filter(source, predicate))
        case _:
            return plan
