"""Two projections become one; columns that nobody reads do not travel."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from windrow.optimize.rewriting import columns_of_on, names_of, renamed, rows_appear, times_under
from windrow.plan.expressions import Column, columns_of, walk
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Filter,
    Hold,
    Join,
    Named,
    NrrJoin,
    Numbered,
    OuterJoin,
    Plan,
    Project,
    Scan,
    SemiJoin,
    Table,
    Window,
    as_column,
)
from windrow.plan.windows import PartitionRows, Rows, Until


def merge_projections(plan: Plan) -> Plan:
    """π_f(π_g(S))  ⇒  π_{f∘g}(S),  if no computed column of g is read twice.

    Both make one tuple of each, and functions give the same value wherever they are called; the
    condition is not about truth: a value read twice would be computed twice.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT p + 1 FROM (SELECT price * 2 AS p FROM bids [NOW]) AS b"
    >>> print(rewritten(text, merge_projections))
    query
    └─ Project bids.price * 2 + 1 AS p + 1
       └─ Window NOW
          └─ Stream bids
    """
    match plan:
        case Project(Project(source, inner), outer):
            made = {column.name: column.expr for column in inner}
            read = Counter(e.name for c in outer for e in walk(c.expr) if isinstance(e, Column))
            if any(n > 1 and not isinstance(made[name], Column) for name, n in read.items()):
                return plan
            return Project(source, tuple(Named(c.name, renamed(c.expr, made)) for c in outer))
        case _:
            return plan


def prune_columns(plan: Plan) -> Plan:
    """π_f(... S ...)  ⇒  π_f(... π_c(S) ...),  c being what f and the nodes between read.

    Filters, joins and time windows treat a tuple by the columns they read and keep its copies,
    so leaving out others changes neither how many come through nor the values that f sees. It
    stops at nodes that compare whole rows (DISTINCT, EXCEPT, ISTREAM, a hold), at ROWS over a
    derived stream, which orders equal times by the values of the row, and at an NRR over rows that
    appear when a value changes: they meet the version of that time.

    >>> from windrow.optimize.showing import rewritten
    >>> print(rewritten("SELECT COUNT(price) FROM bids [RANGE 1 MINUTE]", prune_columns))
    query
    └─ Project COUNT(price)
       └─ Aggregate: COUNT(bids.price)
          └─ Window RANGE 1 MINUTE
             └─ Project bids.price
                └─ Stream bids
    """
    match plan:
        case Project(source, columns):
            read = frozenset().union(*(columns_of(c.expr) for c in columns))
            return replace(plan, source=_narrow(source, read))
        case Aggregate(source):
            return replace(plan, source=_narrow(source, _read_by(plan)))
        case Hold():
            return _narrow(plan, frozenset())
        case _:
            return plan


def _read_by(plan: Aggregate) -> frozenset[str]:
    exprs = [key.expr for key in plan.keys] + [arg for call in plan.calls for arg in call.args]
    exprs += [call.filter for call in plan.calls if call.filter is not None]
    return frozenset().union(*map(columns_of, exprs))


def _narrow(plan: Plan, read: frozenset[str]) -> Plan:
    """Return the node with fewer columns below it; it still has those in `read`."""
    match plan:
        case Filter(source, predicate):
            return replace(plan, source=_narrow(source, read | columns_of(predicate)))
        case Numbered(source, column) if _arrives(source):
            return replace(plan, source=_only(source, read - {column}))
        case Window(source, spec) if not isinstance(spec, Rows | PartitionRows) or _arrives(source):
            return replace(plan, source=_only(source, read | _read_by_window(plan)))
        case Join(left, right, on) | OuterJoin(left, right, on):
            both = read | columns_of_on(on)
            return replace(plan, left=_only(left, both), right=_only(right, both))
        case SemiJoin(left, right, on) | AntiJoin(left, right, on):
            met = columns_of_on(on)
            return replace(plan, left=_only(left, read | met), right=_only(right, met))
        case NrrJoin(left, _, on) if not rows_appear(left):
            # Tuples of different times meet different versions: their times distinguish them.
            times = times_under(left)
            if not times:
                return plan
            return replace(plan, left=_only(left, read | columns_of_on(on) | times))
        case Hold(source):  # all its columns identify a row
            return replace(plan, source=_narrow(source, names_of(source)))
        case _:
            return plan


def _only(plan: Plan, read: frozenset[str]) -> Plan:
    """Return the node with no columns but those in `read`; at least one is left.

    Relations stay whole: they do not travel.
    """
    if isinstance(plan, Table):
        return plan
    kept = tuple(f for f in plan.schema if f.name in read) or plan.schema.fields[:1]
    below = _narrow(plan, frozenset(f.name for f in kept))
    if len(below.schema) == len(kept):
        return below
    if isinstance(below, Project):
        wanted = {f.name for f in kept}
        return replace(below, columns=tuple(c for c in below.columns if c.name in wanted))
    return Project(below, tuple(Named(f.name, as_column(f)) for f in kept))


def _read_by_window(window: Window) -> frozenset[str]:
    match window.spec:
        case PartitionRows(keys) | Until(keys):
            return frozenset(keys) & names_of(window.source)
        case _:
            return frozenset()


def _arrives(stream: Plan) -> bool:
    """Return whether equal times of the stream are ordered by arrival, not by values."""
    match stream:
        case Filter(source=source) | Project(source=source) | Numbered(source=source):
            return _arrives(source)
        case _:
            return isinstance(stream, Scan)
