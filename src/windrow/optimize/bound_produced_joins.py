"""A join of time windows whose results never expire is a join of streams with a bound on times."""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import Band, Filter, Join, Plan, Produced, Project, Scan, Window
from windrow.plan.windows import Range, Unbounded


def bound_produced_joins(plan: Plan) -> Plan:
    """produced(S [RANGE v] ⋈ T [RANGE w])  ⇒  produced(S ⋈ T with -w < T.ts - S.ts < v).

    A result is produced when the later of its tuples arrives, if the earlier one is still in its
    window. When it would expire is not asked: so windows of INTERNAL joins, and of those below
    WSTREAM, need not compute it, and run as ISTREAM of a join under WINDOW(s, t) does.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT a.sku FROM bids AS a [RANGE 9 SECONDS INTERNAL], "
    >>> text += "bids AS b [RANGE 9 SECONDS INTERNAL] WHERE a.sku = b.sku"
    >>> print(rewritten(text, bound_produced_joins))
    query
    └─ Produced
       └─ Project a.sku
          └─ Join on a.sku = b.sku AND |b.ts - a.ts| < 9 SECONDS
             ├─ Window UNBOUNDED
             │  └─ Stream bids AS a
             └─ Window UNBOUNDED
                └─ Stream bids AS b
    """
    if not isinstance(plan, Produced):
        return plan
    bounded = _bounded(plan.source)
    return plan if bounded is None else replace(plan, source=bounded)


def _bounded(plan: Plan) -> Plan | None:
    """Return the plan with its join bounded, below filters and projections; None without a join."""
    match plan:
        case Filter(source) | Project(source):
            below = _bounded(source)
            return None if below is None else replace(plan, source=below)
        case Join(Window(left, Range(first)), Window(right, Range(second)), on) if not on.bands:
            earlier, later = _time_column(left), _time_column(right)
            if earlier is None or later is None or _tells_times(plan):
                return None
            band = Band(earlier, later, 1 - second, first - 1)
            ends = Unbounded(written=False)
            return Join(Window(left, ends), Window(right, ends), replace(on, bands=(band,)))
        case _:
            return None


def _tells_times(join: Join) -> bool:
    """Return whether a window of the join adds the time at which its tuples expire or arrived."""
    windows = [side for side in (join.left, join.right) if isinstance(side, Window)]
    return any(w.expiry_column is not None or w.ts_column is not None for w in windows)


def _time_column(stream: Plan) -> str | None:
    """Return the column with the tuples' own times."""
    match stream:
        case Filter(source):
            return _time_column(source)
        case Scan():
            return stream.time_column
        case _:
            return None
